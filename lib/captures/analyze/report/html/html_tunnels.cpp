// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "captures/analyze/report/html/html_parts.h"
#include "captures/analyze/report/html/html_sections.h"
#include "captures/analyze/report/html/html_text.h"
#include "captures/analyze/report/text_format.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMaxTunnels = 8;

std::string stacks(const Report& report) {
    const TunnelReport& tunnels = *report.tunnels;
    std::string body;
    const std::size_t shown = std::min(tunnels.stacks.size(), kMaxTunnels);
    for (std::size_t i = 0; i < shown; ++i) {
        const TunnelStack& each = tunnels.stacks[i];
        body += row(
            {escape(each.names.empty() ? "others" : joined(each.names, " › ")) +
                 meter(share(each.total.packets, report.total.packets)),
             figure("tunnels.stacks." + std::to_string(i) + ".total.packets", each.total.packets),
             bytes_text(each.total.bytes), share_text(each.total.packets, report.total.packets)});
    }
    return table({"Inside", "Packets", "Bytes", "Share"}, body) +
           others(tunnels.stacks.size() - shown, "fewer packets");
}

std::string tenants(const TunnelReport& tunnels) {
    std::string body;
    const std::size_t shown = std::min(tunnels.tenants.size(), kMaxTunnels);
    for (std::size_t i = 0; i < shown; ++i) {
        const TunnelTenant& each = tunnels.tenants[i];
        body += row({escape(each.kind + " " + std::to_string(each.number)),
                     figure("tunnels.tenants." + std::to_string(i) + ".packets", each.packets),
                     bytes_text(each.bytes)});
    }
    return body.empty() ? body
                        : table({"Tenant", "Packets", "Bytes"}, body) +
                              others(tunnels.tenants.size() - shown, "fewer packets");
}

std::string meetings(const TunnelReport& tunnels) {
    std::string body;
    for (std::size_t i = 0; i < kTunnelRelations; ++i) {
        const TunnelRelationCount& each = tunnels.meetings[i];
        if (each.copied.packets != 0) {
            body += row({escape(info_of(each.meeting).words),
                         figure("tunnels.meetings." + std::to_string(i) + ".copied.packets",
                                each.copied.packets)});
        }
    }
    return body.empty() ? body : table({"Copies inside tunnels", "Copies"}, body);
}

// Return why packets were not opened, or not to their end.
std::string unopened(const TunnelReport& tunnels) {
    std::string out;
    const auto say = [&](const char* name, std::uint64_t packets, const char* what) {
        if (packets != 0) {
            out += (out.empty() ? "" : ", ") + figure("tunnels." + std::string(name), packets) +
                   " " + what;
        }
    };
    say("fragments", tunnels.fragments, "fragments of a tunnel's packets");
    say("malformed", tunnels.malformed, "cut short or malformed");
    say("other", tunnels.other, "not with IP inside");
    say("too_deep", tunnels.too_deep, "in more than 8 tunnels");
    return out.empty() ? out : paragraph("Not opened to their end: " + out + ".");
}

std::string words(const Report& report) {
    const TunnelReport& tunnels = *report.tunnels;
    return paragraph(
               fill("{} of the packets {} inside a tunnel; {} {} found only by looking into it.",
                    {share_text(tunnels.opened.packets, report.total.packets),
                     tunnels.opened.packets == 1 ? "is" : "are",
                     figure("tunnels.needing.packets", tunnels.needing.packets),
                     tunnels.needing.packets == 1 ? "copy is" : "copies are"})) +
           unopened(tunnels);
}

}  // namespace

std::string tunnels_section(const Report& report) {
    if (!report.tunnels) {
        return "";
    }
    return section("tunnels", "In which tunnels?",
                   report.tunnels->opened.packets == 0
                       ? unopened(*report.tunnels)
                       : words(report) + stacks(report) + meetings(*report.tunnels) +
                             tenants(*report.tunnels));
}

}  // namespace unecho::analyze
