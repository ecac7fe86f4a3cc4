// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_json.h"

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "captures/analyze/analysis_state.h"
#include "captures/analyze/report/text_format.h"

namespace unecho::analyze {

using Json = nlohmann::ordered_json;

namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json by_name(const Causes& causes) {
    Json out = Json::object();
    for (std::size_t i = 0; i < causes.size(); ++i) {
        out[std::string(kCauseTable[i].name)] = causes[i];
    }
    return out;
}

Json types_of(const std::vector<engines::NonIpTypeCount>& types) {
    Json out = Json::array();
    for (const engines::NonIpTypeCount& one : types) {
        out.push_back({{"type", one.type}, {"name", one.name}, {"packets", one.packets}});
    }
    return out;
}

}  // namespace

// nlohmann::json finds these by the type of their argument, so they are in no unnamed namespace.

static void to_json(Json& json, const Count& it) {
    json = {{"packets", it.packets}, {"bytes", it.bytes}};
}

static void to_json(Json& json, const FileInfo& it) {
    json = {{"path", it.path}, {"total", it.total}, {"echoes", it.echoes}, {"copied", it.copied}};
}

static void to_json(Json& json, const InterfaceInfo& it) {
    json = {{"name", it.name},           {"file", it.file},   {"link_type", it.link_type},
            {"link_name", it.link_name}, {"total", it.total}, {"echoes", it.echoes},
            {"copied", it.copied}};
}

static void to_json(Json& json, const AgeBin& it) {
    json = {{"low_ns", it.low},
            {"high_ns", it.high},
            {"echoes", it.echoes},
            {"causes", by_name(it.causes)}};
}

static void to_json(Json& json, const Ages& it) {
    json = {
        {"youngest_ns", it.youngest}, {"oldest_ns", it.oldest}, {"resolution_ns", it.resolution},
        {"p50_ns", it.p50},           {"p90_ns", it.p90},       {"p99_ns", it.p99},
        {"p999_ns", it.p999},         {"bins", it.bins}};
}

static void to_json(Json& json, const CauseCount& it) {
    json = {{"cause", name_of(it.cause)}, {"echoes", it.echoes}, {"copied", it.copied}};
}

static void to_json(Json& json, const DifferenceCount& it) {
    json = {
        {"difference", info_of(it.difference).name}, {"echoes", it.echoes}, {"copied", it.copied}};
}

static void to_json(Json& json, const Crossing& it) {
    json = {{"original", it.original}, {"echo", it.echo}, {"echoes", it.echoes}};
}

static void to_json(Json& json, const ProtocolCount& it) {
    json = {{"name", it.name}, {"total", it.total}, {"echoes", it.echoes}, {"copied", it.copied}};
}

static void to_json(Json& json, const TimeBin& it) {
    json = {{"start_ns", it.start}, {"total", it.total}, {"echoes", it.echoes}};
}

static void to_json(Json& json, const SentAgain& it) {
    json = {{"protocol", it.protocol},    {"echoes", it.echoes},    {"period_ns", it.period},
            {"youngest_ns", it.youngest}, {"oldest_ns", it.oldest}, {"regular", it.regular}};
}

static void to_json(Json& json, const Talker& it) {
    json = {{"source", it.source},
            {"destination", it.destination},
            {"echoes", it.echoes},
            {"excess", it.excess},
            {"bytes", it.bytes}};
}

static void to_json(Json& json, const WindowRow& it) {
    json = {{"window_ns", or_null(it.window)},
            {"fixed", it.fixed},
            {"refresh", it.refresh},
            {"fixed_copied", it.fixed_copied},
            {"refresh_copied", it.refresh_copied}};
}

static void to_json(Json& json, const ModeRow& it) {
    json = {{"window_ns", or_null(it.window)},
            {"dropped", it.dropped},
            {"lost", it.lost},
            {"missed", it.missed}};
}

static void to_json(Json& json, const Mode& it) {
    json = {{"key", packet::name_of(it.key)}, {"recommended", it.recommended}, {"rows", it.rows}};
}

static void to_json(Json& json, const PayloadRetransmissions& it) {
    json = {{"segments", it.segments}, {"compared", it.compared}, {"ages", it.ages}};
}

static void to_json(Json& json, const KeyBytes& it) {
    json = {{"bytes", it.bytes}, {"cut", it.cut}, {"others", it.others}};
}

static void to_json(Json& json, const Loop& it) {
    json = {{"one", it.one},         {"other", it.other}, {"copies", it.copies},
            {"packets", it.packets}, {"step", it.step},   {"round_ns", it.round}};
}

static void to_json(Json& json, const TunnelRelationCount& it) {
    json = {{"meeting", info_of(it.meeting).name}, {"copied", it.copied}};
}

static void to_json(Json& json, const EncapsulationCount& it) {
    json = {{"name", it.name}, {"total", it.total}};
}

static void to_json(Json& json, const TunnelStack& it) {
    json = {{"names", it.names}, {"total", it.total}};
}

static void to_json(Json& json, const TunnelTenant& it) {
    json = {{"kind", it.kind},
            {"number", it.number},
            {"packets", it.packets},
            {"excess", it.excess},
            {"bytes", it.bytes}};
}

static void to_json(Json& json, const TunnelReport& it) {
    json = {{"opened", it.opened},       {"fragments", it.fragments},
            {"malformed", it.malformed}, {"other", it.other},
            {"too_deep", it.too_deep},   {"encapsulations", it.encapsulations},
            {"stacks", it.stacks},       {"other_stacks", it.other_stacks},
            {"tenants", it.tenants},     {"meetings", it.meetings},
            {"needing", it.needing},     {"across_tenants", it.across_tenants}};
}

