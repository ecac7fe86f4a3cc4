// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/catalogue.h"

#include <cmath>

#include "base/assert.h"

namespace unecho::engines {

Result<Geometry> size(Engine engine, const sizing::Targets& targets,
                      [[maybe_unused]] unsigned first) {
    return with_descriptor(
        engine, [&]<Engine kEngine>(Descriptor<kEngine> descriptor) -> Result<Geometry> {
            const auto sized = [&] {
                if constexpr (info_of(kEngine).counts_packets) {
                    return descriptor.kSize(targets, first);
                } else {
                    return descriptor.kSize(targets);
                }
            }();
            return sized ? Result<Geometry>(*sized) : tl::unexpected(sized.error());
        });
}

Result<Geometry> geometry_of(Engine engine, const GivenGeometry& given, Nanoseconds window) {
    return with_descriptor(
        engine, [&]<Engine kEngine>(Descriptor<kEngine> descriptor) -> Result<Geometry> {
            if constexpr (info_of(kEngine).geometry.any()) {
                const auto whole = descriptor.given(given, window);
                return whole ? Result<Geometry>(*whole) : tl::unexpected(whole.error());
            } else {
                return fail(Errc::kConfig, std::string(info_of(kEngine).name) +
                                               " takes no geometry; allowed: targets");
            }
        });
}

std::string engine_name(const Geometry& geometry) {
    return std::string(info_of(engine_of(geometry)).name);
}

unsigned most_keys_per_packet(Engine engine, filter::EchoPolicy policy, unsigned first) {
    const bool renews = policy == filter::EchoPolicy::kRefresh;
    return renews && !info_of(engine).counts_packets ? first : 1;
}

sizing::Prediction predict(const Geometry& geometry, Nanoseconds window,
                           std::optional<double> keys_per_second) {
    return std::visit([&](const auto& g) { return sizing::predict(g, window, keys_per_second); },
                      geometry);
}

double packet_ns(const Geometry& geometry, const sizing::Prediction& prediction,
                 std::uint64_t bytes) {
    // The filter's part of one core's cache, and of the shared cache. Packets need the rest.
    constexpr std::uint64_t kL2 = std::uint64_t{3} << 18;
    constexpr std::uint64_t kL3 = std::uint64_t{16} << 20;
    const std::size_t place = bytes <= kL2 ? 0 : bytes <= kL3 ? 1 : 2;
    const Cost& cost = info_of(engine_of(geometry)).cost;
    return cost.packet + prediction.lines_per_packet * cost.line.at(place);
}

std::string geometry_text(const Geometry& geometry) {
    return with_descriptor(geometry,
                           [](auto descriptor, const auto& g) { return descriptor.text(g); });
}

filter::AgeingSpec ageing_of(const FilterSetup& setup, Nanoseconds length,
                             std::optional<std::uint64_t> load) {
    filter::AgeingSpec out;
    out.window = setup.window;
    out.length = length;
    with_descriptor(setup.geometry,
                    [&]<Engine kEngine>(Descriptor<kEngine> descriptor, const auto& g) {
                        if constexpr (info_of(kEngine).by_generation) {
                            out.retained_generations = g.l;
                            if constexpr (requires { g.phases; }) {
                                out.retained_generations *= g.phases;
                            }
                            const auto params = descriptor.params(g, setup);
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

std::uint64_t planned_fill(const FilterSetup& setup, std::uint64_t keys) {
    return with_descriptor(
        setup.geometry,
        [&]<Engine kEngine>(Descriptor<kEngine> descriptor, const auto& g) -> std::uint64_t {
            if constexpr (info_of(kEngine).by_generation) {
                return ageing_of(setup, 1, keys).load;
            } else {
                const auto params = descriptor.params(g, setup);
                UNECHO_ASSERT(params);
                if constexpr (requires { params->entries(); }) {
                    return params->entries();
                } else {
                    static_assert(requires { params->arena_lines(); },
                                  "the parameters of an engine that keeps times need entries()");
                    return params->arena_lines();
                }
            }
        });
}

std::optional<OnFull> on_full_with(std::optional<OnFull> asked, const Geometry& geometry) {
    return asked && info_of(engine_of(geometry)).on_full.contains(*asked) ? asked : std::nullopt;
}

double least_chance(const FilterSetup& setup) {
    return with_descriptor(
        setup.geometry,
        [&]<Engine kEngine>(Descriptor<kEngine> descriptor, const auto& g) -> double {
            const auto params = descriptor.params(g, setup);
            if (!params) {
                return 0;
            }
            if constexpr (requires { params->matches(); }) {
                return std::pow(params->matches().match(1), g.k);
            } else if constexpr (requires { descriptor.least_chance(g); }) {
                return descriptor.least_chance(g);
            } else {
                return 0;
            }
        });
}

Result<std::uint64_t> bytes_of(const FilterSetup& setup) {
    return with_descriptor(setup.geometry,
                           [&](auto descriptor, const auto& g) -> Result<std::uint64_t> {
                               const auto params = descriptor.params(g, setup);
                               UNECHO_TRY(params);
                               return decltype(descriptor)::Filter::bytes(*params);
                           });
}

Result<AnyFilter> make_filter(const FilterSetup& setup, std::span<std::byte> memory,
                              filter::Contents contents) {
    return with_descriptor(setup.geometry,
                           [&]<typename D>(D descriptor, const auto& g) -> Result<AnyFilter> {
                               const auto params = descriptor.params(g, setup);
                               UNECHO_TRY(params);
                               return AnyFilter(typename D::Filter(*params, memory, contents));
                           });
}

bool is_consistent(const FilterSetup& setup, std::span<std::byte> memory) {
    return with_descriptor(setup.geometry, [&]<typename D>(D descriptor, const auto& g) {
        const auto params = descriptor.params(g, setup);
        return params && D::Filter::is_consistent(*params, memory);
    });
}

const pipeline::EngineOps& ops_of(const AnyFilter& filter) {
    return pipeline::ops_at(filter.index());
}

}  // namespace unecho::engines
