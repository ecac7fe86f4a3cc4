// SPDX-License-Identifier: BSD-3-Clause
// The contract of filters/filter.h and filters/confidence_filter.h as a suite that every engine of
// dedup/engines/catalogue.h runs. A row (rows.h) describes an engine to the suite. Tests of one
// engine's peculiarities are in that engine's own files.
//
// Time is a plain number: generations for some engines, nanoseconds for the others.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "dedup/engines/catalogue.h"
#include "filters/generation.h"
#include "property/contract/rows.h"
#include "support/any_filter.h"
#include "support/instance.h"
#include "support/kernels.h"
#include "support/window_oracle.h"

namespace unecho::test {

// --- Which engines -----------------------------------------------------------------------------

template <typename... Filters>
struct FilterList {
    using Types = testing::Types<Filters...>;
    static constexpr std::size_t kSize = sizeof...(Filters);
};

template <typename Variant>
struct list_of;
template <typename... Filters>
struct list_of<std::variant<Filters...>> {
    using type = FilterList<Filters...>;
};
using Engines = list_of<engines::AnyFilter>::type;

template <typename Filter>
concept HasRow = requires(const Draw& draw, Random& random) {
    { Row<Filter>::kShapes } -> std::convertible_to<std::uint64_t>;
    { Row<Filter>::promise(Row<Filter>::params(draw, random)) } -> std::same_as<Promise>;
};
template <typename List>
inline constexpr bool kHaveRows = false;
template <typename... Filters>
inline constexpr bool kHaveRows<FilterList<Filters...>> = (HasRow<Filters> && ...);
static_assert(kHaveRows<Engines>, "each engine has its row in property/contract/rows.h");
static_assert(Engines::kSize + 1 == engines::kEngines, "each engine but auto is in the suite");

// Return the EngineInfo (dedup/engines/engine.h) of a filter type.
template <typename Filter>
consteval engines::EngineInfo info_of() {
    return engines::info_of(engines::engine_at(kPlaceOf<Filter>));
}

// The filters of a list for which Holds is true.
template <template <typename> typename Holds, typename Kept, typename... Filters>
struct those {
    using type = Kept;
};
template <template <typename> typename Holds, typename... Kept, typename First, typename... Rest>
struct those<Holds, FilterList<Kept...>, First, Rest...> {
    using type = typename those<
        Holds,
        std::conditional_t<Holds<First>::value, FilterList<Kept..., First>, FilterList<Kept...>>,
        Rest...>::type;
};
template <template <typename> typename Holds, typename List>
struct those_of;
template <template <typename> typename Holds, typename... Filters>
struct those_of<Holds, FilterList<Filters...>> : those<Holds, FilterList<>, Filters...> {};

template <typename Filter>
struct estimates_chance : std::bool_constant<info_of<Filter>().estimates_chance> {};
using JudgingEngines = those_of<estimates_chance, Engines>::type;

template <typename Filter>
struct has_kernels : std::bool_constant<info_of<Filter>().has_kernels> {};
using EnginesWithKernels = those_of<has_kernels, Engines>::type;

template <typename Filter>
concept HasSegments = requires(Filter filter) {
    { filter.segments() } -> std::same_as<filter::SegmentRing&>;
};
template <typename Filter>
struct has_segments : std::bool_constant<HasSegments<Filter>> {};
using EnginesOfSegments = those_of<has_segments, Engines>::type;

struct EngineNames {
    template <typename Filter>
    static std::string GetName(int /*index*/) {
        std::string name(info_of<Filter>().name);
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    }
};

// --- What a test works with --------------------------------------------------------------------

inline filter::Moment moment_at(std::uint64_t time) {
    return {.now = time, .generation = time};
}

inline bool refreshes(const Draw& draw) {
    return draw.policy == filter::EchoPolicy::kRefresh;
}

// Return the parameters by their letters, for messages about failures.
template <typename Params>
std::string letters_of(const Params& p) {
    std::string text;
    const auto add = [&](const char* letter, auto value) {
        text += std::string(" ") + letter + " " + std::to_string(value);
    };
    if constexpr (requires { p.M(); }) {
        add("M", p.M());
    }
    if constexpr (requires { p.k(); }) {
        add("k", p.k());
    }
    if constexpr (requires { p.l(); }) {
        add("l", p.l());
    }
    if constexpr (requires { p.b(); }) {
        add("b", p.b());
    }
    if constexpr (requires { p.m(); }) {
        add("m", p.m());
    }
    if constexpr (requires { p.bits(); }) {
        add("bits", p.bits());
    }
    if constexpr (requires { p.P(); }) {
        add("P", p.P());
    }
    if constexpr (requires { p.phases(); }) {
        add("phases", p.phases());
    }
    if constexpr (requires { p.window(); }) {
        add("window", p.window());
    }
    if constexpr (requires { p.period(); }) {
        add("period", p.period());
    }
    if constexpr (requires { p.isa(); }) {
        text += " " + std::string(filter::name_of(p.isa()));
    }
    return text;
}

// One case: parameters, their promise, and a random stream of its own.
template <typename Filter>
struct Case {
    using Params = typename Row<Filter>::Params;
    using Table = FilterInstance<Filter>;

