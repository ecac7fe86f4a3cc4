// SPDX-License-Identifier: BSD-3-Clause
// The engines of lib/filters as the benchmarks make them. An engine is a struct with:
//
//   name()           its part of a row's name; includes the kernel if it has several
//   Filter, Params   the filter's class, constructible from (params, memory), and its checked spec
//   plan(keys, p)    parameters for a window of so many keys at a false-positive rate of p
//   unavailable()    optional: why this machine cannot run it, or empty
//   kSlow            optional: a key takes many cache lines, so a large table takes long to fill
//   and
//                    is given half of the size
//   kKernel          optional: one kernel of several. It gets fewer rows, and none if the machine
//                    would choose it anyway; see wanted()
//
// To get rows it is listed in Engines, at the end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "base/result.h"
#include "common/mapping.h"
#include "common/row.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/apbbf.h"
#include "filters/sizing/window/apbf.h"
#include "filters/sizing/window/btbf.h"
#include "filters/sizing/window/exact.h"
#include "filters/sizing/window/fingerprint.h"
#include "filters/sizing/window/line.h"
#include "filters/sizing/window/shbf_window.h"
#include "filters/sizing/window/tlbf.h"
#include "filters/window/exact.h"
#include "filters/window/fingerprint.h"
#include "filters/window/line.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "filters/window/segmented/btbf.h"
#include "filters/window/segmented/shbf_window.h"
#include "filters/window/segmented/tlbf.h"

namespace unecho::bench {

// Parameters and everything that a row states, except the bytes, which the filter knows.
template <typename Params>
struct Planned {
    Params params;
    Facts facts;
};

inline constexpr double kKeysPerSecond = static_cast<double>(kSecond) / kKeyTime;

[[nodiscard]] inline Nanoseconds window_of(std::uint64_t keys) {
    return keys * kKeyTime;
}

[[nodiscard]] inline sizing::Targets targets_of(std::uint64_t keys, double false_positives) {
    return {window_of(keys), kKeysPerSecond, false_positives};
}

template <typename... Values>
std::string text(const char* format, Values... values) {
    char out[96];
    std::snprintf(out, sizeof out, format, values...);
    return out;
}

// Return the facts for a filter that is in its steady state after so many generations.
inline Facts facts_of(const sizing::Prediction& prediction, unsigned generations,
                      std::string geometry) {
    Facts facts;
    facts.geometry = std::move(geometry);
    facts.window_keys = prediction.window_keys;
    facts.generation_keys = prediction.generation_keys;
    facts.fill_keys = generations * prediction.generation_keys;
    facts.predicted = prediction.false_drop;
    return facts;
}

// Return the plan from a sized geometry, its prediction and its spec.
template <typename Params, typename Geometry, typename SpecOf>
Result<Planned<Params>> planned(const Result<Geometry>& geometry, std::uint64_t keys,
                                unsigned generations, std::string name, SpecOf spec_of) {
    if (!geometry) {
        return tl::unexpected(geometry.error());
    }
    auto params = Params::make(spec_of(*geometry));
    if (!params) {
        return tl::unexpected(params.error());
    }
    const sizing::Prediction prediction =
        sizing::predict(*geometry, window_of(keys), kKeysPerSecond);
    return Planned<Params>{*params, facts_of(prediction, generations, std::move(name))};
}

struct ApbfEngine {
    static constexpr bool kSlow = true;
    static std::string name() { return "apbf"; }
    using Filter = filter::Apbf;
    using Params = filter::ApbfParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        const auto g = sizing::size_apbf(targets_of(keys, false_positives));
        const auto [k, l, m] = g.value_or(sizing::ApbfGeometry{});
        return planned<Params>(g, keys, k + l + 1, text("k=%u l=%u", k, l), [](const auto& found) {
            return filter::ApbfSpec{.k = found.k, .l = found.l, .m = found.m};
        });
    }
};

