// SPDX-License-Identifier: BSD-3-Clause
// Cases that only the line filter has: tags that wrap. Its contract: property/contract.
#include "filters/window/line.h"

#include "streams.h"
#include "support/instance.h"
#include "support/kernels.h"

namespace unecho::test::line_test {
namespace {

using filter::EchoPolicy;
using filter::Isa;
using filter::LineFilter;
using filter::LineSpec;
using Line = FilterInstance<LineFilter>;

std::string text(const LineSpec& s) {
    return "M " + std::to_string(s.M) + " k " + std::to_string(s.k) + " b " + std::to_string(s.b) +
           " phases " + std::to_string(s.phases) + " lines " + std::to_string(s.lines) +
           (s.policy == EchoPolicy::kFixed ? " fixed" : " refresh");
}

// Roomy: none of a few thousand digests matches by accident.
LineSpec spec_of(unsigned M, unsigned k, unsigned phases, EchoPolicy policy, Random& random) {
    LineSpec spec{.M = M, .k = k, .phases = phases, .policy = policy};
    spec.b = 12 + static_cast<unsigned>(random.below(5));
    spec.lines = phases * (4099 / phases);
    return spec;
}

template <typename Function>
void for_each_shape(Function function) {
    std::uint64_t index = 0;
    for (unsigned M = 1; M <= 4; ++M) {
        for (unsigned k = 1; k <= 2; ++k) {
            for (unsigned phases = 1; phases <= 16; phases *= 2) {
                for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
                    Random random(++index);
                    LineSpec spec = spec_of(M, k, phases, policy, random);
                    spec.isa = available_isas()[index % available_isas().size()];
                    SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " " + text(spec));
                    function(spec, random);
                    if (testing::Test::HasFatalFailure()) {
                        return;
                    }
                }
            }
        }
    }
}

unsigned forgotten_ticks(const LineSpec& spec) {
    return filter::kLineWords * spec.phases;
}

// Make some background visits, or none for a long time.
void visit(LineFilter& filter, Random& random, unsigned lazy) {
    if (random.one_in(lazy)) {
        for (std::uint64_t n = random.below(40); n != 0; --n) {
            filter.maintain();
        }
    }
}

// (b), (e): a line that is not touched for any number of generations, in single steps or skips,
// with background visits or without, stays empty although its tags wrap.
TEST(line, what_was_forgotten_never_comes_back) {
    for_each_shape([](const LineSpec& spec, Random& random) {
        Line i(spec);
        const unsigned rotation = filter::kLineWords * spec.phases;
        const unsigned lazy = random.one_in(2) ? 2 : 1'000'000;
        std::vector<Digest> digests(40);
        std::uint64_t tick = random.below(4 * rotation);
        i.filter.advance({.generation = tick});
        for (Digest& digest : digests) {
            digest = random.bits();
            i.filter.insert(digest);
            tick += random.below(2);
            i.filter.advance({.generation = tick});
        }
        const std::uint64_t last = tick;
        const unsigned steps[] = {1, spec.phases, 3, rotation - 1, rotation, rotation + 1};
        const unsigned step = steps[random.below(std::size(steps))];
        while (tick - last < 10 * rotation) {
            tick += step;
            i.filter.advance({.generation = tick});
            visit(i.filter, random, lazy);
            if (tick - last >= forgotten_ticks(spec)) {
                for (const Digest digest : digests) {
                    ASSERT_FALSE(i.filter.query(digest)) << "after " << tick - last;
                }
            }
        }
    });
}

}  // namespace
}  // namespace unecho::test::line_test
