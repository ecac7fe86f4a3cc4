// SPDX-License-Identifier: BSD-3-Clause
#include "offline/summary.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "base/words.h"

namespace unecho::offline {
namespace {

using pipeline::PacketBytes;
using pipeline::Reason;

// Shown at 0 too; others where a packet of a capture ended in them.
constexpr std::array kAlwaysShown{Reason::kNew, Reason::kDoubt, Reason::kNonIp, Reason::kMalformed,
                                  Reason::kEcho};

// EtherTypes that the text names.
constexpr std::size_t kTypesShown = 8;

const PacketBytes& of(const Summary& summary, Reason reason) {
    return summary.reasons[static_cast<std::size_t>(reason)];
}

std::string fixed(double value, int digits) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return text.data();
}

std::string share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 || part == 0
               ? ""
               : " (" + percent(static_cast<double>(part) / static_cast<double>(whole)) + ")";
}

// Packets per second of less say more of starting than of reading.
constexpr std::uint64_t kLeastTimed = 10'000;  // packets
constexpr double kLeastSeconds = 0.05;

std::string window_text(const Options& options) {
    std::string text;
    if (options.editcap) {
        return "";
    }
    if (options.window_time() != filter::kInfiniteWindow) {
        text = "window " + format_duration(options.window_time());
    }
    if (options.count) {
        text += (text.empty() ? "the last " : " and the last ") + format_count(*options.count) +
                " packets";
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
        return text + ", " + summary.engine_text;
    }
    if (options.non_ip_or_pass() == packet::NonIp::kFrame) {
        text += ", non-IP frames by their own bytes";
    }
    text += ", " + window_text(options);
    if (options.first.value_or(1) > 1) {
        text += ", the first " + std::to_string(*options.first) + " packets of a flow pass";
    }
    if (options.policy_or_fixed() == config::Policy::kRefresh) {
        text += ", refreshed by echoes";
    }
    return text + "; engine " + summary.engine_text;
}

// "30 ARP (0x0806), 2 802.3; 7 of 3 other types"
std::string non_ip_text(const std::vector<NonIpType>& types) {
    std::string text;
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
        const NonIpType& one = types[i];
        if (i >= kTypesShown) {
            others += one.packets;
            continue;
        }
        text += (i == 0 ? "non-IP: " : ", ") + format_count(one.packets) + " " +
                (one.name.empty() ? one.type : one.name + " (" + one.type + ")");
    }
    if (others != 0) {
        text += "; " + format_count(others) + " of " + std::to_string(types.size() - kTypesShown) +
                " other types";
    }
    return text.empty() ? "" : text + "\n";
}

std::string kept_text(const filter::WindowState& window) {
    std::string text = "window kept: " + format_duration(window.shortest) + " at the least, " +
                       brief(window.shortest_at) + " after the first packet; " +
                       format_duration(window.achieved) + " at the end";
    if (window.early_turns != 0) {
        text += "; early turns: " + format_count(window.early_turns);
    }
    return text + "\n";
}

std::string written_text(const Summary& summary) {
    if (!summary.output) {
        return ", dry run: nothing written";
    }
    if (!summary.row) {
        return " to " + escaped(*summary.output);
    }
    const Summary::Row& row = *summary.row;
    return row.files == 1 ? " to " + escaped(row.first)
                          : " to " + format_count(row.files) + " files, " + escaped(row.first) +
                                " to " + escaped(row.last);
}