[[nodiscard]] inline Result<Planned<filter::ApbbfParams>> plan_apbbf(
    const Result<sizing::ApbbfGeometry>& g, std::uint64_t keys,
    filter::Isa isa = filter::best_isa()) {
    const auto [k, l, B, b, blocks] = g.value_or(sizing::ApbbfGeometry{});
    return planned<filter::ApbbfParams>(g, keys, k + l + 1, text("k=%u l=%u B=%u b=%u", k, l, B, b),
                                        [&](const auto& found) {
                                            return filter::ApbbfSpec{.k = found.k,
                                                                     .l = found.l,
                                                                     .B = found.B,
                                                                     .b = found.b,
                                                                     .blocks = found.blocks,
                                                                     .isa = isa};
                                        });
}

struct ApbbfEngine {
    static std::string name() { return "apbbf"; }
    using Filter = filter::Apbbf;
    using Params = filter::ApbbfParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return plan_apbbf(sizing::size_apbbf(targets_of(keys, false_positives)), keys);
    }
};

// The geometry (2, 5, 512, 8) of the paper's Table 4 at its own load, for any wanted rate.
struct Apbbf25Engine {
    static std::string name() { return "apbbf-2-5-512-8"; }
    using Filter = filter::Apbbf;
    using Params = filter::ApbbfParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double /*false_positives*/) {
        return plan_on(filter::best_isa(), keys);
    }
    static Result<Planned<Params>> plan_on(filter::Isa isa, std::uint64_t keys) {
        sizing::ApbbfGeometry geometry{.k = 2, .l = 5, .B = 512, .b = 8, .blocks = 1 << 16};
        const auto capacity = sizing::predict(geometry, window_of(keys), std::nullopt).window_keys;
        geometry.blocks = std::max<std::uint64_t>(
            1, keys * geometry.blocks / std::max<std::uint64_t>(1, capacity));
        return plan_apbbf(geometry, keys, isa);
    }
};

template <filter::Isa isa>
struct Apbbf25KernelEngine {
    static constexpr bool kKernel = true;
    static std::string name() {
        return Apbbf25Engine::name() + "-" + std::string(filter::name_of(isa));
    }
    static bool wanted() { return isa != filter::best_isa(); }
    using Filter = filter::Apbbf;
    using Params = filter::ApbbfParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double /*false_positives*/) {
        return Apbbf25Engine::plan_on(isa, keys);
    }
};

struct ShbfWindowEngine {
    static constexpr bool kSlow = true;
    static std::string name() { return "shbf"; }
    using Filter = filter::ShbfWindow;
    using Params = filter::ShbfWindowParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        const auto g = sizing::size_shbf_window(targets_of(keys, false_positives));
        const auto [k, l, m, b] = g.value_or(sizing::ShbfWindowGeometry{});
        return planned<Params>(g, keys, k + l + 1, text("k=%u l=%u b=%u", k, l, b),
                               [](const auto& found) {
                                   return filter::ShbfWindowSpec{
                                       .k = found.k, .l = found.l, .m = found.m, .b = found.b};
                               });
    }
};

struct TlbfEngine {
    static constexpr bool kSlow = true;
    static std::string name() { return "tlbf"; }
    using Filter = filter::Tlbf;
    using Params = filter::TlbfParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        const auto g = sizing::size_tlbf(targets_of(keys, false_positives));
        const auto [k, l, max_slices, capacity, bytes] = g.value_or(sizing::TlbfGeometry{});
        auto out =
            planned<Params>(g, keys, k + l + 1, text("k=%u l=%u", k, l), [&](const auto& found) {
                return filter::TlbfSpec{.k = found.k,
                                        .l = found.l,
                                        .window = window_of(keys),
                                        .capacity = found.capacity,
                                        .arena_bytes = found.arena_bytes,
                                        .max_slices = found.max_slices};
            });
        if (out) {
            out->facts.generation_keys = 0;  // it shifts at times of its own
        }
        return out;
    }
};

