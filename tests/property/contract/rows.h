// SPDX-License-Identifier: BSD-3-Clause
// Describes engines to the contract suite: geometries to try, what each promises, and what it
// counts. There is one row an engine, by its filter type. A new engine gets the whole contract with
// its row (contract.h says which engines there are).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "dedup/engines/catalogue.h"
#include "property/streams.h"

namespace unecho::test {

// Small tables are nearly always saturated, so accidental matches are everywhere. In half-full ones
// a few percent of digests match by accident, in roomy ones nearly none.
enum class Fill { kSmall, kHalf, kRoomy };

// The inputs by which a row draws a geometry. The index runs over the row's shapes, once a policy.
struct Draw {
    std::uint64_t index = 0;
    Fill fill = Fill::kRoomy;
    filter::EchoPolicy policy = filter::EchoPolicy::kFixed;
    filter::Isa isa = filter::Isa::kScalar;
    bool kernel = false;        // only a geometry with a kernel for each instruction set
    bool other_spares = false;  // another number of spare segments, all else equal
};

inline unsigned spares_of(const Draw& draw, std::uint64_t n) {
    const auto spares = static_cast<unsigned>(n % 4);
    return draw.other_spares ? 1 + (spares + 1) % 3 : spares;
}

// In the unit of the engine's time: generations (ticks of the line filter), or nanoseconds.
struct Promise {
    std::uint64_t kept = 0;       // highest age at which a digest is certainly an echo
    std::uint64_t forgotten = 0;  // lowest age at which it is new, except by accident
    std::uint64_t alone = 0;      // the same for the only digest in the filter
    std::uint64_t step = 1;       // time advances by at most so much
    std::uint64_t cycle = 1;      // steps after which the filter's inner state recurs
};

// A row has, for each engine:
// - kShapes: the number of shapes to draw from
// - params(draw, random): parameters of a filter
// - promise(params)
// - accident(params, n): an upper bound on the chance that a forgotten digest matches in a roomy
//   filter with n digests
// - Reference(params): counts what time causes, by the definition: turn(from, to, counters) and
//   clear(counters)
// - most_chance(params): optional, if the engine estimates chances: that of a full filter
// - kTestsTidy, kPollsTidy: a test (unlike a query), or an advance() to the present time, replaces
//   what is forgotten. Then memory depends on such calls, though no answer does.
template <typename Filter>
struct Row;

// k = 1 to 6 by l = 1 to 9, and then the maximum of 128 slots in several proportions.
inline constexpr std::array<std::pair<unsigned, unsigned>, 5> kManySlots{
    {{1, 127}, {2, 126}, {40, 3}, {64, 64}, {127, 1}}};
inline constexpr std::uint64_t kFewSlots = 54;

inline bool has_few_slots(std::uint64_t index) {
    return index < kFewSlots;
}

// Draw the number of slots and the other fields that all segmented filters have.
template <typename Spec>
Spec segments_of(const Draw& draw) {
    Spec spec;
    if (has_few_slots(draw.index)) {
        spec.k = static_cast<unsigned>(1 + draw.index / 9);
        spec.l = static_cast<unsigned>(1 + draw.index % 9);
    } else {
        std::tie(spec.k, spec.l) = kManySlots.at(draw.index - kFewSlots);
    }
    spec.spares = spares_of(draw, draw.index + draw.index / 9);
    spec.policy = draw.policy;
    return spec;
}

inline Promise segments_promise(const filter::RingGeometry& ring) {
    return {.kept = ring.l,
            .forgotten = ring.slots(),
            .alone = std::uint64_t{ring.l} + 1,
            .step = 1,
            .cycle = ring.slots()};
}

// Return the chance that all k segments of one of l + 1 runs match, if each does with `match`.
inline double run_by_accident(const filter::RingGeometry& ring, double match) {
    return (ring.l + 1) * std::pow(std::min(match, 1.0), ring.k);
}

// Return parameters made once a key. Their tables of chances take longer to compute than most
// tests. The numbers must determine the spec.
template <typename Params, typename Spec, typename... Numbers>
const Params& made_once(const Spec& spec, Numbers... numbers) {
    using Key = std::array<std::uint64_t, sizeof...(Numbers)>;
    static std::map<Key, Params> made;
    const Key key{static_cast<std::uint64_t>(numbers)...};
    const auto found = made.find(key);
    return found != made.end() ? found->second
                               : made.emplace(key, *Params::make(spec)).first->second;
}

// Ring without a helper thread: only the filter zeroes segments. For each slot that it empties, a
// turn takes one that was zeroed at the start; when none is left, it clears one itself
// (inline_clears).
class RingReference {
  public:
    explicit RingReference(const filter::RingGeometry& ring)
        : ring_(ring), zeroed_(std::uint64_t{ring.l} + ring.spares) {}