// JSON holds UTF-8 alone; names of files are bytes.
std::vector<std::string> valid(const std::vector<std::string>& texts) {
    std::vector<std::string> out;
    for (const std::string& text : texts) {
        out.push_back(valid_utf8(text));
    }
    return out;
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

std::string warning_text(const capture::Warning& warning, const std::vector<std::string>& inputs) {
    std::string text = warning.file < inputs.size() ? escaped(inputs[warning.file]) + ": " : "";
    if (warning.number != 0) {
        text += "packet " + std::to_string(warning.number) + ": ";
    }
    text += warning.text;
    return warning.times > 1 ? text + " (" + format_count(warning.times) + " times)" : text;
}

std::string window_warning(const Options& options, const filter::WindowState& window) {
    std::string text = "the window was shorter than asked for, " +
                       format_duration(window.shortest) + " at the least, " +
                       brief(window.shortest_at) +
                       " after the first packet: echoes of that age or more may have been kept; "
                       "give more --memory";
    return text + (options.count ? " or a smaller --count" : " or a smaller --window");
}

std::string to_text(const Summary& summary) {
    const PacketBytes in = summary.received();
    const PacketBytes out = summary.dropped();
    std::string text =
        counted(in.packets, "packet") + ", " + traffic(summary.wire_bytes, in.bytes) + "\nkept " +
        format_count(summary.kept().packets) + (summary.marked ? ", marked " : ", dropped ") +
        counted(out.packets, "echo") + share(out.packets, in.packets);
    text += out.packets == 0 ? "\n" : ": " + traffic(summary.dropped_wire_bytes, out.bytes) + "\n";
    std::string rest;
    for (const pipeline::ReasonInfo& info : pipeline::kReasonTable) {
        const std::uint64_t packets = of(summary, info.reason).packets;
        if (packets != 0 && info.fate == pipeline::Fate::kForwarded &&
            info.reason != Reason::kNew) {
            rest += (rest.empty() ? "of those kept, " : "; ") + format_count(packets) + " " +
                    std::string(info.name) + " (" + std::string(info.help) + ")";
        }
    }
    text += rest.empty() ? "" : rest + "\n";
    text += non_ip_text(summary.non_ip_types);
    if (summary.left_out) {
        text +=
            format_count(*summary.left_out) + " packets left out before, by -A, -B or --filter\n";
    }
    text += how_text(summary) + "\n";
    text += summary.fell_short() ? kept_text(*summary.window) : "";
    text += fixed(summary.seconds, 2) + " s";
    if (in.packets >= kLeastTimed && summary.seconds >= kLeastSeconds) {
        text += ", " + format_rate(static_cast<double>(in.packets) / summary.seconds);
    }
    return text + written_text(summary) + "\n";
}

nlohmann::ordered_json to_json(const Summary& summary) {
    using nlohmann::ordered_json;
    const Options& options = summary.options;
    ordered_json reasons;
    for (const pipeline::ReasonInfo& info : pipeline::kReasonTable) {
        const std::uint64_t packets = of(summary, info.reason).packets;
        if (packets != 0 || std::find(kAlwaysShown.begin(), kAlwaysShown.end(), info.reason) !=
                                kAlwaysShown.end()) {
            reasons[std::string(info.name)] = packets;
        }
    }
    ordered_json types = ordered_json::array();
    for (const NonIpType& one : summary.non_ip_types) {
        types.push_back({{"type", one.type}, {"name", one.name}, {"packets", one.packets}});
    }
    const auto or_null = [](bool there, auto value) {
        return there ? ordered_json(value) : ordered_json(nullptr);
    };
    const std::string output = summary.output.value_or("");
    const Summary::Row row = summary.row.value_or(Summary::Row{1, output, output});
    const bool endless = options.window_time() == filter::kInfiniteWindow;
    const filter::WindowState whole{.achieved = options.window_time(),
                                    .shortest = options.window_time()};
    const filter::WindowState window = summary.window.value_or(whole);
    const auto time_or_null = [&](Nanoseconds time) {
        return or_null(time != filter::kInfiniteWindow, time);
    };
    return {{"inputs", valid(summary.inputs)},
            {"output", or_null(summary.output.has_value(), valid_utf8(row.first))},
            {"last_output", or_null(summary.output.has_value(), valid_utf8(row.last))},
            {"output_files", summary.output ? row.files : 0},
            {"packets", summary.received().packets},
            {"bytes", summary.received().bytes},
            {"wire_bytes", summary.wire_bytes},
            {"kept", summary.kept().packets},
            {"kept_bytes", summary.kept().bytes},
            {"dropped", summary.dropped().packets},
            {"dropped_bytes", summary.dropped().bytes},
            {"dropped_wire_bytes", summary.dropped_wire_bytes},
            {"marked", summary.marked},
            {"reasons", reasons},
            {"non_ip_types", types},
            {"left_out", or_null(summary.left_out.has_value(), summary.left_out.value_or(0))},
            {"key", key_name(options)},
            {"non_ip",
             or_null(options.key_mode() != packet::KeyMode::kFrame,
                     config::kNonIpNames.at(static_cast<std::size_t>(options.non_ip_or_pass())))},
            {"window_ns", or_null(!endless, options.window_time())},
            {"count", or_null(options.count.has_value(), options.count.value_or(0))},
            {"policy", options.editcap ? "editcap"
                                       : config::kPolicyNames.at(
                                             static_cast<std::size_t>(options.policy_or_fixed()))},
            {"first", options.first.value_or(1)},
            {"engine", summary.engine},
            {"engine_text", summary.engine_text},
            {"slack_ns", summary.slack},
            {"handed_over_at", or_null(summary.handed_over != 0, summary.handed_over)},
            {"forgotten", summary.forgotten},
            {"achieved_window_ns", time_or_null(window.achieved)},
            {"shortest_window_ns", time_or_null(window.shortest)},
            {"shortest_window_at_ns", or_null(summary.fell_short(), window.shortest_at)},
            {"early_turns", window.early_turns},
            {"max_false_drop", options.false_drop()},
            {"duration_ns", summary.duration},
            {"warnings", valid(summary.warnings)},
            {"seconds", summary.seconds}};
}

}  // namespace unecho::offline
