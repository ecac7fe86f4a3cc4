// SPDX-License-Identifier: BSD-3-Clause
// The types behind each row of dedup/engines/engine.h, and what makes a filter of them. For
// catalogue.h, which most code includes instead.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "base/assert.h"
#include "base/result.h"
#include "base/units.h"
#include "dedup/engines/engine.h"
#include "dedup/engines/spec.h"
#include "dedup/pipeline/any_filter.h"
#include "filters/confidence_filter.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/apbbf.h"
#include "filters/sizing/window/apbf.h"
#include "filters/sizing/window/btbf.h"
#include "filters/sizing/window/bucket.h"
#include "filters/sizing/window/exact.h"
#include "filters/sizing/window/fingerprint.h"
#include "filters/sizing/window/line.h"
#include "filters/sizing/window/shbf_window.h"
#include "filters/sizing/window/shbf_x_window.h"
#include "filters/sizing/window/tlbf.h"

namespace unecho::engines {

using pipeline::AnyFilter;

// For each engine:
// - Geometry, Filter, kSize: what the targets become, what that becomes, and the function that
//   sizes it
// - params(geometry, setup): the filter's checked parameters. setup: a FilterSetup (catalogue.h)
// - text(geometry): for people, and for kept state, so it keeps its bytes
// - given(given, window): optional, if its row has keys of a geometry: completes a given one
// - least_chance(geometry): optional, if the filter has no MatchTable
template <Engine kEngine>
struct Descriptor;

template <>
struct Descriptor<Engine::kLine> {
    using Geometry = sizing::LineGeometry;
    using Filter = filter::LineFilter;
    static constexpr auto kSize = &sizing::size_line;

    static auto params(const Geometry& g, const auto& setup) {
        return filter::LineParams::make({.M = g.M,
                                         .k = g.k,
                                         .b = g.b,
                                         .phases = g.phases,
                                         .lines = g.lines,
                                         .policy = setup.policy,
                                         .isa = setup.isa});
    }
    static Result<Geometry> given(const GivenGeometry& g, Nanoseconds window) {
        return sizing::complete_line(
            {.M = g.lines_per_key, .k = g.k, .b = g.bits_per_key, .lines = g.lines}, window);
    }
    // Line filters have no MatchTable as filters of segments have.
    static double least_chance(const Geometry& g) {
        return std::pow(filter::line_coverage(g.b, g.b), g.M * g.k);
    }
    static std::string text(const Geometry& g) {
        return fmt::format("M={} k={} l={} b={}, {} lines in {} {}", g.M, g.k, g.l, g.b, g.lines,
                           g.phases, g.phases == 1 ? "phase" : "phases");
    }
};

template <>
struct Descriptor<Engine::kFingerprint> {
    using Geometry = sizing::FingerprintGeometry;
    using Filter = filter::FingerprintFilter;
    static constexpr auto kSize = &sizing::size_fingerprint;

    static auto params(const Geometry& g, const auto& setup) {
        return filter::FingerprintParams::make(
            {.bits = g.bits, .lines = g.lines, .policy = setup.policy, .isa = setup.isa});
    }
    static Result<Geometry> given(const GivenGeometry& g, Nanoseconds /*window*/) {
        return sizing::complete_fingerprint({.bits = g.fingerprint_bits, .lines = g.lines});
    }
    static double least_chance(const Geometry& g) {
        return std::ldexp(1.0, -static_cast<int>(g.bits));
    }
    static std::string text(const Geometry& g) {
        return fmt::format("{} bits l={}, {} lines", g.bits, g.l, g.lines);
    }
};

template <>
struct Descriptor<Engine::kApbbf> {
    using Geometry = sizing::ApbbfGeometry;
    using Filter = filter::Apbbf;
    static constexpr auto kSize = &sizing::size_apbbf;

