// SPDX-License-Identifier: BSD-3-Clause
#include "control/engines.h"

#include <cmath>
#include <utility>

#include "base/assert.h"

namespace unecho::control {
namespace {

using std::to_string;

// Of a new packet, and of each cache line it touches where that is: in ns, measured by
// bench/micro on the machine of bench/results.
struct Cost {
    double packet;
    std::array<double, 3> line;  // L2, L3, memory
};

// A filter of segments states a chance that lies up to 4 % above that of its fill. The chance of a
// line is that of its own load, which varies: with a tenth, 0.1 to 2 % of the echoes are in doubt
// at the planned rate, just before a tick (tests/unit/sizing/line_doubts_test.cpp).
constexpr double kSegmentMargin = 1.05;
constexpr double kLineMargin = 10;

// For each geometry: its filter's type, parameters and function table, its name, its letters, how
// it is found, and whether it ages by generations.
template <typename G>
struct Engine;

template <>
struct Engine<sizing::LineGeometry> {
    using Filter = filter::LineFilter;
    static constexpr auto kName = "line";
    static constexpr auto kOps = &pipeline::kLineOps;
    static constexpr auto kSize = &sizing::size_line;
    static constexpr bool kByGeneration = true;
    static constexpr Cost kCost{1.5, {2, 2.2, 6}};
    static constexpr double kJudgeMargin = kLineMargin;

    static auto params(const sizing::LineGeometry& g, const FilterSetup& setup) {
        return filter::LineParams::make({.M = g.M,
                                         .k = g.k,
                                         .b = g.b,
                                         .phases = g.phases,
                                         .lines = g.lines,
                                         .policy = setup.policy,
                                         .isa = setup.isa});
    }
    static std::string text(const sizing::LineGeometry& g) {
        return "M=" + to_string(g.M) + " k=" + to_string(g.k) + " l=" + to_string(g.l) +
               " b=" + to_string(g.b) + ", " + to_string(g.lines) + " lines in " +
               to_string(g.phases) + (g.phases == 1 ? " phase" : " phases");
    }
};

template <>
struct Engine<sizing::ApbbfGeometry> {
    using Filter = filter::Apbbf;
    static constexpr auto kName = "apbbf";
    static constexpr auto kOps = &pipeline::kApbbfOps;
    static constexpr auto kSize = &sizing::size_apbbf;
    static constexpr bool kByGeneration = true;
    static constexpr Cost kCost{2, {1.5, 2, 6}};
    static constexpr double kJudgeMargin = kSegmentMargin;

    static auto params(const sizing::ApbbfGeometry& g, const FilterSetup& setup) {
        return filter::ApbbfParams::make({.k = g.k,
                                          .l = g.l,
                                          .B = g.B,
                                          .b = g.b,
                                          .blocks = g.blocks,
                                          .policy = setup.policy,
                                          .isa = setup.isa});
    }
    static std::string text(const sizing::ApbbfGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + " B=" + to_string(g.B) +
               " b=" + to_string(g.b) + ", " + to_string(g.blocks) + " blocks a segment";
    }
};

template <>
struct Engine<sizing::ApbfGeometry> {
    using Filter = filter::Apbf;
    static constexpr auto kName = "apbf";
    static constexpr auto kOps = &pipeline::kApbfOps;
    static constexpr auto kSize = &sizing::size_apbf;
    static constexpr bool kByGeneration = true;
    static constexpr Cost kCost{6, {4, 5, 14}};
    static constexpr double kJudgeMargin = kSegmentMargin;

    static auto params(const sizing::ApbfGeometry& g, const FilterSetup& setup) {
        return filter::ApbfParams::make({.k = g.k, .l = g.l, .m = g.m, .policy = setup.policy});
    }
    static std::string text(const sizing::ApbfGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + ", " + to_string(g.m) +
               " bits a slice";
    }
};

template <>
struct Engine<sizing::TlbfGeometry> {
    using Filter = filter::Tlbf;
    static constexpr auto kName = "tlbf";
    static constexpr auto kOps = &pipeline::kTlbfOps;
    static constexpr auto kSize = &sizing::size_tlbf;
    static constexpr bool kByGeneration = false;
    static constexpr Cost kCost{10, {6, 7, 16}};
    static constexpr double kJudgeMargin = 1;

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
struct Engine<sizing::BtbfGeometry> {
    using Filter = filter::TimedBtbf;
    static constexpr auto kName = "btbf";
    static constexpr auto kOps = &pipeline::kBtbfOps;
    static constexpr auto kSize = &sizing::size_btbf;
    static constexpr bool kByGeneration = true;
    static constexpr Cost kCost{10, {4, 5, 14}};
    static constexpr double kJudgeMargin = 1;

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
struct Engine<sizing::ApshbfGeometry> {
    using Filter = filter::Apshbf;
    static constexpr auto kName = "shbf";
    static constexpr auto kOps = &pipeline::kApshbfOps;
    static constexpr auto kSize = &sizing::size_apshbf;
    static constexpr bool kByGeneration = true;
    static constexpr Cost kCost{6, {4, 5, 14}};
    static constexpr double kJudgeMargin = kSegmentMargin;