    void turn(std::uint64_t from, std::uint64_t to, filter::FilterCounters& counters) {
        const std::uint64_t shifts = std::min<std::uint64_t>(to - from, ring_.slots());
        counters.shifts += shifts;
        take(std::min<std::uint64_t>(shifts, ring_.k), counters);
    }
    void clear(filter::FilterCounters& counters) { take(ring_.k, counters); }

  private:
    void take(std::uint64_t segments, filter::FilterCounters& counters) {
        const std::uint64_t there = std::min(segments, zeroed_);
        zeroed_ -= there;
        counters.inline_clears += segments - there;
    }

    filter::RingGeometry ring_;
    std::uint64_t zeroed_;
};

template <typename Params>
struct SegmentsReference : RingReference {
    explicit SegmentsReference(const Params& params) : RingReference(params.ring()) {}
};

template <>
struct Row<filter::Apbf> {
    using Params = filter::ApbfParams;
    using Reference = SegmentsReference<Params>;
    static constexpr std::uint64_t kShapes = kFewSlots + kManySlots.size();

    static Params params(const Draw& draw, Random& random) {
        auto spec = segments_of<filter::ApbfSpec>(draw);
        const std::uint64_t roomy = has_few_slots(draw.index) ? 1'000'003 : 100'003;
        spec.m = draw.fill == Fill::kSmall  ? 64 + random.below(150)
                 : draw.fill == Fill::kHalf ? 2000 + random.below(1000)
                                            : roomy;
        return *Params::make(spec);
    }
    static Promise promise(const Params& params) { return segments_promise(params.ring()); }
    static double accident(const Params& params, double n) {
        return run_by_accident(params.ring(), n / static_cast<double>(params.m()));
    }
};

template <>
struct Row<filter::Apbbf> {
    using Params = filter::ApbbfParams;
    using Reference = SegmentsReference<Params>;
    static constexpr std::uint64_t kShapes = kFewSlots + kManySlots.size();

    // B = 512 with b = 8 has kernels; other geometries have none.
    static Params params(const Draw& draw, Random& random) {
        auto spec = segments_of<filter::ApbbfSpec>(draw);
        spec.isa = draw.isa;
        const bool few = has_few_slots(draw.index);
        spec.blocks = draw.fill == Fill::kSmall  ? 1 + random.below(9)
                      : draw.fill == Fill::kHalf ? 60 + random.below(40)
                      : few                      ? 997
                                                 : 97;
        if (draw.kernel || random.one_in(2)) {
            spec.b = 8;
        } else if (draw.fill == Fill::kRoomy) {
            spec.b = 4 + static_cast<unsigned>(random.below(13));
        } else {
            spec.B = 64U << random.below(4);
            const unsigned most = std::min(filter::kMaxBitsOfKey, spec.B / 4);
            spec.b = 1 + static_cast<unsigned>(random.below(most));
        }
        return made_once<Params>(spec, spec.k, spec.l, spec.B, spec.b, spec.blocks, spec.spares,
                                 spec.policy, spec.isa);
    }
    static Promise promise(const Params& params) { return segments_promise(params.ring()); }
    // At most 8 of a few hundred digests share one of 997 blocks (for 200: but for 1e-9).
    static double accident(const Params& params, double n) {
        const double covered = std::pow(8.0 * params.b() / params.B(), params.b());
        return run_by_accident(params.ring(), n / static_cast<double>(params.blocks()) * covered);
    }
};

template <>
struct Row<filter::ShbfWindow> {
    using Params = filter::ShbfWindowParams;
    using Reference = SegmentsReference<Params>;
    static constexpr std::uint64_t kShapes = kFewSlots + kManySlots.size();

