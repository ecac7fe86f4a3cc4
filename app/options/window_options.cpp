// SPDX-License-Identifier: BSD-3-Clause
#include "options/window_options.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/join_text.h"
#include "base/option_names.h"
#include "config/schema.h"

namespace unecho::app {
namespace {

Result<packet::EncapsulationSet> parse_tunnels(const std::string& text) {
    const auto refuse = [](const std::string& part, const std::string& why) {
        return fail(
            Errc::kInvalidArgument,
            fmt::format(
                "\"{}\" {}; allowed: all, none, or different ones of {} with commas between", part,
                why, join_text(config::kEncapsulationNames)));
    };
    packet::EncapsulationSet set;
    if (text == "none") {
        return set;
    }
    if (text == "all") {
        return packet::EncapsulationSet::all();
    }
    for (const std::string& part : parts_of(text)) {
        if (part == "all" || part == "none") {
            return refuse(part, "stands alone, in no list");
        }
        const auto found = parse_name(part, config::kEncapsulationNames);
        if (!found) {
            return refuse(part, "is unknown");
        }
        const auto one = static_cast<packet::Encapsulation>(*found);
        if (set.has(one)) {
            return refuse(part, "is in the list already");
        }
        set.add(one);
    }
    return set;
}

auto in_range(config::WholeRange range) {
    return [range](const std::string& text) -> Result<std::uint64_t> {
        const auto value = parse_whole(text);
        if (value && range.contains(*value)) {
            return *value;
        }
        return fail(Errc::kInvalidArgument,
                    fmt::format("{}; allowed: {} to {}", value ? text : value.error().context,
                                range.lo, range.hi));
    };
}

Result<std::vector<std::uint16_t>> parse_ports(const std::string& text) {
    const auto from_to = [](const config::WholeRange& range) {
        return fmt::format("{} to {}", range.lo, range.hi);
    };
    const auto refuse = [&](const std::string& what) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("{}; allowed: {} different ones from {} with commas between", what,
                                from_to(config::kVxlanPortCount), from_to(config::kUdpPort)));
    };
    std::vector<std::uint16_t> ports;
    for (const std::string& part : parts_of(text)) {
        const auto port = parse_whole(part);
        if (!port || !config::kUdpPort.contains(*port)) {
            return refuse(port ? part : port.error().context);
        }
        const auto number = static_cast<std::uint16_t>(*port);
        if (std::find(ports.begin(), ports.end(), number) != ports.end()) {
            return refuse(part + " is in the list already");
        }
        ports.push_back(number);
    }
    if (!config::kVxlanPortCount.contains(ports.size())) {
        return refuse(std::to_string(ports.size()) + " ports");
    }
    return ports;
}

// Parse numbers of taps, separated by commas.
Result<std::vector<std::uint32_t>> parse_group(const std::string& text) {
    constexpr std::uint64_t kMaxTap = 65535;
    std::vector<std::uint32_t> taps;
    for (const std::string& part : parts_of(text)) {
        const auto tap = parse_whole(part);
        const bool sound = tap && *tap >= 1 && *tap <= kMaxTap;
        if (!sound || std::find(taps.begin(), taps.end(), *tap) != taps.end()) {
            return fail(
                Errc::kInvalidArgument,
                "\"" + text + "\"; allowed: different numbers of taps from 1 with commas between");
        }
        taps.push_back(static_cast<std::uint32_t>(*tap));
    }
    return taps;
}

}  // namespace

WindowWords deciding_words() {
    return {.key = "Which bytes make packets the same",
            .non_ip = "Whether to compare frames without an IP packet (frame)",
            .tunnels = "Encapsulations to look into for the packet that is compared",
            .tags =
                "Whether VLANs, MPLS labels and the like must be equal, too "
                "(compare), or say where a packet was seen (point)",
            .window = "A copy younger than this is an echo",
            .policy = "Whether an echo begins the window anew (refresh)",
            .first = "Packets of a flow that pass in each window, with a flow key"};
}

void add_repeat_options(CLI::App& command, RepeatOptions& options) {
    command
        .add_option(option::kRepeats, options.repeats,
                    "Equal packets without an ID (IPv6, IPv4 with ID 0 or 1): keep those that were "
                    "sent again (keep, default), told by where each was seen, or drop all (drop)")
        ->type_name(one_of(packet::kRepeatsNames));
    command
        .add_option(option::kPoint, options.point,
                    "What makes a point of observation: the tap and the MAC addresses (link, "
                    "default), these and the TTL (link-ttl), or the tap alone (port)")
        ->type_name(one_of(packet::kPointNames));
    command
        .add_option(option::kSamePort, options.same_port,
                    "Time within which a port that mirrors both directions shows a packet again: " +
                        duration_literal(dedup::kDefaultSamePort) +
                        " (default with one tap), or 0s (default with several)")
        ->type_name("DURATION");
    command
        .add_option(option::kViews, options.views,
                    "How often such a port shows each packet: 2 (default) to 14")
        ->type_name("N");
    command
        .add_option(
            option::kSecondLooks, options.second_looks,
            "Which packets that a port shows again within --same-port are copies: those of pairs "
            "of MAC addresses most of whose packets come twice (doubled, default), or all")
        ->type_name(one_of(packet::kSecondLooksNames));
    command
        .add_option(option::kGroup, options.groups,
                    "Taps, by number, that are one point: members of a LAG, the two monitor ports "
                    "of one tap; may be given several times")
        ->type_name("N,N")
        ->allow_extra_args(false);
}

