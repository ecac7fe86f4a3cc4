// SPDX-License-Identifier: BSD-3-Clause
// Contract (f) and (g) of filter.h for the APBBF with kernels (B = 512, b = 8): on each of them
// bursts give the answers, changes and memory of single calls, judged or not.
#include <bit>

#include "filter/apbbf.h"
#include "streams.h"
#include "support/instance.h"

namespace unecho::test {
namespace {

using filter::Answers;
using filter::Apbbf;
using filter::ApbbfSpec;
using filter::ChanceLimits;
using filter::EchoPolicy;
using filter::Isa;

std::vector<Isa> isas() {
    std::vector<Isa> found;
    for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
        if (filter::available(isa)) {
            found.push_back(isa);
        }
    }
    return found;
}

// Every k with a kernel of its own and some without; all slots that there are.
std::vector<std::pair<unsigned, unsigned>> shapes() {
    std::vector<std::pair<unsigned, unsigned>> found{{1, 127}, {2, 126}, {64, 64}, {127, 1}};
    for (unsigned k = 1; k <= 5; ++k) {
        for (unsigned l = 1; l <= 9; ++l) {
            found.emplace_back(k, l);
        }
    }
    return found;
}

template <typename Function>
void for_each_shape(Function function) {
    std::uint64_t index = 0;
    for (const auto& [k, l] : shapes()) {
        for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
            for (const Size size : {Size::kSmall, Size::kRoomy}) {
                Random random(++index);
                const ApbbfSpec spec{.k = k,
                                     .l = l,
                                     .b = 8,
                                     .blocks = size == Size::kRoomy ? 97 : 1 + random.below(2),
                                     .spares = static_cast<unsigned>(index % 3),
                                     .policy = policy};
                SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " k " +
                             std::to_string(k) + " l " + std::to_string(l));
                function(spec, random);
                if (testing::Test::HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

struct Outcome {
    std::vector<std::uint64_t> echoes;
    std::vector<std::uint64_t> doubts;
    std::vector<float> chances;
    std::vector<std::uint64_t> changes;
    std::uint64_t insertions = 0;
    std::vector<std::byte> memory;

    bool operator==(const Outcome& other) const = default;
};

// One digest after the other, by the halves of a test.
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

enum class How { kHalves, kBursts };

Outcome run(ApbbfSpec spec, Isa isa, How how, bool judged, std::uint64_t stream) {
    spec.isa = isa;
    FilterInstance<Apbbf> i(spec);
    Random random(stream);
    Digests digests(random);
    Outcome run;
    std::uint64_t generation = 0;
    for (unsigned step = 0; step < 60; ++step) {
        generation += random_step(random, spec.k, spec.l);
        i.filter.advance({.generation = generation});
        std::vector<Digest> packets(random.below(kMaxBurst + 1));
        std::generate(packets.begin(), packets.end(), [&] { return digests.next(); });
        std::vector<float> limits(packets.size(), 1.0F);
        for (float& limit : limits) {
            const int half = static_cast<int>(random.below(20));
            limit = judged ? std::ldexp(1.0F, -half) : 1.0F;
        }
        Answers answers;
        if (how == How::kHalves) {
            answers = by_halves(i.filter, packets, limits);
        } else if (judged) {
            answers = i.filter.test_and_insert_burst(packets, ChanceLimits(limits.data()));
        } else {
            answers = {i.filter.test_and_insert_burst(packets), 0};
        }
        run.echoes.push_back(answers.echoes);
        run.doubts.push_back(answers.doubts);
        run.chances.push_back(i.filter.chance(0));
    }
    for (unsigned slot = 0; slot < spec.k + spec.l; ++slot) {
        run.changes.push_back(i.filter.segments().changes(slot));
    }
    run.insertions = i.filter.counters().insertions;
    const auto bits = i.memory.span();
    run.memory.assign(bits.begin(), bits.end());
    return run;
}

TEST(apbbf_kernel, bursts_on_every_kernel_equal_single_calls) {
    ASSERT_GE(isas().size(), 2u);  // AVX2 is the baseline of all code
    unsigned echoes = 0;
    unsigned doubts = 0;
    for_each_shape([&](const ApbbfSpec& spec, Random& random) {
        const std::uint64_t stream = random.bits();
        for (const bool judged : {false, true}) {
            const Outcome single = run(spec, Isa::kScalar, How::kHalves, judged, stream);
            for (const std::uint64_t bits : single.echoes) {
                echoes += static_cast<unsigned>(std::popcount(bits));
            }
            for (const std::uint64_t bits : single.doubts) {
                doubts += static_cast<unsigned>(std::popcount(bits));
            }
            for (const Isa isa : isas()) {
                const Outcome burst = run(spec, isa, How::kBursts, judged, stream);
                ASSERT_EQ(burst.echoes, single.echoes) << name_of(isa);
                ASSERT_EQ(burst.doubts, single.doubts) << name_of(isa);
                ASSERT_EQ(burst.changes, single.changes) << name_of(isa);
                ASSERT_TRUE(burst == single) << name_of(isa);
            }
        }
    });
    EXPECT_GT(echoes, 100'000u);
    EXPECT_GT(doubts, 10'000u);
}

}  // namespace
}  // namespace unecho::test
