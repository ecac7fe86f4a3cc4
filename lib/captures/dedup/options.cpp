// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/options.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/option_names.h"
#include "captures/dedup/deciders/editcap.h"
#include "filters/repeats/union_rule.h"

namespace unecho::dedup {
namespace {

using config::Engine;
using packet::KeyMode;

tl::unexpected<Error> bad(const std::string& text) {
    return fail(Errc::kConfig, text);
}

Status check_repeats(const Options& options) {
    using filter::UnionParams;
    if (options.repeats == packet::Repeats::kKeep && !options.may_keep_repeats()) {
        return bad(option::kRepeats +
                   " keep is for keys of packets and windows of time; leave out " +
                   (options.editcap             ? option::kEditcap
                    : options.count.has_value() ? option::kCount
                                                : option::kKey));
    }
    for (const auto& [given, name] :
         {std::pair{options.point.has_value(), &option::kPoint},
          std::pair{options.same_port.has_value(), &option::kSamePort},
          std::pair{options.views.has_value(), &option::kViews},
          std::pair{options.second_looks.has_value(), &option::kSecondLooks},
          std::pair{options.passes.has_value(), &option::kPasses},
          std::pair{!options.groups.empty(), &option::kGroup}}) {
        if (given && !options.keeps_repeats()) {
            return bad(*name + " is for " + option::kRepeats + " keep");
        }
    }
    if (options.same_port && (*options.same_port > UnionParams::kMaxSamePort ||
                              *options.same_port > options.window_time())) {
        return bad(option::kSamePort + ": " + format_duration(*options.same_port) +
                   "; allowed: 0s to 4s, and no more than " + option::kWindow);
    }
    if (options.views &&
        (*options.views < UnionParams::kMinViews || *options.views > UnionParams::kMaxViews)) {
        return bad(option::kViews + ": " + std::to_string(*options.views) +
                   "; allowed: " + std::to_string(UnionParams::kMinViews) + " to " +
                   std::to_string(UnionParams::kMaxViews));
    }
    std::set<std::uint32_t> grouped;
    for (const std::vector<std::uint32_t>& group : options.groups) {
        for (const std::uint32_t tap : group) {
            if (!grouped.insert(tap).second) {
                return bad(option::kGroup + ": tap " + std::to_string(tap) +
                           " is there twice; allowed: each tap in one group");
            }
        }
    }
    if (options.passes && (*options.passes < 1 || *options.passes > 2)) {
        return bad(option::kPasses + ": " + std::to_string(*options.passes) + "; allowed: 1 or 2");
    }
    return {};
}

Status check_values(const Options& options) {
    if (options.window == Nanoseconds{0}) {
        return bad(option::kWindow + ": 0; allowed: 1ns or more, or inf");
    }
    if (options.count == std::uint64_t{0}) {
        return bad(option::kCount + ": 0; allowed: 1 or more packets");
    }
    engines::FieldNames written;
    if (options.non_ip) {
        written.emplace_back("non_ip");
    }
    if (!options.vxlan_ports.empty()) {
        written.emplace_back("vxlan_ports");
    }
    if (options.tenant) {
        written.emplace_back("tenant");
    }
    if (options.tags) {
        written.emplace_back("tags");
    }
    if (options.first.value_or(1) != 1) {  // 1 is allowed with any key
        written.emplace_back("first");
    }
    UNECHO_TRY(check(spec_of(options), written));
    UNECHO_TRY(check_repeats(options));
    if (options.ignored_bytes != 0 && options.key_mode() != KeyMode::kFrame) {
        return bad(option::kIgnoreBytes + " is for whole frames; it needs " + option::kKey +
                   " frame");
    }
    return {};
}

Status check_editcap(const Options& options) {
    if (options.window.has_value() == options.count.has_value()) {
        return bad(option::kEditcap + " needs one of " + option::kWindow + " (editcap -w) and " +
                   option::kCount + " (editcap -D)");
    }
    if (options.key_mode() != KeyMode::kFrame) {
        return bad(option::kEditcap + " compares whole frames; allowed: " + option::kKey +
                   " frame");
    }
    if (options.policy || options.first || options.max_false_drop) {
        return bad(option::kEditcap + " has its own rules; leave out " + option::kPolicy + ", " +
                   option::kFirst + ", " + option::kMaxFalseDrop);
    }
    if (options.engine != Engine::kAuto && options.engine != Engine::kExact) {
        return bad(option::kEditcap + " is exact; leave out " + option::kEngine);
    }
    if (options.count.value_or(1) > kMaxEditcapCount) {
        return bad(option::kCount + ": more than editcap allows; allowed with " + option::kEditcap +
                   ": 1 to " + std::to_string(kMaxEditcapCount));
    }
    return {};
}

// A shard must give what one process with sufficient memory gives.
Status check_shard(const Options& options) {
    if (!options.shard) {
        return {};
    }
    if (!options.seed) {
        return bad(option::kShard + " needs " + option::kSeedFile +
                   ", the same for all shards, by which all agree whose a packet is");
    }
    if (options.engine != Engine::kAuto && options.engine != Engine::kExact) {
        return bad(option::kEngine + " " +
                   std::string(config::kEngineNames.at(static_cast<std::size_t>(options.engine))) +
                   ": a filter of a part drops other packets by accident than one of all; allowed "
                   "with " +
                   option::kShard + ": exact");
    }
    for (const auto& [given, name] : {std::pair{options.count.has_value(), &option::kCount},
                                      std::pair{options.editcap, &option::kEditcap},
                                      std::pair{options.audit, &option::kAudit}}) {
        if (given) {
            return bad(option::kShard + " is for exact windows of time; leave out " + *name);
        }
    }
    return {};
}

Status check_engine(const Options& options) {
    if (options.engine == Engine::kAuto || options.engine == Engine::kExact) {
        return {};
    }
    const std::string name(config::kEngineNames.at(static_cast<std::size_t>(options.engine)));
    if (options.count) {
        return bad(option::kCount + " is for engine exact; " + name + " has a window of time");
    }
    if (!config::kWindow.contains(options.window_time())) {
        return bad(option::kEngine + " " + name + " takes a " + option::kWindow + " from " +
                   duration_literal(config::kWindow.lo) + " to " +
                   std::to_string(config::kWindow.hi / config::kHour) +
                   "h; engine exact takes any");
    }
    return {};
}

}  // namespace

engines::FilterSpec spec_of(const Options& options) {
    engines::FilterSpec spec;
    spec.name = "capture";
    spec.key = options.key_mode();
    spec.non_ip = options.non_ip_or_pass();
    spec.tunnels = options.tunnels;
    spec.vxlan_ports = options.vxlan_ports;
    spec.tenant = options.tenant;
    spec.tags = options.tags;
    spec.key_bytes = options.key_bytes;
    spec.engine = options.engine;
    spec.policy = options.policy_or_fixed();
    spec.first = options.first.value_or(1);
    spec.window = options.window_time();
    spec.max_false_drop = options.false_drop();
    spec.repeats = options.keeps_repeats() ? packet::Repeats::kKeep : packet::Repeats::kDrop;
    spec.point = options.point.value_or(packet::Point::kLink);
    return spec;
}

packet::KeySpec key_of(const Options& options, std::size_t taps) {
    packet::KeySpec key = engines::key_of(spec_of(options));
    key.evidence = options.needs_evidence(taps);
    return key;
}

Status check(const engines::FilterSpec& spec, const engines::FieldNames& written) {
    const auto problems = engines::problems_of(spec, written);
    if (problems.empty()) {
        return {};
    }
    // Options are named as a filter's keys, with "-" in place of "_".
    std::string option(problems.front().fields.front());
    std::replace(option.begin(), option.end(), '_', '-');
    return bad("--" + option + ": " + problems.front().what);
}

Status check(const Options& options) {
    UNECHO_TRY(check_shard(options));
    if (options.audit && (options.editcap || options.count)) {
        return bad(option::kAudit + " is for windows of time; leave out " +
                   (options.editcap ? option::kEditcap : option::kCount));
    }
    if (options.editcap) {
        UNECHO_TRY(check_editcap(options));
    }
    UNECHO_TRY(check_values(options));
    return check_engine(options);
}

}  // namespace unecho::dedup
