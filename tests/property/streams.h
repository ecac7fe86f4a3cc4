// SPDX-License-Identifier: BSD-3-Clause
// Random streams for the property tests, and a filter under test with all that belongs to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/window/apbbf.h"
#include "filter/window/apbf.h"
#include "filter/window/segment_ring.h"
#include "filter/window/shbf_window.h"
#include "filter/window/shbf_x_window.h"
#include "support/filter_memory.h"
#include "support/seed.h"

namespace unecho::test {

class Random {
  public:
    // The same for the same test, case and UNECHO_SEED.
    explicit Random(std::uint64_t index) : engine_(remix(seed(), index)) {}

    // Uniform on [0, n).
    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    std::uint64_t bits() { return engine_(); }

  private:
    std::mt19937_64 engine_;
};

// Digests of which many were there before, recently or long ago.
class Digests {
  public:
    explicit Digests(Random& random) : random_(random) {}

    Digest next() {
        if (past_.empty() || random_.one_in(3)) {
            past_.push_back(random_.bits());
            return past_.back();
        }
        const std::size_t recent =
            random_.one_in(2) ? past_.size() : std::min(past_.size(), kRecent);
        return past_[past_.size() - 1 - random_.below(recent)];
    }

    // Never returned before and, but for 2^-64, never after.
    Digest fresh() { return random_.bits(); }

  private:
    static constexpr std::size_t kRecent = 40;
    Random& random_;
    std::vector<Digest> past_;
};

// How many generations pass at once: mostly none or one, now and then what is at the edge of k and
// l. A window fills in between.
inline std::uint64_t random_step(Random& random, unsigned k, unsigned l) {
    if (!random.one_in(50)) {
        return random.one_in(8) ? 1 : 0;
    }
    const std::uint64_t steps[] = {0,         2,     k - 1,     k,         l,
                                   k + l - 1, k + l, k + l + 1, 1'000'003, 1ull << 40};
    return steps[random.below(std::size(steps))];
}

// A segmented filter's kind: Filter, and its parameters for a geometry. Small ones are nearly
// always saturated, so that accidental matches are everywhere; roomy ones nearly never match by
// accident.
enum class Size { kSmall, kRoomy };

struct Shape {
    unsigned k = 1;
    unsigned l = 1;
    unsigned spares = 0;
    filter::EchoPolicy policy = filter::EchoPolicy::kFixed;

    [[nodiscard]] std::string text() const {
        return "k " + std::to_string(k) + " l " + std::to_string(l) + " spares " +
               std::to_string(spares) +
               (policy == filter::EchoPolicy::kFixed ? " fixed" : " refresh");
    }
};

struct ApbfKind {
    using Filter = filter::Apbf;
    static filter::ApbfParams params(const Shape& s, Size size, Random& random) {
        const std::uint64_t m = size == Size::kSmall ? 64 + random.below(150) : 1000003;
        return *filter::ApbfParams::make(
            {.k = s.k, .l = s.l, .m = m, .spares = s.spares, .policy = s.policy});
    }
    // A bound on the chance that a digest matches one segment that holds n others.
    static double match(const filter::ApbfParams& params, double n) {
        return n / static_cast<double>(params.m());
    }
};

struct ApbbfKind {
    using Filter = filter::Apbbf;
    static filter::ApbbfParams params(const Shape& s, Size size, Random& random) {
        if (size == Size::kRoomy) {
            const unsigned b = 4 + static_cast<unsigned>(random.below(13));
            return *filter::ApbbfParams::make({.k = s.k,
                                               .l = s.l,
                                               .b = b,
                                               .blocks = 997,
                                               .spares = s.spares,
                                               .policy = s.policy});
        }
        const unsigned B = 64u << random.below(4);
        const unsigned most = std::min(filter::kMaxBitsPerKey, B / 4);
        return *filter::ApbbfParams::make({.k = s.k,
                                           .l = s.l,
                                           .B = B,
                                           .b = 1 + static_cast<unsigned>(random.below(most)),
                                           .blocks = 1 + random.below(9),
                                           .spares = s.spares,
                                           .policy = s.policy});
    }
    // Not more than 8 of a few hundred digests share one of 997 blocks (chance 1e-9 for 200).
    static double match(const filter::ApbbfParams& params, double n) {
        return n / 997 * std::pow(8.0 * params.b() / params.B(), params.b());
    }
};

struct ShbfWindowKind {
    using Filter = filter::ShbfWindow;
    static filter::ShbfWindowParams params(const Shape& s, Size size, Random& random) {
        const unsigned t = 1 + static_cast<unsigned>(random.below(3));
        const unsigned groups = 1 + static_cast<unsigned>(random.below(4));
        const std::uint64_t m = size == Size::kSmall ? 1 + random.below(300) : 1000003;
        return *filter::ShbfWindowParams::make({.k = s.k,
                                                .l = s.l,
                                                .m = m,
                                                .b = groups * (t + 1),
                                                .t = t,
                                                .spares = s.spares,
                                                .policy = s.policy});
    }
    // By a group's first bit alone.
    static double match(const filter::ShbfWindowParams& params, double n) {
        return n * params.b() / static_cast<double>(params.m());
    }
};

// With n = 1: 1 + l segments, and the shape's k for the bits of a digest in each.
struct ShbfXWindowKind {
    struct Filter : filter::ShbfXWindow {
        using ShbfXWindow::ShbfXWindow;
        [[nodiscard]] bool query(Digest digest) const noexcept { return count(digest, 1) == 1; }
        void insert(Digest digest) noexcept { ShbfXWindow::insert(digest, 1); }
    };
    static filter::ShbfXWindowParams params(const Shape& s, Size size, Random& random) {
        const std::uint64_t m = size == Size::kSmall ? 1 + random.below(300) : 1000003;
        return *filter::ShbfXWindowParams::make(
            {.k = s.k, .l = s.l, .m = m, .c = 1, .spares = s.spares, .policy = s.policy});
    }
    static double match(const filter::ShbfXWindowParams& params, double n) {
        return n * params.k() / static_cast<double>(params.m());
    }
};

template <typename Kind>
struct Instance {
    using Params = decltype(Kind::params(Shape{}, Size::kSmall, std::declval<Random&>()));

    explicit Instance(const Params& p)
        : params(p), memory(Kind::Filter::bytes(p)), filter(p, memory.span()) {}

    Params params;
    FilterMemory memory;
    typename Kind::Filter filter;
};

// Zeroes retired segments at random times, on another thread as far as the filter can tell. Expects
// that nobody writes to a segment while it is away.
class Helper {
  public:
    explicit Helper(filter::SegmentRing& ring) : ring_(ring) {}

    void work(Random& random) {
        if (random.one_in(2)) {
            if (const auto id = ring_.take_retired()) {
                const auto memory = ring_.segment_memory(*id);
                std::fill(memory.begin(), memory.end(), kAway);
                away_.push_back(*id);
            }
        }
        if (!away_.empty() && random.one_in(5)) {
            const auto memory = ring_.segment_memory(away_.front());
            // Not byte by byte, which a sanitizer makes slow.
            EXPECT_EQ(memory.front(), kAway);
            EXPECT_EQ(std::memcmp(memory.data(), memory.data() + 1, memory.size() - 1), 0);
            std::fill(memory.begin(), memory.end(), std::byte{0});
            ring_.supply_zeroed(away_.front());
            away_.pop_front();
        }
    }

  private:
    static constexpr std::byte kAway{0xFF};
    filter::SegmentRing& ring_;
    std::deque<filter::SegmentId> away_;
};

}  // namespace unecho::test
