// SPDX-License-Identifier: BSD-3-Clause
// The types behind each row of dedup/engines/engine.h. Private to engines.
#pragma once

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "dedup/engines/catalogue.h"
#include "filters/confidence_filter.h"

namespace unecho::engines {

using std::to_string;

// For each type of geometry: its engine, filter, parameters, sizing function, and text for people.
template <typename G>
struct Descriptor;

template <>
struct Descriptor<sizing::LineGeometry> {
    static constexpr Engine kEngine = Engine::kLine;
    using Filter = filter::LineFilter;
    static constexpr auto kSize = &sizing::size_line;

    static auto params(const sizing::LineGeometry& g, const FilterSetup& setup) {
        return filter::LineParams::make({.M = g.M,
                                         .k = g.k,
                                         .b = g.b,
                                         .phases = g.phases,
                                         .lines = g.lines,
                                         .policy = setup.policy,
                                         .isa = setup.isa});
    }
    static Result<sizing::LineGeometry> given(const GivenGeometry& g, Nanoseconds window) {
        return sizing::complete_line(
            {.M = g.lines_per_key, .k = g.k, .b = g.bits_per_key, .lines = g.lines}, window);
    }
    // Line filters have no MatchTable as filters of segments have.
    static double least_chance(const sizing::LineGeometry& g) {
        return std::pow(filter::line_coverage(g.b, g.b), g.M * g.k);
    }
    static std::string text(const sizing::LineGeometry& g) {
        return "M=" + to_string(g.M) + " k=" + to_string(g.k) + " l=" + to_string(g.l) +
               " b=" + to_string(g.b) + ", " + to_string(g.lines) + " lines in " +
               to_string(g.phases) + (g.phases == 1 ? " phase" : " phases");
    }
};

template <>
struct Descriptor<sizing::FingerprintGeometry> {
    static constexpr Engine kEngine = Engine::kFingerprint;
    using Filter = filter::FingerprintFilter;
    static constexpr auto kSize = &sizing::size_fingerprint;

    static auto params(const sizing::FingerprintGeometry& g, const FilterSetup& setup) {
        return filter::FingerprintParams::make(
            {.bits = g.bits, .lines = g.lines, .policy = setup.policy, .isa = setup.isa});
    }
    static Result<sizing::FingerprintGeometry> given(const GivenGeometry& g,
                                                     Nanoseconds /*window*/) {
        return sizing::complete_fingerprint({.bits = g.fingerprint_bits, .lines = g.lines});
    }
    static double least_chance(const sizing::FingerprintGeometry& g) {
        return std::ldexp(1.0, -static_cast<int>(g.bits));
    }
    static std::string text(const sizing::FingerprintGeometry& g) {
        return to_string(g.bits) + " bits l=" + to_string(g.l) + ", " + to_string(g.lines) +
               " lines";
    }
};

template <>
struct Descriptor<sizing::ApbbfGeometry> {
    static constexpr Engine kEngine = Engine::kApbbf;
    using Filter = filter::Apbbf;
    static constexpr auto kSize = &sizing::size_apbbf;

    static auto params(const sizing::ApbbfGeometry& g, const FilterSetup& setup) {
        return filter::ApbbfParams::make({.k = g.k,
                                          .l = g.l,
                                          .B = g.B,
                                          .b = g.b,
                                          .blocks = g.blocks,
                                          .policy = setup.policy,
                                          .isa = setup.isa});
    }
    static Result<sizing::ApbbfGeometry> given(const GivenGeometry& g, Nanoseconds /*window*/) {
        return sizing::ApbbfGeometry{g.k, g.l, g.block_bits, g.bits_per_key,
                                     g.segment_bits / g.block_bits};
    }
    static std::string text(const sizing::ApbbfGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + " B=" + to_string(g.B) +
               " b=" + to_string(g.b) + ", " + to_string(g.blocks) + " blocks a segment";
    }
};

template <>
struct Descriptor<sizing::ApbfGeometry> {
    static constexpr Engine kEngine = Engine::kApbf;
    using Filter = filter::Apbf;
    static constexpr auto kSize = &sizing::size_apbf;

    static auto params(const sizing::ApbfGeometry& g, const FilterSetup& setup) {
        return filter::ApbfParams::make({.k = g.k, .l = g.l, .m = g.m, .policy = setup.policy});
    }
    static Result<sizing::ApbfGeometry> given(const GivenGeometry& g, Nanoseconds /*window*/) {
        return sizing::ApbfGeometry{g.k, g.l, g.segment_bits};
    }
    static std::string text(const sizing::ApbfGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + ", " + to_string(g.m) +
               " bits a slice";
    }
};

template <>
struct Descriptor<sizing::TlbfGeometry> {
    static constexpr Engine kEngine = Engine::kTlbf;
    using Filter = filter::Tlbf;
    static constexpr auto kSize = &sizing::size_tlbf;