struct BtbfEngine {
    static constexpr bool kSlow = true;
    static std::string name() { return "btbf"; }
    using Filter = filter::TimedBtbf;
    using Params = filter::TimedBtbfParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        const auto g = sizing::size_btbf(targets_of(keys, false_positives));
        const auto [k, l, m, bits] = g.value_or(sizing::BtbfGeometry{});
        return planned<Params>(g, keys, l + 1, text("k=%u l=%u bpt=%u", k, l, bits),
                               [](const auto& found) {
                                   return filter::TimedBtbfSpec{
                                       .l = found.l, .k = found.k, .m = found.m, .bpt = found.bits};
                               });
    }
};

struct ExactEngine {
    static std::string name() { return "exact"; }
    using Filter = filter::Exact;
    using Params = filter::ExactParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        const auto g = sizing::size_exact(targets_of(keys, false_positives));
        auto out = planned<Params>(g, keys, 2, "", [&](const auto& found) {
            return filter::ExactSpec{.entries = found.entries, .window = window_of(keys)};
        });
        if (out) {
            out->facts.generation_keys = 0;
        }
        return out;
    }
};

// M lines a key, with the kernel that this machine chooses.
template <unsigned M>
struct LineEngine {
    static std::string name() { return "line-m" + std::to_string(M); }
    using Filter = filter::LineFilter;
    using Params = filter::LineParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return plan_on(filter::best_isa(), keys, false_positives);
    }
    static Result<Planned<Params>> plan_on(filter::Isa isa, std::uint64_t keys,
                                           double false_positives) {
        const auto g = sizing::size_line_of(targets_of(keys, false_positives), M);
        const auto [m, k, l, b, phases, lines] = g.value_or(sizing::LineGeometry{});
        return planned<Params>(
            g, keys, (k + l + 1) * phases,
            text("%s k=%u l=%u b=%u S=%u", filter::name_of(isa).data(), k, l, b, phases),
            [&](const auto& found) {
                return filter::LineSpec{.M = M,
                                        .k = found.k,
                                        .b = found.b,
                                        .phases = found.phases,
                                        .lines = found.lines,
                                        .isa = isa};
            });
    }
};

template <unsigned M, filter::Isa isa>
struct LineKernelEngine {
    static constexpr bool kKernel = true;
    static constexpr bool kSlow = true;
    static bool wanted() { return isa != filter::best_isa(); }
    static std::string name() {
        return LineEngine<M>::name() + "-" + std::string(filter::name_of(isa));
    }
    using Filter = filter::LineFilter;
    using Params = filter::LineParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return LineEngine<M>::plan_on(isa, keys, false_positives);
    }
};

struct FingerprintEngine {
    static std::string name() { return "fingerprint"; }
    using Filter = filter::FingerprintFilter;
    using Params = filter::FingerprintParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return plan_on(filter::best_isa(), keys, false_positives);
    }
    static Result<Planned<Params>> plan_on(filter::Isa isa, std::uint64_t keys,
                                           double false_positives) {
        const auto g = sizing::size_fingerprint(targets_of(keys, false_positives));
        const auto [bits, l, lines] = g.value_or(sizing::FingerprintGeometry{});
        return planned<Params>(g, keys, l + 2,
                               text("%s bits=%u l=%u", filter::name_of(isa).data(), bits, l),
                               [&](const auto& found) {
                                   return filter::FingerprintSpec{
                                       .bits = found.bits, .lines = found.lines, .isa = isa};
                               });
    }
};

template <filter::Isa isa>
struct FingerprintKernelEngine {
    static constexpr bool kKernel = true;
    static constexpr bool kSlow = true;
    static bool wanted() { return isa != filter::best_isa(); }
    static std::string name() {
        return FingerprintEngine::name() + "-" + std::string(filter::name_of(isa));
    }
    using Filter = filter::FingerprintFilter;
    using Params = filter::FingerprintParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return FingerprintEngine::plan_on(isa, keys, false_positives);
    }
    static std::string unavailable() {
        const std::string_view lacks = filter::lacking(isa);
        return lacks.empty() ? "" : "the CPU has no " + std::string(lacks);
    }
};