static void to_json(Json& json, const Recommendation& it) {
    json = {{"needed", it.needed},
            {"key", packet::name_of(it.key)},
            {"window_ns", it.window},
            {"rate_pps", it.rate},
            {"policy", text_of(it.policy)},
            {"non_ip", text_of(it.non_ip)},
            {"repeats", text_of(it.repeats)},
            {"point", text_of(it.point)},
            {"tags", text_of(it.tags)},
            {"same_port_ns", or_null(it.same_port)},
            {"views", it.views},
            {"second_looks", text_of(it.second_looks)},
            {"tunnels", it.tunnels},
            {"tenant", text_of(it.tenant)},
            {"key_bytes", or_null(it.key_bytes)},
            {"max_false_drop", it.max_false_drop},
            {"engine", text_of(it.engine)},
            {"engine_chosen", it.engine_chosen},
            {"memory_bytes", it.memory},
            {"covered", it.covered},
            {"removed", it.removed},
            {"removed_copies", it.removed_copies},
            {"removed_cut", it.removed_cut},
            {"key_reason", it.key_reason},
            {"window_reason", it.window_reason},
            {"rate_reason", it.rate_reason},
            {"policy_reason", it.policy_reason},
            {"non_ip_reason", it.non_ip_reason},
            {"repeats_reason", it.repeats_reason},
            {"tunnels_reason", it.tunnels_reason},
            {"tenant_reason", it.tenant_reason},
            {"key_bytes_reason", it.key_bytes_reason},
            {"taps_reason", it.taps_reason},
            {"sure_reason", it.sure_reason},
            {"pcap_options", it.pcap_options},
            {"toml", it.toml}};
}

static void to_json(Json& json, const Removal& it) {
    json = {{"removed", it.removed},
            {"copies", it.copies},
            {"left", it.left},
            {"sent_again", it.sent_again},
            {"others", it.others}};
}

static void to_json(Json& json, const WhatIf& it) {
    json = {{"key", packet::name_of(it.key)},
            {"non_ip", text_of(it.non_ip)},
            {"tunnels", it.tunnels},
            {"tenant", text_of(it.tenant)},
            {"tags", text_of(it.tags)},
            {"key_bytes", or_null(it.key_bytes)},
            {"window_ns", or_null(it.window)},
            {"policy", text_of(it.policy)},
            {"repeats", text_of(it.repeats)},
            {"first", it.first},
            {"asked", it.asked},
            {"recommended", it.recommended},
            {"forgotten", it.forgotten},
            {"verdict", it.verdict}};
}

static void to_json(Json& json, const ClockShift& it) {
    json = {
        {"original", it.original}, {"echo", it.echo}, {"packets", it.packets}, {"age_ns", it.age}};
}

static void to_json(Json& json, const NotCompared& it) {
    json = {{"what", it.what},
            {"effect", kNotComparedEffects.at(static_cast<std::size_t>(it.effect))},
            {"packets", it.packets},
            {"text", it.text}};
}

static void to_json(Json& json, const Note& it) {
    json = {{"file", it.file}, {"number", it.number}, {"times", it.times}, {"text", it.text}};
}

static void to_json(Json& json, const Report& it) {
    json = {{"files", it.files},
            {"interfaces", it.interfaces},
            {"other_interfaces", it.other_interfaces},
            {"not_compared", it.not_compared},
            {"warnings", it.warnings},
            {"total", it.total},
            {"captured_bytes", it.captured},
            {"echoes", it.echoes},
            {"copied", it.copied},
            {"sent_again", it.sent_again},
            {"non_ip_copied", it.non_ip_copied},
            {"repeats", it.kinds_sent_again},
            {"youngest_repeat_ns", or_null(it.youngest_sent_again)},
            {"confidence", or_null(it.confidence)},
            {"appended", it.appended},
            {"clock_shifts", it.clock_shifts},
            {"keyed", it.keyed},
            {"non_ip", it.non_ip},
            {"non_ip_types", types_of(it.non_ip_types)},
            {"malformed", it.malformed},
            {"cut", it.cut},
            {"key_bytes", it.key_bytes},
            {"first_time_ns", it.first_time},
            {"last_time_ns", it.last_time},
            {"duration_ns", it.duration},
            {"keys", it.keys},
            {"copies", it.key_times},
            {"ages", it.ages},
            {"causes", it.causes},
            {"differences", it.differences},
            {"look_alikes", it.look_alikes},
            {"loops", it.loops},
            {"crossings", it.crossings},
            {"protocols", it.protocols},
            {"time_bin_ns", it.time_bin},
            {"time", it.time},
            {"talkers", it.talkers},
            {"windows", it.windows},
            {"modes", it.modes},
            {"recommendation", it.recommendation},
            {"what_if", or_null(it.what_if)},
            {"tunnels", or_null(it.tunnels)},
            {"blind_after_ns", or_null(it.blind_after)},
            {"others_blind_after_ns", or_null(it.others_blind_after)},
            {"memory_bytes", it.memory_bytes}};
}

Json to_json(const Report& report) {
    return report;
}

// The state that merges is long and for programs only, so it is one line.
std::string to_json_text(const Report& report) {
    std::string text = to_json(report).dump(1, ' ', true, Json::error_handler_t::replace);
    if (report.whole != nullptr) {
        text.resize(text.size() - std::string_view("\n}").size());
        text += ",\n \"merge\": " + to_json_text(*report.whole) + "\n}";
    }
    return text + "\n";
}

}  // namespace unecho::analyze
