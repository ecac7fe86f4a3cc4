// SPDX-License-Identifier: BSD-3-Clause
#include "config/fields.h"

#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "base/units.h"
#include "config/devices/device.h"
#include "config/load.h"
#include "config/message_text.h"

namespace unecho::config {
namespace {

using enum Presence;
using enum ReloadEffect;

// Return a setter that stores into a member of any width. Ranges were checked before.
template <typename T>
auto to(T& member) {
    return [&member](auto value) { member = static_cast<T>(std::move(value)); };
}

template <typename T>
auto to(std::vector<T>& member) {
    return [&member](const auto& values) { member.assign(values.begin(), values.end()); };
}

template <typename T>
auto to(std::optional<std::vector<T>>& member) {
    return [&member](const auto& values) { member.emplace(values.begin(), values.end()); };
}

template <typename T>
auto to(std::optional<T>& member) {
    return [&member](auto value) { member = static_cast<T>(std::move(value)); };
}

std::string from_to(WholeRange range) {
    return fmt::format(" from {} to {}", range.lo, range.hi);
}

std::string_view echo_actions() {
    static const std::string text =
        list_in_quotes(pipeline::kEchoActionNames) + " or the name of a port";
    return text;
}

constexpr const char* kSizeUnits = ", with its unit (B, kB, MB, GB, KiB, MiB, GiB)";

struct Allowed {
    std::string operator()(const field::WholeNumber& v) const {
        return "a whole number" + from_to(v.range);
    }
    std::string operator()(const field::PowerOfTwo& v) const {
        return "a power of two" + from_to(v.range);
    }
    std::string operator()(const field::Bits& v) const {
        return fmt::format("bits as a whole number{}, or a size{}", from_to(v.range), kSizeUnits);
    }
    std::string operator()(const field::Size& v) const {
        return fmt::format("a size from {} to {}{}", size_literal(v.range.lo),
                           size_literal(v.range.hi), kSizeUnits);
    }
    std::string operator()(const field::Duration& v) const {
        return fmt::format("a duration from {} to {}, with its unit (ns, us, ms, s, min, h)",
                           duration_text(v.range.lo), duration_text(v.range.hi));
    }
    std::string operator()(const field::Rate& v) const {
        return fmt::format("a rate from {} to {}, with its unit (pps, kpps, Mpps, Gpps)",
                           rate_literal(v.range.lo), rate_literal(v.range.hi));
    }
    std::string operator()(const field::FalseDrop& /*v*/) const {
        return "a number above 0 and at most " + number_text(kMostFalseDrop);
    }
    std::string operator()(const field::Number& v) const {
        return fmt::format("a number from {} to {}", number_text(v.range.lo),
                           number_text(v.range.hi));
    }
    std::string operator()(const field::Flag& /*v*/) const { return "true or false"; }
    std::string operator()(const field::Choice& v) const { return list_in_quotes(v.names); }
    std::string operator()(const field::Name& /*v*/) const {
        return fmt::format("{} to {} letters, digits or _ . -", kNameLength.lo, kNameLength.hi);
    }
    std::string operator()(const field::Text& v) const { return std::string(v.allowed); }
    std::string operator()(const field::Texts& v) const { return std::string(v.allowed); }
    std::string operator()(const field::Names& v) const {
        return R"("all", "none", or a list of )" + list_in_quotes(v.names);
    }
    std::string operator()(const field::WholeNumberList& v) const {
        return fmt::format("a list of{} different whole numbers{}", from_to(v.count).substr(5),
                           from_to(v.range));
    }
    std::string operator()(const field::Group& v) const { return std::string(v.allowed); }
    std::string operator()(const field::Groups& v) const { return std::string(v.allowed); }
};

}  // namespace

std::string allowed(const field::Value& value) {
    return std::visit(Allowed{}, value);
}

std::vector<Field> fields_of(Eal& eal) {
    return {{"args", kOptional, "[]", kRestart, field::Texts{"a list of strings", to(eal.args)}}};
}

std::vector<Field> fields_of(Port& port) {
    return {
        {"name", kRequired, "", kRestart, field::Name{to(port.name)}},
        {"device", kRequired, "", kRestart, field::Text{kDeviceForms, to(port.device)}},
        {"rx_queues", kOptional, "", kRestart, field::WholeNumber{kQueues, to(port.rx_queues)}},
        {"tx_queues", kOptional, "", kRestart, field::WholeNumber{kQueues, to(port.tx_queues)}},
        {"rx_descriptors", kOptional, "1024", kRestart,
         field::PowerOfTwo{kDescriptors, to(port.rx_descriptors)}},
        {"tx_descriptors", kOptional, "1024", kRestart,
         field::PowerOfTwo{kDescriptors, to(port.tx_descriptors)}},
        {"mtu", kOptional, "1500", kRestart, field::WholeNumber{kMtu, to(port.mtu)}},
        {"promiscuous", kOptional, "true", kRestart, field::Flag{to(port.promiscuous)}},
        {"group", kOptional, "", kRestart, field::Name{to(port.group)}},
    };
}

std::vector<Field> fields_of(Filter& filter) {
    return {
        {"name", kRequired, "", kImmediate, field::Name{to(filter.name)}},
        {"key", kOptional, "\"packet\"", kImmediate, field::Choice{kKeyNames, to(filter.key)}},
        {"non_ip", kOptional, "\"pass\"", kImmediate,
         field::Choice{kNonIpNames, to(filter.non_ip)}},
        {"tunnels", kOptional, "\"none\"", kImmediate,
         field::Names{kEncapsulationNames,
                      [&filter](const std::vector<std::size_t>& listed) {
                          for (const std::size_t i : listed) {
                              filter.tunnels.add(static_cast<packet::Encapsulation>(i));
                          }
                      }}},
        {"vxlan_ports", kOptional, "", kImmediate,
         field::WholeNumberList{"ports", kVxlanPortCount, kUdpPort, to(filter.vxlan_ports)}},
        {"tenant", kOptional, "", kImmediate, field::Choice{kTenantNames, to(filter.tenant)}},
        {"tags", kOptional, "", kImmediate, field::Choice{kTagsNames, to(filter.tags)}},
        {"key_bytes", kOptional, "", kImmediate,
         field::WholeNumber{kKeyBytes, to(filter.key_bytes)}},
        {"repeats", kOptional, "", kImmediate,
         field::Choice{packet::kRepeatsNames, to(filter.repeats)}},
        {"point", kOptional, "", kImmediate, field::Choice{packet::kPointNames, to(filter.point)}},
        {"same_port", kOptional, "", kWarmed, field::Duration{kSamePort, to(filter.same_port)}},
        {"views", kOptional, "", kWarmed, field::WholeNumber{kViews, to(filter.views)}},
        {"second_looks", kOptional, "", kWarmed,
         field::Choice{packet::kSecondLooksNames, to(filter.second_looks)}},
        {"unidentified", kOptional, "", kWarmed, field::Number{kShare, to(filter.unidentified)}},
        {"window", kRequired, "", kWarmed, field::Duration{kWindow, to(filter.window)}},
        {"engine", kOptional, "\"auto\"", kWarmed, field::Choice{kEngineNames, to(filter.engine)}},
        {"rate", kOptional, "", kWarmed, field::Rate{kRate, to(filter.rate)}},
        {"max_false_drop", kOptional, kDefaultFalseDropText, kWarmed,
         field::FalseDrop{to(filter.max_false_drop)}},
        {"memory", kOptional, "", kWarmed, field::Size{kMemory, to(filter.memory)}},
        {"geometry", kOptional, "", kWarmed,
         field::Group{"a table, as in { k = 2, l = 5, segment_bits = \"8MiB\" }",
                      [&filter] { return fields_of(filter.geometry.emplace()); }}},
        {"policy", kOptional, "\"fixed\"", kImmediate,
         field::Choice{kPolicyNames, to(filter.policy)}},
        {"first", kOptional, "1", kImmediate, field::WholeNumber{kFirst, to(filter.first)}},
        {"rule", kOptional, "", kWarmed, field::Choice{kRuleNames, to(filter.rule)}},
        {"on_full", kOptional, "", kWarmed, field::Choice{kOnFullNames, to(filter.on_full)}},
        {"false_drop_cost", kOptional, "1000", kLive,
         field::Number{kCost, to(filter.false_drop_cost)}},
        {"leak_cost", kOptional, "1", kLive, field::Number{kCost, to(filter.leak_cost)}},
        {"class", kOptional, "", kLive,
         field::Groups{"tables [[filter.class]] with dscp and their costs",
                       [&filter] { return fields_of(filter.classes.emplace_back()); }}},
        {"root", kOptional, "", kRestart,
         field::Group{"a table [filter.root] with redis, secret_file and flows",
                      [&filter] { return fields_of(filter.root.emplace()); }}},
    };
}

std::vector<Field> fields_of(SharedFlows& root) {
    return {
        {"redis", kRequired, "", kRestart,
         field::Texts{"a list of one or more nodes of a Redis Cluster, as \"192.0.2.1:6379\"",
                      to(root.redis)}},
        {"secret_file", kRequired, "", kRestart,
         field::Text{"the path of a file with 64 hexadecimal digits, the same at all sites",
                     to(root.secret_file)}},
        {"flows", kRequired, "", kRestart, field::WholeNumber{kRootFlows, to(root.flows)}},
        {"name", kOptional, "", kRestart, field::Name{to(root.name)}},
        {"user", kOptional, "", kRestart,
         field::Text{"the name of a user of the Redis Cluster", to(root.user)}},
        {"password_file", kOptional, "", kRestart,
         field::Text{"the path of a file with a password in its first line",
                     to(root.password_file)}},
        {"timeout", kOptional, "\"100ms\"", kRestart,
         field::Duration{kRootTimeout, to(root.timeout)}},
        {"required", kOptional, "false", kRestart, field::Flag{to(root.required)}},
        {"on_root", kOptional, "\"drop\"", kRestart, field::Choice{kOnRootNames, to(root.on_root)}},
    };
}

std::vector<Field> fields_of(TrafficClass& traffic) {
    return {
        {"dscp", kRequired, "", kLive,
         field::WholeNumberList{"code points", kDscpCount, kDscp, to(traffic.dscp)}},
        {"false_drop_cost", kOptional, "", kLive,
         field::Number{kCost, to(traffic.false_drop_cost)}},
        {"leak_cost", kOptional, "", kLive, field::Number{kCost, to(traffic.leak_cost)}},
    };
}

std::vector<Field> fields_of(Geometry& geometry) {
    return {
        {"k", kOptional, "", kWarmed, field::WholeNumber{kGeometryK, to(geometry.k)}},
        {"l", kOptional, "", kWarmed, field::WholeNumber{kGeometryL, to(geometry.l)}},
        {"segment_bits", kOptional, "", kWarmed,
         field::Bits{kSegmentBits, to(geometry.segment_bits)}},
        {"block_bits", kOptional, "512", kWarmed,
         field::PowerOfTwo{kBlockBits, to(geometry.block_bits)}},
        {"bits_per_key", kOptional, "", kWarmed,
         field::WholeNumber{kBitsPerKey, to(geometry.bits_per_key)}},
        {"lines", kOptional, "", kWarmed, field::WholeNumber{kLines, to(geometry.lines)}},
        {"lines_per_key", kOptional, "", kWarmed,
         field::WholeNumber{kLinesPerKey, to(geometry.lines_per_key)}},
        {"fingerprint_bits", kOptional, "", kWarmed,
         field::WholeNumber{kFingerprintBits, to(geometry.fingerprint_bits)}},
    };
}

std::vector<Field> fields_of(Route& route, RouteNames& names) {
    return {
        {"name", kOptional, "", kLive, field::Name{to(route.name)}},
        {"from", kRequired, "", kLive,
         field::Texts{"a list of one or more port names", to(names.from)}},
        {"to", kRequired, "", kLive, field::Text{"the name of a port", to(names.to)}},
        {"filter", kRequired, "", kLive, field::Text{"the name of a filter", to(names.filter)}},
        {"on_echo", kOptional, "\"drop\"", kLive, field::Text{echo_actions(), to(names.on_echo)}},
        {"allow_flow_drop_on_link", kOptional, "false", kLive,
         field::Flag{to(route.allow_flow_drop_on_link)}},
        {"allow_non_ip_drop_on_link", kOptional, "false", kLive,
         field::Flag{to(route.allow_non_ip_drop_on_link)}},
        {"allow_tunnel_drop_on_link", kOptional, "false", kLive,
         field::Flag{to(route.allow_tunnel_drop_on_link)}},
        {"allow_repeat_drop_on_link", kOptional, "false", kLive,
         field::Flag{to(route.allow_repeat_drop_on_link)}},
        {"report_taps", kOptional, "false", kLive, field::Flag{to(route.report_taps)}},
        {"report_window", kOptional, "", kLive, field::Duration{kWindow, to(route.report_window)}},
        {"report_flows", kOptional, "", kLive,
         field::WholeNumber{kReportFlows, to(route.report_flows)}},
        {"path", kOptional, "", kLive,
         field::Texts{"a list of 2 to 8 ports of from, in the order in which packets pass them",
                      to(names.path)}},
        {"path_packets", kOptional, "\"sample\"", kLive,
         field::Choice{kPathPacketsNames, to(route.path_packets)}},
        {"max_path_loss", kOptional, "", kLive, field::Number{kShare, to(route.max_path_loss)}},
        {"max_path_delay", kOptional, "", kLive,
         field::Duration{kWindow, to(route.max_path_delay)}},
    };
}

std::vector<Field> fields_of(Workers& workers) {
    return {
        {"lcores", kOptional, "", kRestart,
         field::WholeNumberList{"lcores", kWorkerCount, kLcore, to(workers.lcores)}},
        {"steering", kOptional, "\"auto\"", kRestart,
         field::Choice{kSteeringNames, to(workers.steering)}},
        {"ring_size", kOptional, "1024", kRestart,
         field::PowerOfTwo{kRingSize, to(workers.ring_size)}},
        {"burst", kOptional, "32", kRestart, field::WholeNumber{kBurst, to(workers.burst)}},
        {"isa", kOptional, "\"auto\"", kRestart, field::Choice{kIsaWishNames, to(workers.isa)}},
    };
}

std::vector<Field> fields_of(Control& control) {
    return {
        {"lcore", kOptional, "", kRestart, field::WholeNumber{kLcore, to(control.lcore)}},
        {"link_check", kOptional, "\"500ms\"", kLive,
         field::Duration{kLinkCheck, to(control.link_check)}},
        {"drain_timeout", kOptional, "\"1s\"", kLive,
         field::Duration{kDrainTimeout, to(control.drain_timeout)}},
    };
}

std::vector<Field> fields_of(Audit& audit) {
    return {
        {"enabled", kOptional, "true", kLive, field::Flag{to(audit.enabled)}},
        {"memory", kOptional, "\"2MiB\"", kLive, field::Size{kAuditMemory, to(audit.memory)}},
        {"verify", kOptional, "\"digest\"", kLive,
         field::Choice{kAuditVerifyNames, to(audit.verify)}},
    };
}

std::vector<Field> fields_of(State& state) {
    return {
        {"dir", kOptional, "", kRestart,
         field::Text{"an absolute path of a folder in tmpfs or hugetlbfs", to(state.dir)}},
    };
}

std::vector<Field> fields_of(Run& run) {
    return {
        {"name", kOptional, "", kRestart, field::Name{to(run.name)}},
        {"telemetry_group", kOptional, "", kRestart,
         field::Text{"the name of a group of users", to(run.telemetry_group)}},
        {"clock", kOptional, "\"tsc\"", kRestart, field::Choice{kClockNames, to(run.clock)}},
        {"duration", kOptional, "", kLive, field::Duration{kDuration, to(run.duration)}},
        {"stop_when_idle", kOptional, "", kLive,
         field::Duration{kStopWhenIdle, to(run.stop_when_idle)}},
        {"seed", kOptional, "", kRestart, field::WholeNumber{kSeed, to(run.seed)}},
        {"tx_retry", kOptional, "\"100us\"", kLive, field::Duration{kTxRetry, to(run.tx_retry)}},
        {"stall_threshold", kOptional, "\"250us\"", kLive,
         field::Duration{kStallThreshold, to(run.stall_threshold)}},
        {"mbufs", kOptional, "", kRestart, field::WholeNumber{kMbufs, to(run.mbufs)}},
        {"lock_memory", kOptional, "false", kRestart, field::Flag{to(run.lock_memory)}},
    };
}

std::vector<KnownKey> known_keys() {
    Config sample;
    Port port;
    Filter filter;
    Geometry geometry;
    TrafficClass traffic;
    SharedFlows root;
    Route route;
    RouteNames names;
    std::vector<KnownKey> keys;
    const auto add = [&keys](std::string_view section, const std::vector<Field>& fields) {
        for (const Field& f : fields) {
            keys.push_back({std::string(section), std::string(f.name), allowed(f.value),
                            f.presence == kRequired, std::string(f.fallback),
                            std::string(kReloadNames.at(static_cast<std::size_t>(f.reload)))});
        }
    };
    add("eal", fields_of(sample.eal));
    add("port", fields_of(port));
    add("filter", fields_of(filter));
    add("filter.geometry", fields_of(geometry));
    add("filter.class", fields_of(traffic));
    add("filter.root", fields_of(root));
    add("route", fields_of(route, names));
    add("workers", fields_of(sample.workers));
    add("control", fields_of(sample.control));
    add("audit", fields_of(sample.audit));
    add("state", fields_of(sample.state));
    add("run", fields_of(sample.run));
    return keys;
}

}  // namespace unecho::config
