// SPDX-License-Identifier: BSD-3-Clause
// The APBBF's kernels (B = 512, b = 8) with large block numbers. Bursts must give the answers,
// counters and memory of single calls, with and without chance limits. Small tables:
// property/contract.
#include <array>
#include <bit>

#include "filters/window/segmented/apbbf.h"
#include "streams.h"
#include "support/instance.h"
#include "support/kernels.h"

namespace unecho::test::apbbf_kernel_test {
namespace {

using filter::Answers;
using filter::Apbbf;
using filter::ApbbfParams;
using filter::ApbbfSpec;
using filter::ChanceLimits;
using filter::EchoPolicy;
using filter::Isa;

struct Outcome {
    std::vector<std::uint64_t> echoes;
    std::vector<std::uint64_t> doubts;
    std::vector<float> chances;
    std::vector<std::uint64_t> changes;
    std::uint64_t insertions = 0;
    std::vector<std::byte> memory;

    bool operator==(const Outcome& other) const = default;
};

// Insert the digests one by one through query(), chance() and insert().
Answers by_halves(Apbbf& filter, const std::vector<Digest>& packets,
                  const std::vector<float>& limits) {
    Answers answers;
    for (std::size_t p = 0; p < packets.size(); ++p) {
        const bool match = filter.query(packets[p]);
        const bool echo = match && filter.chance(packets[p]) <= limits[p];
        if (!echo || filter.params().policy() == EchoPolicy::kRefresh) {
            filter.insert(packets[p]);
        }
        answers.echoes |= std::uint64_t{echo} << p;
        answers.doubts |= std::uint64_t{match && !echo} << p;
    }
    return answers;
}

struct Burst {
    std::uint64_t generation = 0;
    std::vector<Digest> packets;
    std::vector<float> limits;
};

// Return powers of two down to 2^-(halves - 1).
std::vector<float> random_limits(Random& random, std::size_t n, std::uint64_t halves) {
    std::vector<float> limits(n);
    for (float& limit : limits) {
        limit = std::ldexp(1.0F, -static_cast<int>(random.below(halves)));
    }
    return limits;
}

enum class How { kHalves, kBursts };

Outcome run(const ApbbfParams& params, How how, bool judged, const std::vector<Burst>& bursts) {
    FilterInstance<Apbbf> i(params);
    Outcome run;
    for (const Burst& burst : bursts) {
        i.filter.advance({.generation = burst.generation});
        Answers answers;
        if (how == How::kHalves) {
            const std::vector<float> always(burst.packets.size(), 1.0F);
            answers = by_halves(i.filter, burst.packets, judged ? burst.limits : always);
        } else if (judged) {
            const ChanceLimits limits(burst.limits.data());
            answers = i.filter.test_and_insert_burst(burst.packets, limits);
        } else {
            answers = {i.filter.test_and_insert_burst(burst.packets), 0};
        }
        run.echoes.push_back(answers.echoes);
        run.doubts.push_back(answers.doubts);
        run.chances.push_back(i.filter.chance(0));
    }
    for (unsigned slot = 0; slot < params.k() + params.l(); ++slot) {
        run.changes.push_back(i.filter.segments().changes(slot));
    }
    run.insertions = i.filter.counters().insertions;
    const auto bits = i.memory.span();
    run.memory.assign(bits.begin(), bits.end());
    return run;
}

struct Matches {
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
};

// Compare single calls on the first kernel with bursts on all kernels.
void expect_same(const std::vector<ApbbfParams>& kernels, bool judged,
                 const std::vector<Burst>& bursts, Matches& found) {
    const Outcome single = run(kernels.front(), How::kHalves, judged, bursts);
    for (const std::uint64_t bits : single.echoes) {
        found.echoes += static_cast<unsigned>(std::popcount(bits));
    }
    for (const std::uint64_t bits : single.doubts) {
        found.doubts += static_cast<unsigned>(std::popcount(bits));
    }
    for (const ApbbfParams& kernel : kernels) {
        const Outcome burst = run(kernel, How::kBursts, judged, bursts);
        ASSERT_EQ(burst.echoes, single.echoes) << name_of(kernel.isa());
        ASSERT_EQ(burst.doubts, single.doubts) << name_of(kernel.isa());
        ASSERT_EQ(burst.changes, single.changes) << name_of(kernel.isa());
        ASSERT_TRUE(burst == single) << name_of(kernel.isa());
    }
}

// Compare all kernels, with chance limits or without; add what they found to `found`.
void expect_same_on_every_kernel(ApbbfSpec spec, const std::vector<Burst>& bursts, Matches& found) {
    // Made once: the tables of chances take longer to compute than the bursts.
    std::vector<ApbbfParams> kernels;
    for (const Isa isa : available_isas()) {
        spec.isa = isa;
        kernels.push_back(*ApbbfParams::make(spec));
    }
    for (const bool judged : {false, true}) {
        expect_same(kernels, judged, bursts, found);
        if (testing::Test::HasFatalFailure()) {
            return;
        }
    }
}

// Return full bursts and short ones, half of the digests echoes, with a shift every 100 bursts. The
// limits reach below the lowest possible chance.
std::vector<Burst> bursts_over_shifts(unsigned shifts, Random& random) {
    constexpr unsigned kBurstsAGeneration = 100;
    std::vector<Burst> bursts((shifts + 1) * kBurstsAGeneration);
    std::vector<Digest> past;
    for (std::size_t b = 0; b < bursts.size(); ++b) {
        Burst& burst = bursts[b];
        burst.generation = b / kBurstsAGeneration;
        burst.packets.resize(random.one_in(4) ? 1 + random.below(kMaxBurst) : kMaxBurst);
        for (Digest& digest : burst.packets) {
            const bool echo = !past.empty() && random.one_in(2);
            digest = echo ? past[random.below(past.size())] : random.bits();
            past.push_back(digest);
        }
        burst.limits = random_limits(random, burst.packets.size(), 80);
    }
    return bursts;
}

// From 2^16 + 1 blocks on, the AVX-512 kernel computes blocks one by one, and a block number has
// more than 16 bits. The test compares the memory, in which most blocks are empty or hold one
// digest, so every bit of a block number matters.
TEST(apbbf_kernel, tables_around_the_greatest_of_the_cache_equal_single_calls) {
    constexpr std::uint64_t kLimit = std::uint64_t{1} << 16;
    std::uint64_t index = 1000;
    Matches found;
    // For each k, one block count on each side of the limit.
    constexpr std::array<std::array<std::uint64_t, 2>, 4> kSizes{{{kLimit - 1, kLimit + 1},
                                                                  {kLimit, 2 * kLimit + 77},
                                                                  {kLimit - 1, 2 * kLimit + 77},
                                                                  {kLimit, kLimit + 1}}};
    for (const unsigned k : {1U, 2U, 3U, 4U}) {
        for (const std::uint64_t blocks : kSizes.at(k - 1)) {
            Random random(++index);
            const ApbbfSpec spec{.k = k,
                                 .l = 3,
                                 .b = 8,
                                 .blocks = blocks,
                                 .spares = 0,
                                 .policy = k % 2 == 0 ? EchoPolicy::kFixed : EchoPolicy::kRefresh};
            SCOPED_TRACE(seed_note() + " blocks " + std::to_string(blocks) + " k " +
                         std::to_string(k));
            expect_same_on_every_kernel(spec, bursts_over_shifts(5, random), found);
            if (HasFatalFailure()) {
                return;
            }
        }
    }
    EXPECT_GT(found.echoes, 100'000u);
    EXPECT_GT(found.doubts, 10'000u);
}

}  // namespace
}  // namespace unecho::test::apbbf_kernel_test
