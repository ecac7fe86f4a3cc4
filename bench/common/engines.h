// SPDX-License-Identifier: BSD-3-Clause
// The engines of lib/filters as the benchmarks make them. Each engine of the table
// (dedup/engines/engine.h) is a CatalogueEngine; others are a struct with:
//
//   name()           its part of a row's name; includes the kernel if it has several
//   Filter, Params   the filter's class, constructible from (params, memory), and its checked spec
//   plan(keys, p)    parameters for a window of so many keys at a false-positive rate of p
//   unavailable()    optional: why this machine cannot run it, or empty
//   is_slow()        optional: whether a large table is given half of the size
//   kKernel          optional: one kernel of several. It gets fewer rows, and none if the machine
//                    would choose it anyway; see wanted()
//
// To get rows such a struct is listed in Engines, at the end.
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
#include "dedup/engines/catalogue.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/apbbf.h"
#include "filters/sizing/window/line.h"
#include "filters/window/fingerprint.h"
#include "filters/window/line.h"
#include "filters/window/segmented/apbbf.h"

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

// An engine as its row and descriptor in dedup/engines plan it, with the kernel that this machine
// chooses.
template <engines::Engine kEngine>
struct CatalogueEngine {
    using Descriptor = engines::Descriptor<kEngine>;
    using Filter = typename Descriptor::Filter;
    using Params = engines::ParamsOf<Filter>;

    static std::string name() { return std::string(engines::info_of(kEngine).name); }
    // A key takes many cache lines, so a large table takes long to fill.
    static bool is_slow() { return engines::info_of(kEngine).cost.line[0] >= 4 && !has_kernels(); }

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return plan_on(filter::best_isa(), keys, false_positives);
    }
    static Result<Planned<Params>> plan_on(filter::Isa isa, std::uint64_t keys,
                                           double false_positives) {
        const auto geometry = Descriptor::kSize(targets_of(keys, false_positives));
        if (!geometry) {
            return tl::unexpected(geometry.error());
        }
        const auto params =
            Descriptor::params(*geometry, engines::FilterSetup{.geometry = *geometry,
                                                               .window = window_of(keys),
                                                               .policy = filter::EchoPolicy::kFixed,
                                                               .isa = isa});
        if (!params) {
            return tl::unexpected(params.error());
        }
        const sizing::Prediction found =
            sizing::predict(*geometry, window_of(keys), kKeysPerSecond);
        const Nanoseconds remembered = window_of(keys) + found.slack;
        const auto generations =
            static_cast<unsigned>((remembered + found.generation - 1) / found.generation + 1);
        Planned<Params> out{*params, facts_of(found, generations, Descriptor::text(*geometry))};
        if (!engines::info_of(kEngine).by_generation) {
            out.facts.generation_keys = 0;
        }
        return out;
    }

  private:
    static bool has_kernels() { return engines::info_of(kEngine).has_kernels; }
};

// Engines that a digest is enough for, in the order of the table. "line" has a row for each M.
constexpr bool is_plain(const engines::EngineInfo& info) {
    return !info.counts_packets && info.engine != engines::Engine::kLine;
}
template <std::size_t... I>
auto plain_engines(std::index_sequence<I...>)
    -> std::tuple<CatalogueEngine<engines::kEnginesThat<is_plain>[I]>...>;
using PlainEngines =
    decltype(plain_engines(std::make_index_sequence<engines::kEnginesThat<is_plain>.size()>{}));

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
    static bool is_slow() { return true; }
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

template <filter::Isa isa>
struct FingerprintKernelEngine {
    static constexpr bool kKernel = true;
    static bool is_slow() { return true; }
    static bool wanted() { return isa != filter::best_isa(); }
    static std::string name() {
        return CatalogueEngine<engines::Engine::kFingerprint>::name() + "-" +
               std::string(filter::name_of(isa));
    }
    using Filter = filter::FingerprintFilter;
    using Params = filter::FingerprintParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return CatalogueEngine<engines::Engine::kFingerprint>::plan_on(isa, keys, false_positives);
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

// All engines: those of the table, and geometries and kernels to compare.
using Engines = decltype(std::tuple_cat(
    std::tuple<LineEngine<1>, LineEngine<2>, LineEngine<3>, LineEngine<4>, Apbbf25Engine>{},
    PlainEngines{}, KernelEngines{}));

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