    static auto params(const sizing::ApshbfGeometry& g, const FilterSetup& setup) {
        return filter::ApshbfParams::make(
            {.k = g.k, .l = g.l, .m = g.m, .b = g.b, .policy = setup.policy});
    }
    static std::string text(const sizing::ApshbfGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + " b=" + to_string(g.b) + ", " +
               to_string(g.m) + " bits a segment";
    }
};

template <>
struct Engine<sizing::ShbfXGeometry> {
    using Filter = filter::ShbfXWindow;
    static constexpr auto kName = "shbf-x";
    static constexpr auto kOps = &pipeline::kShbfXOps;
    static constexpr auto kSize = &sizing::size_shbf_x_window;
    static constexpr bool kByGeneration = true;
    static constexpr Cost kCost{10, {5, 6, 14}};
    static constexpr double kJudgeMargin = 1;

    static auto params(const sizing::ShbfXGeometry& g, const FilterSetup& setup) {
        return filter::ShbfXWindowParams::make(
            {.k = g.k, .l = g.l, .m = g.m, .c = g.c, .policy = setup.policy});
    }
    static std::string text(const sizing::ShbfXGeometry& g) {
        return "k=" + to_string(g.k) + " l=" + to_string(g.l) + " c=" + to_string(g.c) + ", " +
               to_string(g.m) + " bits a segment";
    }
};

template <>
struct Engine<sizing::ExactGeometry> {
    using Filter = filter::Exact;
    static constexpr auto kName = "exact";
    static constexpr auto kOps = &pipeline::kExactOps;
    static constexpr auto kSize = &sizing::size_exact;
    static constexpr bool kByGeneration = false;
    static constexpr Cost kCost{6, {2.6, 5, 13}};
    static constexpr double kJudgeMargin = 1;