    explicit Case(const Draw& d)
        : draw(d),
          random(2 * d.index + (refreshes(d) ? 1 : 0)),
          params(Row<Filter>::params(d, random)),
          promise(Row<Filter>::promise(params)) {}

    Draw draw;
    Random random;
    Params params;
    Promise promise;
};

// Call `function` for every shape of an engine with both policies; the kernels take turns. first
// and stride select some of the shapes, so that two fills can share them.
template <typename Filter, typename Function>
void for_each_case(Fill fill, Function function, std::uint64_t first = 0,
                   std::uint64_t stride = 1) {
    const auto& kernels = available_isas();
    for (std::uint64_t index = first; index < Row<Filter>::kShapes; index += stride) {
        for (const auto policy : {filter::EchoPolicy::kFixed, filter::EchoPolicy::kRefresh}) {
            Case<Filter> c({.index = index,
                            .fill = fill,
                            .policy = policy,
                            .isa = kernels[(index + index / 3) % kernels.size()]});
            SCOPED_TRACE(seed_note() + " case " + std::to_string(index) +
                         (refreshes(c.draw) ? " refresh" : " fixed") + letters_of(c.params));
            function(c);
            if (testing::Test::HasFatalFailure()) {
                return;
            }
        }
    }
}

// Use small tables for even shapes and roomy ones for odd shapes.
template <typename Filter, typename Function>
void for_each_case_of_two_fills(Function function) {
    for_each_case<Filter>(Fill::kSmall, function, 0, 2);
    for_each_case<Filter>(Fill::kRoomy, function, 1, 2);
}

// Return true if a digest inserted at this time is certainly present, unless it is too old. After a
// loss a filter promises nothing, or only what is younger than its lost_before().
template <typename Filter>
bool keeps(const Filter& filter, std::uint64_t inserted) {
    if constexpr (requires { filter.lost_before(); }) {
        return inserted >= filter.lost_before();
    } else {
        return filter.counters().evicted_early == 0;
    }
}

// query() says whether a digest is an echo without changing anything.
template <typename Filter>
concept Asks = requires(const Filter filter, Digest digest) {
    { filter.query(digest) } -> std::same_as<bool>;
};
// query() and insert() can be called separately.
template <typename Filter>
concept HasHalves = Asks<Filter> && requires(Filter filter, Digest digest) {
    filter.insert(digest);
};
template <typename Filter>
concept Counts = requires(const Filter filter, Filter writable, Digest digest, unsigned n) {
    { filter.count(digest, n) } -> std::same_as<unsigned>;
    { writable.test_and_insert_first(digest, n) } -> std::same_as<bool>;
};
template <typename Filter>
inline constexpr bool kAsks = Asks<Filter> || Counts<Filter>;

template <typename Filter>
bool ask(const Filter& filter, Digest digest) {
    if constexpr (Asks<Filter>) {
        return filter.query(digest);
    } else {
        return filter.count(digest, 1) == 1;
    }
}

// The time of a stream. It mostly stands still or advances by at most a step. Sometimes it jumps to
// the edge of what is kept or forgotten, or far beyond. The window fills in between.
class Clock {
  public:
    Clock(Random& random, const Promise& promise, std::uint64_t index)
        : random_(random), promise_(promise) {
        constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
        const std::uint64_t starts[] = {0, (std::uint64_t{1} << 63) - 30,
                                        kLast - (std::uint64_t{1} << 46)};
        now_ = starts[index % std::size(starts)];
    }

    [[nodiscard]] std::uint64_t now() const { return now_; }
    std::uint64_t next() {
        if (!random_.one_in(50)) {
            now_ += random_.one_in(8) ? 1 + random_.below(promise_.step) : 0;
            return now_;
        }
        const std::uint64_t steps[] = {2 * promise_.step,
                                       promise_.kept - (promise_.kept > 0 ? 1 : 0),
                                       promise_.kept,
                                       promise_.kept + 1,
                                       promise_.forgotten - 1,
                                       promise_.forgotten,
                                       promise_.forgotten + 1,
                                       2 * promise_.forgotten,
                                       1'000'003,
                                       std::uint64_t{1} << 40};
        now_ += steps[random_.below(std::size(steps))];
        return now_;
    }