void read_repeat_options(OptionReader& read, const RepeatOptions& given, dedup::Options& out) {
    read(option::kRepeats, given.repeats, name_in(packet::kRepeatsNames),
         [&](std::size_t i) { out.repeats = static_cast<packet::Repeats>(i); });
    read(option::kPoint, given.point, name_in(packet::kPointNames),
         [&](std::size_t i) { out.point = static_cast<packet::Point>(i); });
    read(option::kSamePort, given.same_port, parse_duration,
         [&](Nanoseconds time) { out.same_port = time; });
    read(option::kViews, given.views, parse_positive, [&](std::uint64_t n) {
        out.views = static_cast<unsigned>(std::min<std::uint64_t>(n, ~0U));
    });
    read(option::kSecondLooks, given.second_looks, name_in(packet::kSecondLooksNames),
         [&](std::size_t i) { out.second_looks = static_cast<packet::SecondLooks>(i); });
    for (const std::string& group : given.groups) {
        read(option::kGroup, group, parse_group,
             [&](std::vector<std::uint32_t> taps) { out.groups.push_back(std::move(taps)); });
    }
}

void add_window_options(CLI::App& command, WindowOptions& options, const WindowWords& words) {
    const auto one = [&](const option::Name& name, OptionText& text, const std::string& help,
                         const auto& names) {
        command.add_option(name, text, help + ": " + first_or(names))->type_name(one_of(names));
    };
    one(option::kKey, options.key, words.key, config::kKeyNames);
    one(option::kNonIp, options.non_ip, words.non_ip, config::kNonIpNames);
    command
        .add_option(option::kTunnels, options.tunnels,
                    fmt::format("{}: none (default), all, or names with commas between: {}",
                                words.tunnels, join_text(config::kEncapsulationNames)))
        ->type_name("LIST");
    command
        .add_option(option::kVxlanPorts, options.vxlan_ports,
                    "UDP ports of VXLAN beside 4789, 8472 and 48879, with commas between")
        ->type_name("LIST");
    command
        .add_option(option::kTenant, options.tenant,
                    "Whether the identifier of a tunnel (VNI, TEID) is part of the key; default: "
                    "match with keys of flows, else ignore")
        ->type_name(one_of(config::kTenantNames));
    one(option::kTags, options.tags, words.tags, config::kTagsNames);
    command
        .add_option(option::kKeyBytes, options.key_bytes,
                    fmt::format("Of the packet, from its IP header, so many bytes count: {} to {}",
                                config::kKeyBytes.lo, config::kKeyBytes.hi))
        ->type_name("N");
    command
        .add_option(option::kWindow, options.window,
                    fmt::format("{}: {} (default), or inf", words.window,
                                duration_literal(dedup::kDefaultWindow)))
        ->type_name("DURATION");
    one(option::kPolicy, options.policy, words.policy, config::kPolicyNames);
    command.add_option(option::kFirst, options.first, words.first + " (1)")->type_name("N");
}

void read_window_options(OptionReader& read, const WindowOptions& given, dedup::Options& out) {
    read(option::kKey, given.key, name_in(config::kKeyNames),
         [&](std::size_t i) { out.key = static_cast<packet::KeyMode>(i); });
    read(option::kNonIp, given.non_ip, name_in(config::kNonIpNames),
         [&](std::size_t i) { out.non_ip = static_cast<packet::NonIp>(i); });
    read(option::kTunnels, given.tunnels, parse_tunnels,
         [&](packet::EncapsulationSet set) { out.tunnels = set; });
    read(option::kVxlanPorts, given.vxlan_ports, parse_ports,
         [&](std::vector<std::uint16_t> ports) { out.vxlan_ports = std::move(ports); });
    read(option::kTenant, given.tenant, name_in(config::kTenantNames),
         [&](std::size_t i) { out.tenant = static_cast<packet::Tenant>(i); });
    read(option::kTags, given.tags, name_in(config::kTagsNames),
         [&](std::size_t i) { out.tags = static_cast<packet::Tags>(i); });
    read(option::kKeyBytes, given.key_bytes, in_range(config::kKeyBytes),
         [&](std::uint64_t bytes) { out.key_bytes = static_cast<std::uint32_t>(bytes); });
    read(option::kWindow, given.window, parse_window, [&](Nanoseconds w) { out.window = w; });
    read(option::kPolicy, given.policy, name_in(config::kPolicyNames),
         [&](std::size_t i) { out.policy = static_cast<config::Policy>(i); });
    read(option::kFirst, given.first, parse_first, [&](unsigned n) { out.first = n; });
}

}  // namespace unecho::app