    static auto params(const Geometry& g, const auto& setup) {
        return filter::ApbbfParams::make({.k = g.k,
                                          .l = g.l,
                                          .B = g.B,
                                          .b = g.b,
                                          .blocks = g.blocks,
                                          .policy = setup.policy,
                                          .isa = setup.isa});
    }
    static Result<Geometry> given(const GivenGeometry& g, Nanoseconds /*window*/) {
        return Geometry{g.k, g.l, g.block_bits, g.bits_per_key, g.segment_bits / g.block_bits};
    }
    static std::string text(const Geometry& g) {
        return fmt::format("k={} l={} B={} b={}, {} blocks a segment", g.k, g.l, g.B, g.b,
                           g.blocks);
    }
};

template <>
struct Descriptor<Engine::kApbf> {
    using Geometry = sizing::ApbfGeometry;
    using Filter = filter::Apbf;
    static constexpr auto kSize = &sizing::size_apbf;

    static auto params(const Geometry& g, const auto& setup) {
        return filter::ApbfParams::make({.k = g.k, .l = g.l, .m = g.m, .policy = setup.policy});
    }
    static Result<Geometry> given(const GivenGeometry& g, Nanoseconds /*window*/) {
        return Geometry{g.k, g.l, g.segment_bits};
    }
    static std::string text(const Geometry& g) {
        return fmt::format("k={} l={}, {} bits a slice", g.k, g.l, g.m);
    }
};

template <>
struct Descriptor<Engine::kTlbf> {
    using Geometry = sizing::TlbfGeometry;
    using Filter = filter::Tlbf;
    static constexpr auto kSize = &sizing::size_tlbf;

    static auto params(const Geometry& g, const auto& setup) {
        return filter::TlbfParams::make({.k = g.k,
                                         .l = g.l,
                                         .window = setup.window,
                                         .capacity = g.capacity,
                                         .arena_bytes = g.arena_bytes,
                                         .max_slices = g.max_slices,
                                         .policy = setup.policy});
    }
    static std::string text(const Geometry& g) {
        return fmt::format("k={} l={}, up to {} slices in {}", g.k, g.l, g.max_slices,
                           format_size(g.arena_bytes));
    }
};

template <>
struct Descriptor<Engine::kBtbf> {
    using Geometry = sizing::BtbfGeometry;
    using Filter = filter::TimedBtbf;
    static constexpr auto kSize = &sizing::size_btbf;

    static auto params(const Geometry& g, const auto& setup) {
        return filter::TimedBtbfParams::make(
            {.l = g.l, .k = g.k, .m = g.m, .bpt = g.bits, .policy = setup.policy});
    }
    static std::string text(const Geometry& g) {
        return fmt::format("k={} l={}, {} timers of {} bits", g.k, g.l, g.m, g.bits);
    }
};

template <>
struct Descriptor<Engine::kShbf> {
    using Geometry = sizing::ShbfWindowGeometry;
    using Filter = filter::ShbfWindow;
    static constexpr auto kSize = &sizing::size_shbf_window;

    static auto params(const Geometry& g, const auto& setup) {
        return filter::ShbfWindowParams::make(
            {.k = g.k, .l = g.l, .m = g.m, .b = g.b, .policy = setup.policy});
    }
    static std::string text(const Geometry& g) {
        return fmt::format("k={} l={} b={}, {} bits a segment", g.k, g.l, g.b, g.m);
    }
};

template <>
struct Descriptor<Engine::kShbfX> {
    using Geometry = sizing::ShbfXWindowGeometry;
    using Filter = filter::ShbfXWindow;
    static constexpr auto kSize = &sizing::size_shbf_x_window;

    static auto params(const Geometry& g, const auto& setup) {
        return filter::ShbfXWindowParams::make(
            {.k = g.k, .l = g.l, .m = g.m, .c = g.c, .policy = setup.policy});
    }
    static std::string text(const Geometry& g) {
        return fmt::format("k={} l={} c={}, {} bits a segment", g.k, g.l, g.c, g.m);
    }
};

template <>
struct Descriptor<Engine::kExact> {
    using Geometry = sizing::ExactGeometry;
    using Filter = filter::Exact;
    static constexpr auto kSize = &sizing::size_exact;

    static auto params(const Geometry& g, const auto& setup) {
        return filter::ExactParams::make(
            {.entries = g.entries, .window = setup.window, .policy = setup.policy});
    }
    static std::string text(const Geometry& g) { return std::to_string(g.entries) + " entries"; }
};

template <>
struct Descriptor<Engine::kBucket> {
    using Geometry = sizing::BucketGeometry;
    using Filter = filter::Bucket;
    static constexpr auto kSize = &sizing::size_bucket;
    static_assert(sizing::kBucketPlaces == filter::BucketParams::kPlaces &&
                  sizing::kBucketWindowBits == filter::BucketParams::kWindowBits);