  private:
    Random& random_;
    Promise promise_;
    std::uint64_t now_ = 0;
};

// Work that other threads, or the filter between bursts, may do at any time. It changes no answer.
template <typename Filter>
class Background {
  public:
    Background(Filter& filter, std::uint64_t index) : filter_(filter), lazy_(index % 3) {}

    void work(Random& random, std::uint64_t now) {
        if (lazy_ == 0) {
            return;
        }
        if constexpr (HasSegments<Filter>) {
            helper_.work(random);
        }
        for (std::uint64_t n = random.one_in(5) ? random.below(40) : 0; n != 0; --n) {
            if constexpr (requires { filter_.maintain(); }) {
                filter_.maintain();
            }
            filter_.advance(moment_at(now));  // as polls without packets do
        }
    }

  private:
    struct None {
        explicit None(Filter& /*filter*/) {}
    };
    struct Zeroes : Helper {
        explicit Zeroes(Filter& filter) : Helper(filter.segments()) {}
    };

    Filter& filter_;
    std::uint64_t lazy_;
    std::conditional_t<HasSegments<Filter>, Zeroes, None> helper_{filter_};
};

// Return a burst of any size, often one of the edge sizes, with echoes inside it.
inline std::vector<Digest> random_burst(Random& random, Digests& digests) {
    constexpr std::array<std::size_t, 6> kEdges{0, 1, 2, kMaxBurst - 1, kMaxBurst, kMaxBurst};
    const std::size_t size =
        random.one_in(2) ? kEdges.at(random.below(kEdges.size())) : random.below(kMaxBurst + 1);
    std::vector<Digest> burst(size);
    std::generate(burst.begin(), burst.end(), [&] { return digests.next(); });
    return burst;
}

inline void expect_same_counters(const filter::FilterCounters& one,
                                 const filter::FilterCounters& other) {
    for (const auto& row : filter::kFilterCounters) {
        ASSERT_EQ(one.*row.value, other.*row.value) << row.name;
    }
}

template <typename Filter>
void expect_same_load(const Filter& one, const Filter& other) {
    if constexpr (requires { one.load(); }) {
        ASSERT_EQ(one.load(), other.load());
    }
}

// Expect two filters of one geometry to have equal memory, counters and load.
template <typename Filter>
void expect_same(const FilterInstance<Filter>& one, const FilterInstance<Filter>& other) {
    const auto bits = one.memory.span();
    ASSERT_EQ(std::memcmp(other.memory.span().data(), bits.data(), bits.size()), 0);
    expect_same_counters(one.filter.counters(), other.filter.counters());
    expect_same_load(one.filter, other.filter);
}

template <typename Filter>
inline constexpr bool kTestsTidy = requires {
    Row<Filter>::kTestsTidy;
};
template <typename Filter>
inline constexpr bool kPollsTidy = requires {
    Row<Filter>::kPollsTidy;
};

// Counts queries of forgotten digests, each of which may match by accident. A digest that did match
// would match again on each query, so it counts once until it is inserted.
class Accidents {
  public:
    void asked(Digest digest, bool echo, double chance) {
        if (taken_.contains(digest)) {
            return;
        }
        ++asked_;
        expected_ += chance;
        if (echo) {
            taken_.insert(digest);
            ++count_;
        }
    }
    void inserted(Digest digest) { taken_.erase(digest); }

    [[nodiscard]] std::uint64_t asked() const { return asked_; }
    // Return true if so many accidents have a probability below 1e-9 (Poisson).
    [[nodiscard]] bool too_many() const {
        double term = std::exp(-expected_);
        double up_to = term;
        for (std::uint64_t n = 1; n <= count_ && 1 - up_to >= 1e-9; ++n) {
            if (n == count_) {
                return false;
            }
            term *= expected_ / static_cast<double>(n);
            up_to += term;
        }
        return count_ != 0 && 1 - up_to < 1e-9;
    }
    [[nodiscard]] std::string text() const {
        return std::to_string(count_) + " accidents in " + std::to_string(asked_) + ", expected " +
               std::to_string(expected_);
    }

  private:
    std::set<Digest> taken_;
    std::uint64_t asked_ = 0;
    std::uint64_t count_ = 0;
    double expected_ = 0;
};

}  // namespace unecho::test
