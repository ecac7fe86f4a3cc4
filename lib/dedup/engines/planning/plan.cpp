// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/planning/plan.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "base/humanize.h"
#include "dedup/engines/planning/candidates.h"
#include "dedup/engines/rules.h"

namespace unecho::engines {
namespace {

// Margin of an instance, because flows spread unevenly over several instances.
constexpr double kUnevenSpread = 1.25;

std::string text_of(double value) {
    return format_number("%.3g", value);
}

class Planner {
  public:
    Planner(const FilterSpec& spec, const Placement& placement)
        : spec_(spec), placement_(placement) {
        out_.name = spec_.name;
        out_.key = key_of(spec_);
        out_.policy = spec_.policy;
        out_.first = spec_.first;
        out_.window = spec_.window;
        out_.isa = placement_.isa;
        out_.may_clear = placement_.may_clear;
        if (spec_.max_false_drop || !spec_.geometry) {
            out_.bound = spec_.max_false_drop.value_or(kDefaultFalseDrop);
        }
    }

    Result<FilterPlan> make() {
        const Status sized = spec_.geometry ? take_geometry() : size_for_targets();
        return sized ? finish() : tl::unexpected(sized.error());
    }

    Result<FilterPlan> make(const Candidate& chosen) {
        out_.keys_per_second = chosen.rate;
        take_sized(chosen.geometry);
        return finish();
    }

  private:
    [[nodiscard]] bool bounded() const { return spec_.rule == Rule::kBound; }
    [[nodiscard]] bool shrinks() const { return spec_.on_full == OnFull::kShrink; }
    // Engines in which nothing gives way forget their oldest packet, whatever is requested.
    [[nodiscard]] bool gives_way_as_asked(const EngineInfo& engine) const {
        return !spec_.on_full || engine.on_full.count == 0 ||
               engine.on_full.contains(*spec_.on_full);
    }
    [[nodiscard]] double margin_of(Engine engine) const {
        return bounded() ? info_of(engine).chance_margin : 1;
    }

    Status size_for_targets() {
        out_.keys_per_packet =
            most_keys_per_packet(spec_.engine, echo_policy(spec_.policy), spec_.first);
        const double rate = spec_.rate.value_or(0) * share_of(placement_.instances);
        sizing::Targets targets{spec_.window, out_.keys_per_packet * rate,
                                spec_.max_false_drop.value_or(kDefaultFalseDrop),
                                shrinks() ? kRandomArrivals : 0};
        out_.keys_per_second = targets.keys_per_second;
        Result<Geometry> sized;
        if (spec_.engine == Engine::kAuto) {
            sized = choose(targets);
        } else {
            targets.max_false_drop /= margin_of(spec_.engine);
            sized = size(spec_.engine, targets, spec_.first);
        }
        UNECHO_TRY(sized);
        take_sized(*sized);
        return {};
    }

    void take_sized(const Geometry& geometry) {
        out_.geometry = geometry;
        out_.prediction = predict(geometry, spec_.window, out_.keys_per_second);
        out_.on_full = on_full_with(spec_.on_full, geometry);
        if (out_.on_full == OnFull::kShrink) {
            out_.load = sizing::load_for(out_.prediction.generation_keys, kRandomArrivals);
        }
    }

    Result<Geometry> choose(const sizing::Targets& targets) {
        SizingRequest question;
        question.window = targets.window;
        question.max_false_drop = targets.max_false_drop;
        question.bounded = bounded();
        question.shrinks = shrinks();
        question.first = spec_.first;
        question.rate = targets.keys_per_second;
        if (spec_.memory) {
            question.memory = *spec_.memory / placement_.instances;
            if (spec_.keeps_repeats()) {
                const auto repeats = repeats_of(*spec_.rate * share_of(placement_.instances));
                UNECHO_TRY(repeats);
                const std::uint64_t taken = filter::UnionRule::bytes(*repeats);
                question.memory = *question.memory - std::min(taken, *question.memory);
            }
        }
        std::vector<Engine> able;
        std::copy_if(kAutoEngines.begin(), kAutoEngines.end(), std::back_inserter(able),
                     [&](Engine engine) { return gives_way_as_asked(info_of(engine)); });
        auto found = find_candidates(question, able);
        UNECHO_TRY(found);
        out_.choice = std::move(found->reason);
        return std::move(found->list.front().geometry);
    }

    Status take_geometry() {
        auto given = geometry_of(spec_.engine, *spec_.geometry, spec_.window);
        UNECHO_TRY(given);
        out_.geometry = *given;
        out_.prediction = predict(out_.geometry, spec_.window, std::nullopt);
        out_.keys_per_second = static_cast<double>(out_.prediction.window_keys) /
                               (static_cast<double>(spec_.window) / kSecond);
        if (spec_.max_false_drop) {
            return take_bound();
        }
        if (out_.prediction.room != 0) {
            out_.on_full = OnFull::kShrink;
            take_load(out_.prediction.room);
        }
        return {};
    }