    static auto params(const sizing::TlbfGeometry& g, const FilterSetup& setup) {
        return filter::TlbfParams::make({.k = g.k,
                                         .l = g.l,
                                         .window = setup.window,
                                         .capacity = g.capacity,
                                         .arena_bytes = g.arena_bytes,
                                         .max_slices = g.max_slices,
                                         .policy = setup.policy});
    }
    static std::string text(const sizing::TlbfGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + ", up to " +
               to_string(g.max_slices) + " slices in " + format_size(g.arena_bytes);
    }
};

template <>
struct Descriptor<sizing::BtbfGeometry> {
    static constexpr Engine kEngine = Engine::kBtbf;
    using Filter = filter::TimedBtbf;
    static constexpr auto kSize = &sizing::size_btbf;

    static auto params(const sizing::BtbfGeometry& g, const FilterSetup& setup) {
        return filter::TimedBtbfParams::make(
            {.l = g.l, .k = g.k, .m = g.m, .bpt = g.bits, .policy = setup.policy});
    }
    static std::string text(const sizing::BtbfGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + ", " + to_string(g.m) +
               " timers of " + to_string(g.bits) + " bits";
    }
};

template <>
struct Descriptor<sizing::ShbfWindowGeometry> {
    static constexpr Engine kEngine = Engine::kShbf;
    using Filter = filter::ShbfWindow;
    static constexpr auto kSize = &sizing::size_shbf_window;

    static auto params(const sizing::ShbfWindowGeometry& g, const FilterSetup& setup) {
        return filter::ShbfWindowParams::make(
            {.k = g.k, .l = g.l, .m = g.m, .b = g.b, .policy = setup.policy});
    }
    static std::string text(const sizing::ShbfWindowGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + " b=" + to_string(g.b) + ", " +
               to_string(g.m) + " bits a segment";
    }
};

template <>
struct Descriptor<sizing::ShbfXWindowGeometry> {
    static constexpr Engine kEngine = Engine::kShbfX;
    using Filter = filter::ShbfXWindow;
    static constexpr auto kSize = &sizing::size_shbf_x_window;

    static auto params(const sizing::ShbfXWindowGeometry& g, const FilterSetup& setup) {
        return filter::ShbfXWindowParams::make(
            {.k = g.k, .l = g.l, .m = g.m, .c = g.c, .policy = setup.policy});
    }
    static std::string text(const sizing::ShbfXWindowGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + " c=" + to_string(g.c) + ", " +
               to_string(g.m) + " bits a segment";
    }
};

template <>
struct Descriptor<sizing::ExactGeometry> {
    static constexpr Engine kEngine = Engine::kExact;
    using Filter = filter::Exact;
    static constexpr auto kSize = &sizing::size_exact;

    static auto params(const sizing::ExactGeometry& g, const FilterSetup& setup) {
        return filter::ExactParams::make(
            {.entries = g.entries, .window = setup.window, .policy = setup.policy});
    }
    static std::string text(const sizing::ExactGeometry& g) {
        return to_string(g.entries) + " entries";
    }
};

// True if the engine's sizing depends on `first`, the packets of a flow that pass.
template <typename G>
inline constexpr bool kCountsPackets =
    std::is_invocable_v<decltype(Descriptor<G>::kSize), const sizing::Targets&, unsigned>;

template <typename D, typename G>
using ParamsOf = decltype(D::params(std::declval<const G&>(), std::declval<const FilterSetup&>()));

// Check that the row of an engine agrees with its types.
template <std::size_t I>
consteval bool row_is_true() {
    using G = std::variant_alternative_t<I, Geometry>;
    using D = Descriptor<G>;
    constexpr EngineInfo kInfo = info_of(D::kEngine);
    return static_cast<std::size_t>(D::kEngine) == I + 1 &&
           std::is_same_v<typename D::Filter, std::variant_alternative_t<I, AnyFilter>> &&
           kInfo.estimates_chance == filter::ConfidenceFilter<typename D::Filter> &&
           kInfo.counts_packets == kCountsPackets<G> &&
           kInfo.counts_packets == (kInfo.least_first > 1) && kInfo.geometry.any() == requires {
        &D::given;
    }
    &&kInfo.has_kernels == requires(typename ParamsOf<D, G>::value_type params) {
        params.isa();
    }
    &&filter::RestorableFilter<typename D::Filter, typename ParamsOf<D, G>::value_type>&& kInfo
            .by_generation == requires(const typename D::Filter f) {
        f.load();
    };
}
static_assert(std::variant_size_v<Geometry> + 1 == kEngines);
static_assert([]<std::size_t... I>(std::index_sequence<I...>) {
    return (row_is_true<I>() && ...);
}(std::make_index_sequence<std::variant_size_v<Geometry>>{}));

// Call function(Descriptor, geometry) for the type of a geometry.
template <typename Function>
auto with_descriptor(const Geometry& geometry, Function function) {
    return std::visit([&]<typename G>(const G& g) { return function(Descriptor<G>{}, g); },
                      geometry);
}

// Call function(Descriptor) for an engine, which must not be "auto".
template <typename Function, std::size_t I = 0>
auto with_descriptor(Engine engine, Function function) {
    using D = Descriptor<std::variant_alternative_t<I, Geometry>>;
    if constexpr (I + 1 < std::variant_size_v<Geometry>) {
        if (engine != D::kEngine) {
            return with_descriptor<Function, I + 1>(engine, function);
        }
    }
    UNECHO_ASSERT(engine == D::kEngine);
    return function(D{});
}

}  // namespace unecho::engines