// Every instruction set with every M.
template <std::size_t... isa, std::size_t... m>
auto kernel_engines(std::index_sequence<isa...> /*isas*/, std::index_sequence<m...> /*lines*/) {
    const auto of_lines = []<unsigned M>(std::integral_constant<unsigned, M> /*M*/) {
        return std::tuple<LineKernelEngine<M, filter::kEveryIsa[isa]>...>{};
    };
    return std::tuple_cat(of_lines(std::integral_constant<unsigned, m + 1>{})...,
                          std::tuple<Apbbf25KernelEngine<filter::kEveryIsa[isa]>...>{},
                          std::tuple<FingerprintKernelEngine<filter::kEveryIsa[isa]>...>{});
}
using KernelEngines = decltype(kernel_engines(std::make_index_sequence<filter::kIsas.size()>{},
                                              std::make_index_sequence<filter::kMaxLinesOfKey>{}));

// All engines; new ones are added here.
using Engines =
    decltype(std::tuple_cat(std::tuple<LineEngine<1>, LineEngine<2>, LineEngine<3>, LineEngine<4>,
                                       FingerprintEngine, ApbbfEngine, Apbbf25Engine, ApbfEngine,
                                       ShbfWindowEngine, TlbfEngine, BtbfEngine, ExactEngine>{},
                            KernelEngines{}));

// Return why this machine cannot run it, or an empty string.
template <typename Engine>
std::string unavailable() {
    if constexpr (requires { Engine::unavailable(); }) {
        return Engine::unavailable();
    } else {
        return "";
    }
}

// Plan for as many keys as need so much memory or slightly less; the two are nearly proportional.
template <typename Engine>
Result<Planned<typename Engine::Params>> plan_of_bytes(std::uint64_t bytes,
                                                       double false_positives) {
    static constexpr int kSteps = 6;
    static constexpr double kClose = 0.97;
    const auto wanted = static_cast<double>(bytes);
    double keys = wanted * 8 / 64;
    auto plan = Engine::plan(static_cast<std::uint64_t>(keys), false_positives);
    for (int step = 0; step < kSteps && plan; ++step) {
        const double ratio = wanted / static_cast<double>(Engine::Filter::bytes(plan->params));
        if (ratio >= 1 && ratio * kClose <= 1) {
            break;
        }
        keys *= ratio * 0.99;
        plan = Engine::plan(static_cast<std::uint64_t>(std::max(keys, 1.0)), false_positives);
    }
    return plan;
}

// Make the subject on such pages, or on plain ones if `else_plain` and none are left.
template <typename Engine>
Result<std::unique_ptr<Subject>> make_subject(const Result<Planned<typename Engine::Params>>& plan,
                                              Pages pages, bool else_plain) {
    if (!plan) {
        return tl::unexpected(plan.error());
    }
    if (const std::string why = unavailable<Engine>(); !why.empty()) {
        return fail(Errc::kUnsupported, why);
    }
    Facts facts = plan->facts;
    facts.bytes = Engine::Filter::bytes(plan->params);
    auto memory = Mapping::make(facts.bytes, pages);
    if (!memory && else_plain) {
        memory = Mapping::make(facts.bytes, Pages::kPlain);
    }
    if (!memory) {
        return tl::unexpected(memory.error());
    }
    return std::make_unique<MappedSubjectOf<typename Engine::Filter>>(facts, std::move(*memory),
                                                                      plan->params);
}

// Call function.template operator()<Engine>() for each engine.
template <typename Function, typename... Each>
void for_each_engine(std::tuple<Each...>* /*engines*/, Function function) {
    (function.template operator()<Each>(), ...);
}

}  // namespace unecho::bench
