// SPDX-License-Identifier: BSD-3-Clause
// The names of the report's parts in the JSON. describe() passes each member with its name to an
// archive: io(name, member). report_json.cpp writes with it; tests use it to read the result.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "captures/analyze/report/report.h"
#include "captures/analyze/report/text_format.h"
#include "config/schema.h"

namespace unecho::analyze {

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename Enum>
std::string_view name_in(Enum value);
template <>
inline std::string_view name_in(Cause value) {
    return info_of(value).name;
}
template <>
inline std::string_view name_in(Difference value) {
    return info_of(value).name;
}
template <>
inline std::string_view name_in(TunnelRelation value) {
    return info_of(value).name;
}
template <>
inline std::string_view name_in(NotComparedEffect value) {
    return kNotComparedEffects.at(static_cast<std::size_t>(value));
}
template <>
inline std::string_view name_in(packet::Tenant value) {
    return text_of(value);
}
template <>
inline std::string_view name_in(packet::KeyMode value) {
    return packet::name_of(value);
}
template <>
inline std::string_view name_in(packet::NonIp value) {
    return text_of(value);
}
template <>
inline std::string_view name_in(packet::Repeats value) {
    return text_of(value);
}
template <>
inline std::string_view name_in(packet::Tags value) {
    return text_of(value);
}
template <>
inline std::string_view name_in(packet::Point value) {
    return text_of(value);
}
template <>
inline std::string_view name_in(packet::SecondLooks value) {
    return text_of(value);
}
template <>
inline std::string_view name_in(engines::Policy value) {
    return text_of(value);
}
template <>
inline std::string_view name_in(engines::Engine value) {
    return text_of(value);
}

template <typename Enum>
inline constexpr std::size_t kEnumSize = 0;
template <>
inline constexpr std::size_t kEnumSize<Cause> = kCauses;
template <>
inline constexpr std::size_t kEnumSize<Difference> = kDifferences;
template <>
inline constexpr std::size_t kEnumSize<TunnelRelation> = kTunnelRelations;
template <>
inline constexpr std::size_t kEnumSize<NotComparedEffect> = kNotComparedEffects.size();
template <>
inline constexpr std::size_t kEnumSize<packet::Tenant> = packet::kTenantNames.size();
template <>
inline constexpr std::size_t kEnumSize<packet::KeyMode> = packet::kKeyModes;
template <>
inline constexpr std::size_t kEnumSize<packet::NonIp> = config::kNonIpNames.size();
template <>
inline constexpr std::size_t kEnumSize<packet::Repeats> = packet::kRepeatsNames.size();
template <>
inline constexpr std::size_t kEnumSize<packet::Point> = packet::kPointNames.size();
template <>
inline constexpr std::size_t kEnumSize<packet::Tags> = packet::kTagsNames.size();
template <>
inline constexpr std::size_t kEnumSize<packet::SecondLooks> = packet::kSecondLooksNames.size();
template <>
inline constexpr std::size_t kEnumSize<engines::Policy> = engines::kPolicyNames.size();
template <>
inline constexpr std::size_t kEnumSize<engines::Engine> = engines::kEngines;

template <typename Archive>
void describe(Archive& io, Count& it) {
    io("packets", it.packets);
    io("bytes", it.bytes);
}

template <typename Archive>
void describe(Archive& io, FileInfo& it) {
    io("path", it.path);
    io("total", it.total);
    io("echoes", it.echoes);
    io("copied", it.copied);
}

template <typename Archive>
void describe(Archive& io, InterfaceInfo& it) {
    io("name", it.name);
    io("file", it.file);
    io("link_type", it.link_type);
    io("link_name", it.link_name);
    io("total", it.total);
    io("echoes", it.echoes);
    io("copied", it.copied);
}

// An object, with the causes as names.
template <typename Archive>
void describe(Archive& io, Causes& it) {
    for (std::size_t i = 0; i < it.size(); ++i) {
        io(kCauseTable[i].name.data(), it[i]);
    }
}

template <typename Archive>
void describe(Archive& io, AgeBin& it) {
    io("low_ns", it.low);
    io("high_ns", it.high);
    io("echoes", it.echoes);
    io("causes", it.causes);
}

template <typename Archive>
void describe(Archive& io, Ages& it) {
    io("youngest_ns", it.youngest);
    io("oldest_ns", it.oldest);
    io("resolution_ns", it.resolution);
    io("p50_ns", it.p50);
    io("p90_ns", it.p90);
    io("p99_ns", it.p99);
    io("p999_ns", it.p999);
    io("bins", it.bins);
}

template <typename Archive>
void describe(Archive& io, CauseCount& it) {
    io("cause", it.cause);
    io("echoes", it.echoes);
    io("copied", it.copied);
}

template <typename Archive>
void describe(Archive& io, DifferenceCount& it) {
    io("difference", it.difference);
    io("echoes", it.echoes);
    io("copied", it.copied);
}

template <typename Archive>
void describe(Archive& io, Crossing& it) {
    io("original", it.original);
    io("echo", it.echo);
    io("echoes", it.echoes);
}

template <typename Archive>
void describe(Archive& io, ProtocolCount& it) {
    io("name", it.name);
    io("total", it.total);
    io("echoes", it.echoes);
    io("copied", it.copied);
}

template <typename Archive>
void describe(Archive& io, TimeBin& it) {
    io("start_ns", it.start);
    io("total", it.total);
    io("echoes", it.echoes);
}

template <typename Archive>
void describe(Archive& io, SentAgain& it) {
    io("protocol", it.protocol);
    io("echoes", it.echoes);
    io("period_ns", it.period);
    io("youngest_ns", it.youngest);
    io("oldest_ns", it.oldest);
    io("regular", it.regular);
}

template <typename Archive>
void describe(Archive& io, engines::NonIpTypeCount& it) {
    io("type", it.type);
    io("name", it.name);
    io("packets", it.packets);
}

template <typename Archive>
void describe(Archive& io, Talker& it) {
    io("source", it.source);
    io("destination", it.destination);
    io("echoes", it.echoes);
    io("excess", it.excess);
    io("bytes", it.bytes);
}

template <typename Archive>
void describe(Archive& io, WindowRow& it) {
    io("window_ns", it.window);
    io("fixed", it.fixed);
    io("refresh", it.refresh);
    io("fixed_copied", it.fixed_copied);
    io("refresh_copied", it.refresh_copied);
}

template <typename Archive>
void describe(Archive& io, ModeRow& it) {
    io("window_ns", it.window);
    io("dropped", it.dropped);
    io("lost", it.lost);
    io("missed", it.missed);
}

template <typename Archive>
void describe(Archive& io, Mode& it) {
    io("key", it.key);
    io("recommended", it.recommended);
    io("rows", it.rows);
}

template <typename Archive>
void describe(Archive& io, PayloadRetransmissions& it) {
    io("segments", it.segments);
    io("compared", it.compared);
    io("ages", it.ages);
}

template <typename Archive>
void describe(Archive& io, KeyBytes& it) {
    io("bytes", it.bytes);
    io("cut", it.cut);
    io("others", it.others);
}

template <typename Archive>
void describe(Archive& io, Loop& it) {
    io("one", it.one);
    io("other", it.other);
    io("copies", it.copies);
    io("packets", it.packets);
    io("step", it.step);
    io("round_ns", it.round);
}

template <typename Archive>
void describe(Archive& io, TunnelRelationCount& it) {
    io("meeting", it.meeting);
    io("copied", it.copied);
}

template <typename Archive>
void describe(Archive& io, EncapsulationCount& it) {
    io("name", it.name);
    io("total", it.total);
}

template <typename Archive>
void describe(Archive& io, TunnelStack& it) {
    io("names", it.names);
    io("total", it.total);
}

template <typename Archive>
void describe(Archive& io, TunnelTenant& it) {
    io("kind", it.kind);
    io("number", it.number);
    io("packets", it.packets);
    io("excess", it.excess);
    io("bytes", it.bytes);
}

template <typename Archive>
void describe(Archive& io, TunnelReport& it) {
    io("opened", it.opened);
    io("fragments", it.fragments);
    io("malformed", it.malformed);
    io("other", it.other);
    io("too_deep", it.too_deep);
    io("encapsulations", it.encapsulations);
    io("stacks", it.stacks);
    io("other_stacks", it.other_stacks);
    io("tenants", it.tenants);
    io("meetings", it.meetings);
    io("needing", it.needing);
    io("across_tenants", it.across_tenants);
}

template <typename Archive>
void describe(Archive& io, Recommendation& it) {
    io("needed", it.needed);
    io("key", it.key);
    io("window_ns", it.window);
    io("rate_pps", it.rate);
    io("policy", it.policy);
    io("non_ip", it.non_ip);
    io("repeats", it.repeats);
    io("point", it.point);
    io("tags", it.tags);
    io("same_port_ns", it.same_port);
    io("views", it.views);
    io("second_looks", it.second_looks);
    io("tunnels", it.tunnels);
    io("tenant", it.tenant);
    io("key_bytes", it.key_bytes);
    io("max_false_drop", it.max_false_drop);
    io("engine", it.engine);
    io("engine_chosen", it.engine_chosen);
    io("memory_bytes", it.memory);
    io("covered", it.covered);
    io("removed", it.removed);
    io("removed_copies", it.removed_copies);
    io("removed_cut", it.removed_cut);
    io("key_reason", it.key_reason);
    io("window_reason", it.window_reason);
    io("rate_reason", it.rate_reason);
    io("policy_reason", it.policy_reason);
    io("non_ip_reason", it.non_ip_reason);
    io("repeats_reason", it.repeats_reason);
    io("tunnels_reason", it.tunnels_reason);
    io("tenant_reason", it.tenant_reason);
    io("key_bytes_reason", it.key_bytes_reason);
    io("taps_reason", it.taps_reason);
    io("sure_reason", it.sure_reason);
    io("pcap_options", it.pcap_options);
    io("toml", it.toml);
}

template <typename Archive>
void describe(Archive& io, Removal& it) {
    io("removed", it.removed);
    io("copies", it.copies);
    io("left", it.left);
    io("sent_again", it.sent_again);
    io("others", it.others);
}

template <typename Archive>
void describe(Archive& io, WhatIf& it) {
    io("key", it.key);
    io("non_ip", it.non_ip);
    io("tunnels", it.tunnels);
    io("tenant", it.tenant);
    io("tags", it.tags);
    io("key_bytes", it.key_bytes);
    io("window_ns", it.window);
    io("policy", it.policy);
    io("repeats", it.repeats);
    io("first", it.first);
    io("asked", it.asked);
    io("recommended", it.recommended);
    io("forgotten", it.forgotten);
    io("verdict", it.verdict);
}

template <typename Archive>
void describe(Archive& io, ClockShift& it) {
    io("original", it.original);
    io("echo", it.echo);
    io("packets", it.packets);
    io("age_ns", it.age);
}

template <typename Archive>
void describe(Archive& io, NotCompared& it) {
    io("what", it.what);
    io("effect", it.effect);
    io("packets", it.packets);
    io("text", it.text);
}

template <typename Archive>
void describe(Archive& io, Note& it) {
    io("file", it.file);
    io("number", it.number);
    io("times", it.times);
    io("text", it.text);
}

template <typename Archive>
void describe(Archive& io, Report& it) {
    io("files", it.files);
    io("interfaces", it.interfaces);
    io("other_interfaces", it.other_interfaces);
    io("not_compared", it.not_compared);
    io("warnings", it.warnings);
    io("total", it.total);
    io("captured_bytes", it.captured);
    io("echoes", it.echoes);
    io("copied", it.copied);
    io("sent_again", it.sent_again);
    io("non_ip_copied", it.non_ip_copied);
    io("repeats", it.kinds_sent_again);
    io("youngest_repeat_ns", it.youngest_sent_again);
    io("confidence", it.confidence);
    io("appended", it.appended);
    io("clock_shifts", it.clock_shifts);
    io("keyed", it.keyed);
    io("non_ip", it.non_ip);
    io("non_ip_types", it.non_ip_types);
    io("malformed", it.malformed);
    io("cut", it.cut);
    io("key_bytes", it.key_bytes);
    io("first_time_ns", it.first_time);
    io("last_time_ns", it.last_time);
    io("duration_ns", it.duration);
    io("keys", it.keys);
    io("copies", it.key_times);
    io("ages", it.ages);
    io("causes", it.causes);
    io("differences", it.differences);
    io("look_alikes", it.look_alikes);
    io("loops", it.loops);
    io("crossings", it.crossings);
    io("protocols", it.protocols);
    io("time_bin_ns", it.time_bin);
    io("time", it.time);
    io("talkers", it.talkers);
    io("windows", it.windows);
    io("modes", it.modes);
    io("recommendation", it.recommendation);
    io("what_if", it.what_if);
    io("tunnels", it.tunnels);
    io("blind_after_ns", it.blind_after);
    io("others_blind_after_ns", it.others_blind_after);
    io("memory_bytes", it.memory_bytes);
}

static_assert(!std::is_same_v<Causes, decltype(Report::key_times)>, "one has names, one has none");

// True for arrays that are lists of elements, but not for Causes, which has names.
template <typename T>
struct IsList : IsVector<T> {};
template <typename T, std::size_t n>
struct IsList<std::array<T, n>> : std::bool_constant<!std::is_same_v<std::array<T, n>, Causes>> {};

}  // namespace unecho::analyze