    static Params params(const Draw& draw, Random& random) {
        auto spec = segments_of<filter::ShbfWindowSpec>(draw);
        spec.t = 1 + static_cast<unsigned>(random.below(3));
        spec.b = (1 + static_cast<unsigned>(random.below(4))) * (spec.t + 1);
        const std::uint64_t roomy = has_few_slots(draw.index) ? 1'000'003 : 100'003;
        spec.m = draw.fill == Fill::kSmall  ? 1 + random.below(300)
                 : draw.fill == Fill::kHalf ? 4000 + random.below(1000)
                                            : roomy;
        return made_once<Params>(spec, spec.k, spec.l, spec.m, spec.b, spec.t, spec.spares,
                                 spec.policy);
    }
    static Promise promise(const Params& params) { return segments_promise(params.ring()); }
    // Bounded by the first bit of a group alone.
    static double accident(const Params& params, double n) {
        return run_by_accident(params.ring(), n * params.b() / static_cast<double>(params.m()));
    }
};

template <>
struct Row<filter::ShbfXWindow> {
    using Params = filter::ShbfXWindowParams;
    using Reference = SegmentsReference<Params>;
    static constexpr std::uint64_t kShapes = 45;

    static Params params(const Draw& draw, Random& random) {
        filter::ShbfXWindowSpec spec;
        spec.k = static_cast<unsigned>(1 + draw.index / 9);
        spec.l = static_cast<unsigned>(1 + draw.index % 9);
        spec.c = filter::kMaxMultiplicity;
        spec.spares = spares_of(draw, draw.index);
        spec.policy = draw.policy;
        spec.m = 20 + random.below(500);
        if (draw.fill == Fill::kRoomy) {
            spec.k += 5;
            spec.m = 300'007;
        }
        return *Params::make(spec);
    }
    static Promise promise(const Params& params) { return segments_promise(params.ring()); }
    // One of the multiplicities matches in one of the segments.
    static double accident(const Params& params, double n) {
        const double fill = n * params.k() / static_cast<double>(params.m());
        return params.ring().slots() * params.c() * std::pow(fill, params.k());
    }
};

template <>
struct Row<filter::LineFilter> {
    using Params = filter::LineParams;
    static constexpr std::uint64_t kShapes = 40;  // M = 1 to 4, k = 1 and 2, phases = 1 to 16
    static constexpr bool kTestsTidy = true;

    static Params params(const Draw& draw, Random& random) {
        filter::LineSpec spec;
        spec.M = static_cast<unsigned>(1 + draw.index % 4);
        spec.k = static_cast<unsigned>(1 + draw.index / 4 % 2);
        spec.phases = 1U << draw.index / 8;
        spec.policy = draw.policy;
        spec.isa = draw.isa;
        if (draw.fill == Fill::kRoomy) {
            spec.b = 12 + static_cast<unsigned>(random.below(5));
            spec.lines = spec.phases * (2053 / spec.phases);
        } else {
            spec.b = 1 + static_cast<unsigned>(random.below(16));
            const std::uint64_t most = draw.fill == Fill::kSmall ? 5 : 40;
            spec.lines = spec.phases * (1 + random.below(most));
        }
        return *Params::make(spec);
    }
    static Promise promise(const Params& params) {
        const std::uint64_t generation = params.phases();
        return {.kept = params.l() * generation,
                .forgotten = filter::kLineWords * generation,
                .alone = (params.l() + 1) * generation,
                .step = 1,
                .cycle = 4 * filter::kLineWords * generation};  // as many as there are tags
    }
    // Another digest in the same lines has the same pattern in all words of a run.
    static double accident(const Params& params, double n) {
        constexpr double kSamePattern = 68.0 / (64 * 64 * 1024);
        return params.l() * std::pow(n / static_cast<double>(params.lines()) * kSamePattern,
                                     params.M() * params.k());
    }

    // Without background visits, due work is done at the next turn. A lap takes 14 generations.
    class Reference {
      public:
        explicit Reference(const Params& params)
            : phases_(params.phases()), lines_(params.lines()) {}

        void turn(std::uint64_t from, std::uint64_t to, filter::FilterCounters& counters) {
            pass(std::min<std::uint64_t>(to - from, filter::kLineWords * phases_), counters);
        }
        // Everything ages until it is forgotten.
        void clear(filter::FilterCounters& counters) {
            pass(filter::kLineWords * phases_, counters);
        }

      private:
        void pass(std::uint64_t ticks, filter::FilterCounters& counters) {
            counters.late_visits += passed_ * lines_ / (14 * phases_) - visited_;
            visited_ = passed_ * lines_ / (14 * phases_);
            counters.shifts += (passed_ + ticks) / phases_ - passed_ / phases_;
            passed_ += ticks;
        }

