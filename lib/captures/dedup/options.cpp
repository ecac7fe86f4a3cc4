// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/options.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

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
        return bad(fmt::format("{} keep is for keys of packets and windows of time; leave out {}",
                               option::kRepeats,
                               options.editcap             ? option::kEditcap
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
            return bad(fmt::format("{} is for {} keep", *name, option::kRepeats));
        }
    }
    if (options.same_port && (*options.same_port > UnionParams::kMaxSamePort ||
                              *options.same_port > options.window_time())) {
        return bad(fmt::format("{}: {}; allowed: 0s to 4s, and no more than {}", option::kSamePort,
                               format_duration(*options.same_port), option::kWindow));
    }
    if (options.views &&
        (*options.views < UnionParams::kMinViews || *options.views > UnionParams::kMaxViews)) {
        return bad(fmt::format("{}: {}; allowed: {} to {}", option::kViews, *options.views,
                               UnionParams::kMinViews, UnionParams::kMaxViews));
    }
    std::set<std::uint32_t> grouped;
    for (const std::vector<std::uint32_t>& group : options.groups) {
        for (const std::uint32_t tap : group) {
            if (!grouped.insert(tap).second) {
                return bad(fmt::format("{}: tap {} is there twice; allowed: each tap in one group",
                                       option::kGroup, tap));
            }
        }
    }
    if (options.passes && (*options.passes < 1 || *options.passes > 2)) {
        return bad(fmt::format("{}: {}; allowed: 1 or 2", option::kPasses, *options.passes));
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
        return bad(fmt::format("{} is for whole frames; it needs {} frame", option::kIgnoreBytes,
                               option::kKey));
    }
    return {};
}

Status check_editcap(const Options& options) {
    if (options.window.has_value() == options.count.has_value()) {
        return bad(fmt::format("{} needs one of {} (editcap -w) and {} (editcap -D)",
                               option::kEditcap, option::kWindow, option::kCount));
    }
    if (options.key_mode() != KeyMode::kFrame) {
        return bad(fmt::format("{} compares whole frames; allowed: {} frame", option::kEditcap,
                               option::kKey));
    }
    if (options.policy || options.first || options.max_false_drop) {
        return bad(fmt::format("{} has its own rules; leave out {}, {}, {}", option::kEditcap,
                               option::kPolicy, option::kFirst, option::kMaxFalseDrop));
    }
    if (options.engine != Engine::kAuto && options.engine != Engine::kExact) {
        return bad(fmt::format("{} is exact; leave out {}", option::kEditcap, option::kEngine));
    }
    if (options.count.value_or(1) > kMaxEditcapCount) {
        return bad(fmt::format("{}: more than editcap allows; allowed with {}: 1 to {}",
                               option::kCount, option::kEditcap, kMaxEditcapCount));
    }
    return {};
}

// A shard must give what one process with sufficient memory gives.
Status check_shard(const Options& options) {
    if (!options.shard) {
        return {};
    }
    if (!options.seed) {
        return bad(fmt::format(
            "{} needs {}, the same for all shards, by which all agree whose a packet is",
            option::kShard, option::kSeedFile));
    }
    if (options.engine != Engine::kAuto && options.engine != Engine::kExact) {
        return bad(fmt::format(
            "{} {}: a filter of a part drops other packets by accident than one of all; allowed "
            "with {}: exact",
            option::kEngine, config::kEngineNames.at(static_cast<std::size_t>(options.engine)),
            option::kShard));
    }
    for (const auto& [given, name] : {std::pair{options.count.has_value(), &option::kCount},
                                      std::pair{options.editcap, &option::kEditcap},
                                      std::pair{options.audit, &option::kAudit}}) {
        if (given) {
            return bad(fmt::format("{} is for exact windows of time; leave out {}", option::kShard,
                                   *name));
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
        return bad(
            fmt::format("{} is for engine exact; {} has a window of time", option::kCount, name));
    }
    if (!config::kWindow.contains(options.window_time())) {
        return bad(fmt::format("{} {} takes a {} from {} to {}h; engine exact takes any",
                               option::kEngine, name, option::kWindow,
                               duration_literal(config::kWindow.lo),
                               config::kWindow.hi / config::kHour));
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
    return bad(fmt::format("--{}: {}", option, problems.front().what));
}

Status check(const Options& options) {
    UNECHO_TRY(check_shard(options));
    if (options.audit && (options.editcap || options.count)) {
        return bad(fmt::format("{} is for windows of time; leave out {}", option::kAudit,
                               options.editcap ? option::kEditcap : option::kCount));
    }
    if (options.editcap) {
        UNECHO_TRY(check_editcap(options));
    }
    UNECHO_TRY(check_values(options));
    return check_engine(options);
}

}  // namespace unecho::dedup