    static auto params(const sizing::ExactGeometry& g, const FilterSetup& setup) {
        return filter::ExactParams::make(
            {.entries = g.entries, .window = setup.window, .policy = setup.policy});
    }
    static std::string text(const sizing::ExactGeometry& g) {
        return to_string(g.entries) + " entries";
    }
};

// Calls with the Engine of a geometry's type, and the geometry.
template <typename Function>
auto with_engine(const Geometry& geometry, Function function) {
    return std::visit([&]<typename G>(const G& g) { return function(Engine<G>{}, g); }, geometry);
}

// Depends on the packets of a flow that pass.
template <typename G>
constexpr bool kCountsPackets =
    std::is_invocable_v<decltype(Engine<G>::kSize), const sizing::Targets&, unsigned>;

template <typename G>
Result<G> sized_for(const sizing::Targets& targets, [[maybe_unused]] unsigned first) {
    if constexpr (kCountsPackets<G>) {
        return Engine<G>::kSize(targets, first);
    } else {
        return Engine<G>::kSize(targets);
    }
}

template <typename G>
Result<Geometry> sized_as(const sizing::Targets& targets, unsigned first) {
    const Result<G> sized = sized_for<G>(targets, first);
    if (!sized) {
        return tl::unexpected(sized.error());
    }
    return Geometry(*sized);
}

// In the order of the variant, which is that of the configuration's names behind "auto".
template <std::size_t... I>
Result<Geometry> size_number(std::size_t number, const sizing::Targets& targets, unsigned first,
                             std::index_sequence<I...> /*alternatives*/) {
    using Sizer = Result<Geometry> (*)(const sizing::Targets&, unsigned);
    static constexpr std::array<Sizer, sizeof...(I)> kSizers{
        &sized_as<std::variant_alternative_t<I, Geometry>>...};
    static_assert(kSizers.size() + 1 == config::kEngineNames.size());
    return kSizers.at(number)(targets, first);
}

// The alternative that an engine is.
std::size_t number_of(config::Engine engine) {
    UNECHO_ASSERT(engine != config::Engine::kAuto);
    return static_cast<std::size_t>(engine) - 1;
}

template <std::size_t... I>
bool number_counts(std::size_t number, std::index_sequence<I...> /*alternatives*/) {
    static constexpr std::array<bool, sizeof...(I)> kCounts{
        kCountsPackets<std::variant_alternative_t<I, Geometry>>...};
    return kCounts.at(number);
}

template <std::size_t... I>
double margin_number(std::size_t number, std::index_sequence<I...> /*alternatives*/) {
    static constexpr std::array<double, sizeof...(I)> kMargins{
        Engine<std::variant_alternative_t<I, Geometry>>::kJudgeMargin...};
    return kMargins.at(number);
}

using Alternatives = std::make_index_sequence<std::variant_size_v<Geometry>>;

}  // namespace

Result<Geometry> size(config::Engine engine, const sizing::Targets& targets, unsigned first) {
    return size_number(number_of(engine), targets, first, Alternatives{});
}

bool counts_packets(config::Engine engine) {
    return number_counts(number_of(engine), Alternatives{});
}

unsigned most_keys_per_packet(config::Engine engine, filter::EchoPolicy policy, unsigned first) {
    const bool renews = policy == filter::EchoPolicy::kRefresh;
    const bool counts = engine != config::Engine::kAuto && counts_packets(engine);
    return renews && !counts ? first : 1;
}

sizing::Prediction predict(const Geometry& geometry, Nanoseconds window,
                           std::optional<double> keys_per_second) {
    return std::visit([&](const auto& g) { return sizing::predict(g, window, keys_per_second); },
                      geometry);
}

bool can_judge(const Geometry& geometry) {
    return with_engine(geometry,
                       [](auto engine, const auto&) { return engine.kOps->chance != nullptr; });
}

double judge_margin(config::Engine engine) {
    return margin_number(number_of(engine), Alternatives{});
}

double packet_ns(const Geometry& geometry, const sizing::Prediction& prediction,
                 std::uint64_t bytes) {
    // Of the cache of one core, and of all of them together; less than a machine has, as the
    // packets need some.
    constexpr std::uint64_t kL2 = std::uint64_t{3} << 18;
    constexpr std::uint64_t kL3 = std::uint64_t{16} << 20;
    const std::size_t place = bytes <= kL2 ? 0 : bytes <= kL3 ? 1 : 2;
    return with_engine(geometry, [&](auto engine, const auto&) {
        return engine.kCost.packet + prediction.lines_per_packet * engine.kCost.line.at(place);
    });
}

const char* engine_name(const Geometry& geometry) {
    return with_engine(geometry, [](auto engine, const auto&) { return engine.kName; });
}

std::string geometry_text(const Geometry& geometry) {
    return with_engine(geometry, [](auto engine, const auto& g) { return engine.text(g); });
}

bool ages_by_generation(const Geometry& geometry) {
    return with_engine(geometry, [](auto engine, const auto&) { return engine.kByGeneration; });
}

filter::AgeingSpec ageing_of(const FilterSetup& setup, Nanoseconds length,
                             std::optional<std::uint64_t> load) {
    filter::AgeingSpec out;
    out.window = setup.window;
    out.length = length;
    with_engine(setup.geometry, [&]<typename E, typename G>(E engine, const G& g) {
        if constexpr (E::kByGeneration) {
            out.through = g.l;
            if constexpr (requires { g.phases; }) {
                out.through *= g.phases;
            }
            const auto params = engine.params(g, setup);
            UNECHO_ASSERT(params);
            if (load) {
                out.load = *load;
                if constexpr (requires { params->matches(); }) {
                    out.load = params->matches().changes_of(*load);
                }
            }
        }
    });
    return out;
}

std::optional<config::OnFull> on_full_with(std::optional<config::OnFull> asked,
                                           const Geometry& geometry) {
    const auto engine = static_cast<config::Engine>(geometry.index() + 1);
    return asked && config::on_full_of(engine).contains(*asked) ? asked : std::nullopt;
}

double least_chance(const FilterSetup& setup) {
    return with_engine(setup.geometry, [&]<typename E, typename G>(E engine, const G& g) -> double {
        const auto params = engine.params(g, setup);
        if (!params) {
            return 0;
        }
        if constexpr (requires { params->matches(); }) {
            return std::pow(params->matches().match(1), g.k);
        } else if constexpr (std::is_same_v<G, sizing::LineGeometry>) {
            return std::pow(filter::line_coverage(g.b, g.b), g.M * g.k);
        } else {
            return 0;
        }
    });
}

Result<std::uint64_t> bytes_of(const FilterSetup& setup) {
    return with_engine(setup.geometry, [&](auto engine, const auto& g) -> Result<std::uint64_t> {
        const auto params = engine.params(g, setup);
        if (!params) {
            return tl::unexpected(params.error());
        }
        return decltype(engine)::Filter::bytes(*params);
    });
}

Result<AnyFilter> make_filter(const FilterSetup& setup, std::span<std::byte> memory) {
    return with_engine(setup.geometry, [&](auto engine, const auto& g) -> Result<AnyFilter> {
        const auto params = engine.params(g, setup);
        if (!params) {
            return tl::unexpected(params.error());
        }
        return AnyFilter(typename decltype(engine)::Filter(*params, memory));
    });
}

const pipeline::EngineOps& ops_of(const AnyFilter& filter) {
    const auto ops = []<std::size_t... I>(std::size_t number, std::index_sequence<I...>) {
        static constexpr std::array kOps{Engine<std::variant_alternative_t<I, Geometry>>::kOps...};
        static_assert(
            (std::is_same_v<typename Engine<std::variant_alternative_t<I, Geometry>>::Filter,
                            std::variant_alternative_t<I, AnyFilter>> &&
             ...));
        return kOps.at(number);
    };
    return *ops(filter.index(), std::make_index_sequence<std::variant_size_v<AnyFilter>>{});
}

}  // namespace unecho::control