        std::uint64_t phases_;
        std::uint64_t lines_;
        std::uint64_t passed_ = 0;
        std::uint64_t visited_ = 0;
    };
};

template <>
struct Row<filter::FingerprintFilter> {
    using Params = filter::FingerprintParams;
    static constexpr std::uint64_t kShapes = 70;  // ten tables for each number of bits

    static Params params(const Draw& draw, Random& random) {
        filter::FingerprintSpec spec;
        spec.bits = filter::kFingerprintShapes[draw.index % filter::kFingerprintLayouts].bits;
        const std::uint64_t most = draw.fill == Fill::kSmall ? 4 : 40;
        spec.lines = draw.fill == Fill::kRoomy ? 2050 : 2 * (1 + random.below(most));
        spec.policy = draw.policy;
        spec.isa = draw.isa;
        return *Params::make(spec);
    }
    static Promise promise(const Params& params) {
        const std::uint64_t forgotten = std::uint64_t{params.l()} + 1;
        return {.kept = params.l(),
                .forgotten = forgotten,
                .alone = forgotten,
                .step = 1,
                .cycle = 256};  // as many as there are stamps
    }
    // Another digest shares a line and has the same fingerprint.
    static double accident(const Params& params, double n) {
        return std::ldexp(4 * n / static_cast<double>(params.lines()),
                          -static_cast<int>(params.bits()));
    }
    // Both lines are full.
    static float most_chance(const Params& params) {
        return std::ldexp(2.0F * static_cast<float>(params.shape().slots),
                          -static_cast<int>(params.bits()));
    }

    // Without background visits, due work is done at the next turn. A lap takes 128 generations.
    class Reference {
      public:
        explicit Reference(const Params& params)
            : most_(std::uint64_t{params.l()} + 1), lines_(params.lines()) {}

        void turn(std::uint64_t from, std::uint64_t to, filter::FilterCounters& counters) {
            pass(std::min(to - from, most_), counters);
        }
        // Everything ages until it is forgotten.
        void clear(filter::FilterCounters& counters) { pass(most_, counters); }

      private:
        void pass(std::uint64_t turns, filter::FilterCounters& counters) {
            counters.late_visits += passed_ * lines_ / 128 - visited_;
            visited_ = passed_ * lines_ / 128;
            counters.shifts += turns;
            passed_ += turns;
        }

        std::uint64_t most_;
        std::uint64_t lines_;
        std::uint64_t passed_ = 0;
        std::uint64_t visited_ = 0;
    };
};

template <>
struct Row<filter::TimedBtbf> {
    using Params = filter::TimedBtbfParams;
    static constexpr std::uint64_t kShapes = 42;  // l = 1 to 14
    static constexpr bool kPollsTidy = true;

    // The timer bits are often the minimum, and the padding often the maximum that they allow, so
    // that timers come as close to wrapping as they may.
    static Params params(const Draw& draw, Random& random) {
        filter::TimedBtbfSpec spec;
        spec.l = static_cast<unsigned>(1 + draw.index % 14);
        spec.policy = draw.policy;
        spec.bpt = filter::kMinTimerBits;
        while ((1U << spec.bpt) < spec.l + 3) {
            ++spec.bpt;
        }
        spec.bpt += static_cast<unsigned>(random.below(2));
        spec.k = draw.fill == Fill::kRoomy ? 6 : 1 + static_cast<unsigned>(random.below(5));
        spec.m = draw.fill == Fill::kRoomy ? 4099 : 1 + random.below(200);
        if (random.one_in(2)) {
            spec.P = static_cast<unsigned>(random.below(Params::make(spec)->P() + 1));
        }
        return *Params::make(spec);
    }
    static Promise promise(const Params& params) {
        return {.kept = params.l(),
                .forgotten = std::uint64_t{params.l()} + 1,
                .alone = std::uint64_t{params.l()} + 1,
                .step = 1,
                .cycle = params.timers().numbers()};
    }
    static double accident(const Params& params, double n) {
        return std::pow(std::min(1.0, params.k() * n / static_cast<double>(params.m())),
                        params.k());
    }

    class Reference {
      public:
        explicit Reference(const Params& params) : most_(std::uint64_t{params.l()} + 1) {}
        void turn(std::uint64_t from, std::uint64_t to, filter::FilterCounters& counters) const {
            counters.shifts += std::min(to - from, most_);
        }
        void clear(filter::FilterCounters& /*counters*/) const {}