    // Derive from a geometry what it can do with its bound. The load of a generation is the largest
    // whose rate stays below the bound; at the planned rate, random arrivals do not exceed that
    // load.
    Status take_bound() {
        const double most = *spec_.max_false_drop;
        const double seconds = static_cast<double>(out_.prediction.generation) / kSecond;
        const auto with_keys = [&](std::uint64_t keys) {
            return predict(out_.geometry, spec_.window, static_cast<double>(keys) / seconds);
        };
        const double least = bounded()   ? least_chance(out_.setup())
                             : shrinks() ? with_keys(1).false_drop
                                         : 0;
        if (least > most) {
            return fail(Errc::kConfig,
                        fmt::format("max_false_drop = {} is below what this geometry of {} can "
                                    "keep{}; allowed: max_false_drop of at least {}, a geometry of "
                                    "more bits, or none: one that keeps it is chosen then",
                                    text_of(most), out_.engine().name,
                                    bounded() ? ", so that every match would be in doubt" : "",
                                    text_of(least)));
        }
        out_.on_full = spec_.on_full;
        if (!shrinks()) {
            return {};
        }
        const double mean = most / margin_of(spec_.engine);
        const auto keeps = [&](std::uint64_t keys) {
            const sizing::Prediction found = with_keys(keys);
            return found.false_drop <= mean && (found.room == 0 || keys <= found.room);
        };
        std::uint64_t load = 1;
        while (keeps(2 * load)) {
            load *= 2;
        }
        for (std::uint64_t step = load; step != 0; step /= 2) {
            load += keeps(load + step) ? step : 0;
        }
        take_load(load);
        return {};
    }

    // Set the load of a generation, and the planned rate at which random arrivals do not exceed it.
    void take_load(std::uint64_t load) {
        out_.load = load;
        const std::uint64_t planned = sizing::keys_for(load, kRandomArrivals);
        const double seconds = static_cast<double>(out_.prediction.generation) / kSecond;
        out_.keys_per_second = static_cast<double>(planned) / seconds;
        out_.prediction = predict(out_.geometry, spec_.window, out_.keys_per_second);
    }

    Result<FilterPlan> finish() {
        choose_rule();
        out_.clock.length = std::max<Nanoseconds>(out_.prediction.generation, 1);
        const auto bytes = bytes_of(out_.setup());
        if (!bytes) {
            return fail(bytes.error().code,
                        fmt::format("filter \"{}\": {}", out_.name, bytes.error().context));
        }
        out_.engine_bytes = filter::align_to_line(*bytes);
        out_.instance_bytes = *bytes;
        if (spec_.keeps_repeats()) {
            const auto planned = repeats_of(
                spec_.rate ? *spec_.rate * share_of(placement_.instances) : out_.keys_per_second);
            UNECHO_TRY(planned);
            out_.repeats = *planned;
            out_.instance_bytes = out_.engine_bytes + filter::UnionRule::bytes(*out_.repeats);
        }
        out_.pipelined_prefetch =
            *bytes > placement_.core_cache / 4 * 3;  // packets take some of the cache
        out_.planned_fill = engines::planned_fill(
            out_.setup(),
            out_.load.value_or(sizing::load_for(out_.prediction.generation_keys, kRandomArrivals)));
        return std::move(out_);
    }

    // rate: in packets per second.
    [[nodiscard]] Result<filter::UnionParams> repeats_of(double rate) const {
        filter::UnionSpec spec;
        spec.window = spec_.window;
        spec.same_port = spec_.same_port.value_or(0);
        spec.views = spec_.views.value_or(filter::UnionParams::kMinViews);
        spec.needs_evidence = spec_.second_looks != packet::SecondLooks::kAll;
        return size_repeats(spec, rate, spec_.unidentified.value_or(1));
    }

    // "auto" may have chosen an engine that estimates no chances.
    void choose_rule() {
        FilterSpec settled = spec_;
        if (!out_.engine().estimates_chance) {
            settled.rule = Rule::kMatch;
        }
        out_.rule = settled.rule.value_or(Rule::kMatch);
        out_.confidence = confidence_of(settled);
        out_.rule_text = rule_text(settled);
    }

    const FilterSpec& spec_;
    const Placement& placement_;
    FilterPlan out_;
};

}  // namespace

packet::KeySpec key_of(const FilterSpec& spec) {
    return {.mode = spec.key,
            .non_ip = spec.non_ip,
            .tunnels = packet::Tunnels(spec.tunnels, spec.vxlan_ports),
            .tenant = spec.tenant.value_or(packet::default_tenant(spec.key)),
            .flow_tenant = spec.tenant.value_or(packet::Tenant::kMatch),
            .tags = spec.tags.value_or(packet::Tags::kIgnore),
            .checksums = packet::Checksums::kFill,
            .bytes = spec.key_bytes.value_or(0),
            .repeats = spec.repeats.value_or(packet::Repeats::kDrop),
            .point = spec.point.value_or(packet::Point::kLink),
            .evidence = spec.needs_evidence()};
}

double share_of(unsigned instances) {
    return instances == 1 ? 1.0 : kUnevenSpread / static_cast<double>(instances);
}

std::uint64_t core_cache() {
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

Result<FilterPlan> plan_filter(const FilterSpec& spec, const Placement& placement) {
    return Planner(spec, placement).make();
}

Result<FilterPlan> plan_filter(const FilterSpec& spec, const Placement& placement,
                               const Candidate& chosen) {
    return Planner(spec, placement).make(chosen);
}

}  // namespace unecho::engines
