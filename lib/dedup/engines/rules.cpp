// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/rules.h"

#include <cmath>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/join_text.h"

namespace unecho::engines {
namespace {

std::string number(double value) {
    return format_number("%.3g", value);
}

// Round down, so that a bound stays a bound.
float rounded_down(double value) {
    const auto near = static_cast<float>(value);
    return near > value ? std::nextafter(near, 0.0F) : near;
}

pipeline::CostRatios ratios_of(const FilterSpec& filter) {
    pipeline::CostRatios ratios;
    ratios.fill(static_cast<float>(filter.leak_cost / filter.false_drop_cost));
    for (const TrafficClass& traffic : filter.classes) {
        const double own = traffic.leak_cost.value_or(filter.leak_cost) /
                           traffic.false_drop_cost.value_or(filter.false_drop_cost);
        for (const unsigned code : traffic.dscp) {
            ratios.at(code) = static_cast<float>(own);
        }
    }
    return ratios;
}

std::string penalty_text(const FilterSpec& filter) {
    std::string text = fmt::format("a false drop costs as much as {} leaked echoes",
                                   number(filter.false_drop_cost / filter.leak_cost));
    for (const TrafficClass& traffic : filter.classes) {
        const std::string codes =
            join_text(traffic.dscp, ", ", [](unsigned code) { return std::to_string(code); });
        text += fmt::format("; DSCP {}: {}", codes,
                            number(traffic.false_drop_cost.value_or(filter.false_drop_cost) /
                                   traffic.leak_cost.value_or(filter.leak_cost)));
    }
    return text;
}

}  // namespace

std::optional<pipeline::ConfidencePolicy> confidence_of(const FilterSpec& filter) {
    switch (filter.rule.value_or(Rule::kMatch)) {
        case Rule::kBound:
            return pipeline::ConfidencePolicy::bound(
                rounded_down(filter.max_false_drop.value_or(kDefaultFalseDrop)));
        case Rule::kPenalty:
            return pipeline::ConfidencePolicy::penalty(ratios_of(filter));
        case Rule::kMatch:
            break;
    }
    return std::nullopt;
}

std::string rule_text(const FilterSpec& filter) {
    switch (filter.rule.value_or(Rule::kMatch)) {
        case Rule::kBound:
            return "bound: a match is an echo if the chance of an accident is at most " +
                   number(filter.max_false_drop.value_or(kDefaultFalseDrop)) + ", else forwarded";
        case Rule::kPenalty:
            return "penalty: a match is an echo if dropping it costs no more; " +
                   penalty_text(filter);
        case Rule::kMatch:
            break;
    }
    return "match: every match is an echo";
}

}  // namespace unecho::engines