    static auto params(const Geometry& g, const auto& setup) {
        return filter::BucketParams::make(
            {.buckets = g.buckets, .window = setup.window, .policy = setup.policy});
    }
    static std::string text(const Geometry& g) { return std::to_string(g.buckets) + " buckets"; }
};

// The engines, without "auto", as indices of Geometry and AnyFilter.
inline constexpr std::size_t kFilterEngines = kEngines - 1;
[[nodiscard]] constexpr Engine engine_at(std::size_t index) noexcept {
    return static_cast<Engine>(index + 1);
}

template <std::size_t... I>
auto geometries(std::index_sequence<I...>)
    -> std::variant<typename Descriptor<engine_at(I)>::Geometry...>;
using Geometry = decltype(geometries(std::make_index_sequence<kFilterEngines>{}));

[[nodiscard]] constexpr Engine engine_of(const Geometry& geometry) noexcept {
    return engine_at(geometry.index());
}

template <typename Filter>
using ParamsOf = std::remove_cvref_t<decltype(std::declval<const Filter&>().params())>;

// Compiles only if the row of engine I + 1 agrees with its types.
template <std::size_t I>
consteval bool row_is_true() {
    using D = Descriptor<engine_at(I)>;
    using Filter = typename D::Filter;
    using Params = ParamsOf<Filter>;
    constexpr EngineInfo kInfo = info_of(engine_at(I));
    constexpr bool kSizedByFirst =
        std::is_invocable_v<decltype(D::kSize), const sizing::Targets&, unsigned>;
    constexpr bool kTakesGeometry = requires {
        &D::given;
    };
    constexpr bool kKernels = requires(Params params) {
        params.isa();
    };
    constexpr bool kLoads = requires(const Filter f) {
        f.load();
    };
    static_assert(std::is_same_v<Filter, std::variant_alternative_t<I, AnyFilter>>,
                  "AnyFilter must list the filters in the order of the engines");
    static_assert(filter::RestorableFilter<Filter, Params>);
    static_assert(kInfo.estimates_chance == filter::ConfidenceFilter<Filter>,
                  "estimates_chance must be true iff the filter is a ConfidenceFilter");
    static_assert(kInfo.counts_packets == kSizedByFirst,
                  "counts_packets must be true iff sizing depends on `first`");
    static_assert(kInfo.counts_packets == (kInfo.least_first > 1),
                  "least_first must be above 1 iff counts_packets");
    static_assert(kInfo.geometry.any() == kTakesGeometry,
                  "geometry must have keys iff the descriptor has given()");
    static_assert(kInfo.has_kernels == kKernels,
                  "has_kernels must be true iff the parameters have isa()");
    static_assert(kInfo.by_generation == kLoads,
                  "by_generation must be true iff the filter has load(), false if it keeps times");
    return true;
}
static_assert(std::variant_size_v<AnyFilter> == kFilterEngines,
              "AnyFilter must list a filter for each engine");
static_assert([]<std::size_t... I>(std::index_sequence<I...>) {
    return (row_is_true<I>() && ...);
}(std::make_index_sequence<kFilterEngines>{}));

// Call function(Descriptor) for an engine, which must not be "auto".
template <typename Function, std::size_t I = 0>
auto with_descriptor(Engine engine, Function function) {
    if constexpr (I + 1 < kFilterEngines) {
        if (engine != engine_at(I)) {
            return with_descriptor<Function, I + 1>(engine, function);
        }
    }
    UNECHO_ASSERT(engine == engine_at(I));
    return function(Descriptor<engine_at(I)>{});
}

// Call function(Descriptor, geometry) for the type of a geometry.
template <typename Function>
auto with_descriptor(const Geometry& geometry, Function function) {
    return with_descriptor(engine_of(geometry), [&]<typename D>(D descriptor) {
        return function(descriptor, *std::get_if<typename D::Geometry>(&geometry));
    });
}

}  // namespace unecho::engines
