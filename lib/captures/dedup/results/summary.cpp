// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/summary.h"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/humanize.h"
#include "base/option_names.h"
#include "base/utf8.h"

namespace unecho::dedup {
namespace {

using nlohmann::ordered_json;
using pipeline::PacketBytes;
using pipeline::Reason;

// Shown even if 0. Other reasons are shown if a packet ended in them.
constexpr std::array kAlwaysShown{Reason::kNew, Reason::kDoubt, Reason::kNonIp, Reason::kMalformed,
                                  Reason::kEcho};

const PacketBytes& of(const Summary& summary, Reason reason) {
    return summary.reasons[static_cast<std::size_t>(reason)];
}

std::string share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 || part == 0
               ? ""
               : " (" + percent(static_cast<double>(part) / static_cast<double>(whole)) + ")";
}

// Below these, packets per second would measure the program's start rather than its speed.
constexpr std::uint64_t kMinTimed = 10'000;  // packets
constexpr double kMinSeconds = 0.05;

std::string window_text(const Options& options) {
    std::string text;
    if (options.editcap) {
        return "";
    }
    if (options.window_time() != filter::kInfiniteWindow) {
        text = "window " + format_duration(options.window_time());
    }
    if (options.count) {
        text += fmt::format("{} {} packets", text.empty() ? "the last" : " and the last",
                            format_count(*options.count));
    }
    return text.empty() ? "no end of the window" : text;
}

std::string_view key_name(const Options& options) {
    return packet::name_of(options.key_mode());
}

std::string how_text(const Summary& summary) {
    const Options& options = summary.options;
    std::string text = "key " + std::string(key_name(options));
    if (options.editcap) {
        return fmt::format("{}, {}", text, summary.decider.text);
    }
    if (options.non_ip_or_pass() == packet::NonIp::kFrame) {
        text += ", non-IP frames by their own bytes";
    }
    if (options.tunnels.any()) {
        text += " inside tunnels";
    }
    if (options.tags == packet::Tags::kCompare) {
        text += " and by their tags";
    }
    if (options.key_bytes) {
        text += fmt::format(", the first {} bytes", *options.key_bytes);
    }
    text += ", " + window_text(options);
    if (options.first.value_or(1) > 1) {
        text += fmt::format(", the first {} packets of a flow pass", *options.first);
    }
    if (options.policy_or_fixed() == config::Policy::kRefresh) {
        text += ", refreshed by echoes";
    }
    return fmt::format("{}; engine {}", text, summary.decider.text);
}

// Return "repeats: 12 kept repeats, 3 third looks", without counters that are 0.
template <typename Rows, typename Counters>
std::string counters_text(std::string_view title, const Rows& rows, const Counters& counters) {
    std::string text;
    for (const auto& counter : rows) {
        if (const std::uint64_t packets = counters.*counter.value; packets != 0) {
            text += text.empty() ? std::string(title) + ": " : ", ";
            text += format_count(packets) + " " + spaced(counter.name);
        }
    }
    return text.empty() ? "" : text + "\n";
}

std::string kept_text(const filter::WindowState& window) {
    std::string text =
        fmt::format("window kept: {} at the least, {} after the first packet; {} at the end",
                    format_duration(window.shortest), brief_duration(window.shortest_at),
                    format_duration(window.achieved));
    if (window.early_turns != 0) {
        text += "; early turns: " + format_count(window.early_turns);
    }
    return text + "\n";
}

std::string written_text(const Summary& summary) {
    if (!summary.output) {
        return ", dry run: nothing written";
    }
    if (!summary.split_files) {
        return " to " + escaped(*summary.output);
    }
    const SplitFiles& files = *summary.split_files;
    return files.count == 1 ? " to " + escaped(files.first)
                            : fmt::format(" to {} files, {} to {}", format_count(files.count),
                                          escaped(files.first), escaped(files.last));
}

// JSON allows UTF-8 only, and names of files are bytes.
std::vector<std::string> valid(const std::vector<std::string>& texts) {
    std::vector<std::string> out;
    for (const std::string& text : texts) {
        out.push_back(valid_utf8(text));
    }
    return out;
}

// The JSON is an interface, and so is the order of its members. Each of these adds some of them.

template <typename T>
ordered_json or_null(bool there, const T& value) {
    return there ? ordered_json(value) : ordered_json(nullptr);
}

template <typename T>
ordered_json or_null(const std::optional<T>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json time_or_null(Nanoseconds time) {
    return or_null(time != filter::kInfiniteWindow, time);
}

void add_files(const Summary& summary, ordered_json& out) {
    const bool written = summary.output.has_value();
    const std::string output = summary.output.value_or("");
    const SplitFiles files = summary.split_files.value_or(SplitFiles{1, output, output});
    out["inputs"] = valid(summary.inputs);
    out["output"] = or_null(written, valid_utf8(files.first));
    out["last_output"] = or_null(written, valid_utf8(files.last));
    out["output_files"] = written ? files.count : 0;
}

ordered_json reasons_of(const Summary& summary) {
    ordered_json out;
    for (const pipeline::ReasonInfo& info : pipeline::kReasonTable) {
        const std::uint64_t packets = of(summary, info.reason).packets;
        if (packets != 0 || std::find(kAlwaysShown.begin(), kAlwaysShown.end(), info.reason) !=
                                kAlwaysShown.end()) {
            out[std::string(info.name)] = packets;
        }
    }
    return out;
}

void add_packets(const Summary& summary, ordered_json& out) {
    out["packets"] = summary.received().packets;
    out["bytes"] = summary.received().bytes;
    out["wire_bytes"] = summary.wire_bytes;
    out["kept"] = summary.kept().packets;
    out["kept_bytes"] = summary.kept().bytes;
    out["dropped"] = summary.dropped().packets;
    out["dropped_bytes"] = summary.dropped().bytes;
    out["dropped_wire_bytes"] = summary.dropped_wire_bytes;
    out["marked"] = summary.marked;
    out["reasons"] = reasons_of(summary);
    ordered_json& types = out["non_ip_types"] = ordered_json::array();
    for (const engines::NonIpTypeCount& one : summary.non_ip_types) {
        types.push_back({{"type", one.type}, {"name", one.name}, {"packets", one.packets}});
    }
    for (const auto& counter : packet::kTunnelCounters) {
        out["tunnels"][std::string(counter.name)] = summary.tunnels.*counter.value;
    }
    out["repeats"] = nullptr;
    if (summary.repeats) {
        for (const auto& counter : filter::kRepeatCounters) {
            out["repeats"][std::string(counter.name)] = *summary.repeats.*counter.value;
        }
        out["repeats"]["answers"] = engines::to_json(summary.answers);
    }
    out["left_out"] = or_null(summary.left_out);
    if (summary.after_last_file != 0) {
        out["behind_last_file"] = summary.after_last_file;
    }
    out["shard"] =
        summary.options.shard ? ordered_json(summary.options.shard->text()) : ordered_json(nullptr);
    out["read"] = summary.read;
}

void add_settings(const Options& options, ordered_json& out) {
    out["key"] = key_name(options);
    out["non_ip"] =
        or_null(options.key_mode() != packet::KeyMode::kFrame,
                config::kNonIpNames.at(static_cast<std::size_t>(options.non_ip_or_pass())));
    ordered_json& tunnels = out["tunnels_opened"] = ordered_json::array();
    for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
        if (options.tunnels.has(info.encapsulation)) {
            tunnels.push_back(info.name);
        }
    }
    out["tenant"] =
        or_null(options.tunnels.any(),
                packet::kTenantNames.at(static_cast<std::size_t>(
                    options.tenant.value_or(packet::default_tenant(options.key_mode())))));
    out["tags"] = or_null(options.key_mode() != packet::KeyMode::kFrame,
                          packet::kTagsNames.at(static_cast<std::size_t>(
                              options.tags.value_or(packet::Tags::kIgnore))));
    out["key_bytes"] = or_null(options.key_bytes);
    out["window_ns"] = time_or_null(options.window_time());
    out["count"] = or_null(options.count);
    out["policy"] =
        options.editcap
            ? "editcap"
            : config::kPolicyNames.at(static_cast<std::size_t>(options.policy_or_fixed()));
    out["first"] = options.first.value_or(1);
}

void add_decider(const Summary& summary, ordered_json& out) {
    const DeciderFacts& decider = summary.decider;
    const Nanoseconds whole = summary.options.window_time();
    const filter::WindowState window =
        decider.window.value_or(filter::WindowState{.achieved = whole, .shortest = whole});
    out["engine"] = decider.engine;
    out["engine_text"] = decider.text;
    out["slack_ns"] = decider.slack;
    out["handed_over_at"] = or_null(decider.handed_over != 0, decider.handed_over);
    out["forgotten"] = decider.forgotten;
    out["achieved_window_ns"] = time_or_null(window.achieved);
    out["shortest_window_ns"] = time_or_null(window.shortest);
    out["shortest_window_at_ns"] = or_null(summary.window_fell_short(), window.shortest_at);
    out["early_turns"] = window.early_turns;
}

}  // namespace