      private:
        std::uint64_t most_;
    };
};

// Engines that store times count only what digests cause, nothing that time causes.
struct NoReference {
    template <typename Params>
    explicit NoReference(const Params& /*params*/) {}
    void turn(std::uint64_t /*from*/, std::uint64_t /*to*/,
              filter::FilterCounters& /*counters*/) const {}
    void clear(filter::FilterCounters& /*counters*/) const {}
};

template <>
struct Row<filter::Tlbf> {
    using Params = filter::TlbfParams;
    using Reference = NoReference;  // its slices: tests/unit/filters/window/tlbf_test.cpp
    static constexpr std::uint64_t kShapes = 40;

    // Windows down to one nanosecond a generation.
    static Params params(const Draw& draw, Random& /*random*/) {
        constexpr std::array<unsigned, 5> kK{1, 2, 3, 5, 8};
        constexpr std::array<unsigned, 4> kL{1, 2, 4, 7};
        filter::TlbfSpec spec;
        spec.k = kK.at(draw.index % 5);
        spec.l = kL.at(draw.index / 5 % 4);
        spec.window = draw.index < 20 ? spec.l : 1000 + spec.l;
        spec.policy = draw.policy;
        spec.capacity = 20;
        spec.arena_bytes = 1 << 18;
        if (draw.fill == Fill::kRoomy) {
            spec.capacity = std::uint64_t{40'000} * spec.l;
            const double slice = static_cast<double>(spec.capacity) * spec.k / spec.l * 1.443;
            spec.arena_bytes = filter::align_to_line(static_cast<std::uint64_t>(slice / 8) + 64) *
                               (spec.k + spec.l + 6);
        }
        return *Params::make(spec);
    }
    static Promise promise(const Params& params) {
        const Nanoseconds window = params.spec().window;
        return {.kept = window - 1,
                .forgotten = window + params.k() * params.period() + 1,
                .alone = window + 1,
                .step = params.period(),
                .cycle = 2 * params.k()};
    }
    // With few digests a generation outlasts its length; all slices of a digest but one stay
    // longer.
    static double accident(const Params& params, double n) {
        return std::min(1.0, (params.k() + params.spec().l) * n /
                                 static_cast<double>(params.first_slice_bits()));
    }
};

template <>
struct Row<filter::Exact> {
    using Params = filter::ExactParams;
    using Reference = NoReference;
    static constexpr std::uint64_t kShapes = 6;

    static Params params(const Draw& draw, Random& /*random*/) {
        constexpr std::array<Nanoseconds, kShapes> kWindows{1, 2, 10, 77, 1000, 1'000'000'007};
        return *Params::make(
            {.entries = 3000, .window = kWindows.at(draw.index), .policy = draw.policy});
    }
    static Promise promise(const Params& params) {
        const Nanoseconds window = params.window();
        return {.kept = window - 1,
                .forgotten = window,
                .alone = window,
                .step = window / 8 + 1,
                .cycle = 8};
    }
    static double accident(const Params& /*params*/, double /*n*/) { return 0; }
};

template <>
struct Row<filter::Bucket> {
    using Params = filter::BucketParams;
    using Reference = NoReference;
    static constexpr std::uint64_t kShapes = 6;

    static Params params(const Draw& draw, Random& random) {
        constexpr std::array<Nanoseconds, kShapes> kWindows{1, 2, 77, 8192, 8193, 1'000'000'007};
        const std::uint64_t buckets = draw.fill == Fill::kSmall  ? 1 + random.below(9)
                                      : draw.fill == Fill::kHalf ? 60 + random.below(40)
                                                                 : 1000;
        return *Params::make(
            {.buckets = buckets, .window = kWindows.at(draw.index), .policy = draw.policy});
    }
    static Promise promise(const Params& params) {
        const Nanoseconds window = params.window();
        const Nanoseconds tick = Nanoseconds{1} << params.tick_bits();
        return {.kept = window - 1,
                .forgotten = window + 2 * (tick - 1),
                .alone = window + 2 * (tick - 1),
                .step = window / 8 + 1,
                .cycle = 8};
    }
    static double accident(const Params& /*params*/, double /*n*/) {
        return 16 * std::ldexp(1.0, -28);
    }
};

}  // namespace unecho::test