PacketBytes Summary::received() const {
    PacketBytes sum;
    for (const PacketBytes& some : reasons) {
        sum.add(some.packets, some.bytes);
    }
    return sum;
}

PacketBytes Summary::dropped() const {
    return of(*this, Reason::kEcho);
}

PacketBytes Summary::kept() const {
    PacketBytes rest = received();
    rest.packets -= dropped().packets;
    rest.bytes -= dropped().bytes;
    return rest;
}

std::string window_warning(const Options& options, const filter::WindowState& window) {
    std::string text = fmt::format(
        "the window was shorter than asked for, {} at the least, {} after the first packet: echoes "
        "of that age or more may have been kept; give more {} or a smaller ",
        format_duration(window.shortest), brief_duration(window.shortest_at), option::kMemory);
    return text + (options.count ? option::kCount : option::kWindow);
}

std::string to_text(const Summary& summary) {
    const PacketBytes in = summary.received();
    const PacketBytes out = summary.dropped();
    std::string text = format_quantity(in.packets, "packet") + ", " +
                       traffic(summary.wire_bytes, in.bytes) + "\nkept " +
                       format_count(summary.kept().packets) +
                       (summary.marked ? ", marked " : ", dropped ") +
                       format_quantity(out.packets, "echo") + share(out.packets, in.packets);
    text += out.packets == 0 ? "\n" : ": " + traffic(summary.dropped_wire_bytes, out.bytes) + "\n";
    std::string rest;
    for (const pipeline::ReasonInfo& info : pipeline::kReasonTable) {
        const std::uint64_t packets = of(summary, info.reason).packets;
        if (packets != 0 && info.fate == pipeline::Disposition::kForwarded &&
            info.reason != Reason::kNew) {
            rest += (rest.empty() ? "of those kept, " : "; ") + format_count(packets) + " " +
                    std::string(info.name) + " (" + std::string(info.help) + ")";
        }
    }
    text += rest.empty() ? "" : rest + "\n";
    if (!summary.non_ip_types.empty()) {
        text += fmt::format("non-IP: {}\n", engines::text_of(summary.non_ip_types));
    }
    text += counters_text("tunnels", packet::kTunnelCounters, summary.tunnels);
    if (summary.repeats) {
        text += counters_text("repeats", filter::kRepeatCounters, *summary.repeats);
    }
    if (summary.left_out) {
        text += fmt::format("{} packets left out before, by {}, {} or {}\n",
                            format_count(*summary.left_out), option::kStart, option::kStop,
                            option::kFilter);
    }
    if (summary.after_last_file != 0) {
        text +=
            format_count(summary.after_last_file) + " of those kept came behind the last file\n";
    }
    if (summary.options.shard) {
        text += fmt::format("shard {} of {}; the rest are the other shards'\n",
                            summary.options.shard->text(), format_quantity(summary.read, "packet"));
    }
    text += how_text(summary) + "\n";
    text += summary.window_fell_short() ? kept_text(*summary.decider.window) : "";
    if (summary.audit) {
        text += "audit\n" + engines::to_text(*summary.audit);
    }
    text += format_number("%.2f", summary.seconds) + " s";
    if (in.packets >= kMinTimed && summary.seconds >= kMinSeconds) {
        text += ", " + format_rate(static_cast<double>(in.packets) / summary.seconds);
    }
    return text + written_text(summary) + "\n";
}

ordered_json to_json(const Summary& summary) {
    ordered_json out;
    add_files(summary, out);
    add_packets(summary, out);
    add_settings(summary.options, out);
    add_decider(summary, out);
    out["max_false_drop"] = summary.options.false_drop();
    out["duration_ns"] = summary.duration;
    if (summary.audit) {
        out["audit"] = engines::to_json(*summary.audit);
    }
    out["warnings"] = valid(summary.warnings);
    out["seconds"] = summary.seconds;
    return out;
}

}  // namespace unecho::dedup
