// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/recommend/recommend_tunnels.h"

#include <string>

#include <fmt/core.h>

#include "base/humanize.h"

namespace unecho::analyze {
namespace {

// "12 (one plain, one inside a tunnel), 3 (in ...)"
std::string meetings_text(const TunnelReport& tunnels) {
    std::string out;
    for (const TunnelRelationCount& one : tunnels.meetings) {
        if (one.meeting != TunnelRelation::kWhole && one.copied.packets != 0) {
            out += fmt::format("{}{} ({})", out.empty() ? "" : ", ",
                               format_count(one.copied.packets), info_of(one.meeting).words);
        }
    }
    return out;
}

std::uint64_t copied(const TunnelReport& tunnels, TunnelRelation meeting) {
    return tunnels.meetings[static_cast<std::size_t>(meeting)].copied.packets;
}

// Warn of live links: their underlay sends a broadcast to each end of a tunnel.
std::string link_note(const TunnelReport& tunnels) {
    return copied(tunnels, TunnelRelation::kOtherTunnel) == 0
               ? ""
               : " On a link (a route each way) unecho drops nothing with tunnels unless the route "
                 "has allow_tunnel_drop_on_link = true: there a broadcast has to reach every end.";
}

std::string reason_to_open(const TunnelReport& tunnels) {
    const std::uint64_t needing = tunnels.needing.packets;
    if (needing == 0) {
        return "Copies that are cut short are found only inside tunnels: see key_bytes.";
    }
    return fmt::format("{} {} found only by the packet inside: {}.{}",
                       format_quantity(needing, "copy"), needing == 1 ? "is" : "are",
                       meetings_text(tunnels), link_note(tunnels));
}

std::string reason_to_pass(const TunnelReport& tunnels) {
    return tunnels.opened.packets == 0 ? "No tunnel leads to a whole IP packet."
           : tunnels.needing.packets == 0
               ? "Looking into tunnels finds no more copies."
               : fmt::format(
                     "Looking into tunnels finds {}, but no window parts {} from what was sent "
                     "again, so that no more would be removed.",
                     format_quantity(tunnels.needing.packets, "more copy"),
                     tunnels.needing.packets == 1 ? "it" : "them");
}

std::string tenant_reason(packet::Tenant chosen, std::uint64_t across) {
    if (chosen == packet::Tenant::kMatch) {
        return "Each copy is of the same tenant as its first packet, so that match leaves none in; "
               "and packets of networks with the same addresses never meet.";
    }
    return across == 0 ? "There is one tenant only, so that nothing has to be kept apart."
                       : fmt::format(
                             "{} {} of another tenant than the first packet, or only one of the "
                             "two has any: match would leave {}",
                             format_quantity(across, "copy"), across == 1 ? "is" : "are",
                             across == 1 ? "it in." : "them in.");
}

}  // namespace

void recommend_tunnels(Report& report) {
    if (!report.tunnels) {
        return;
    }
    const TunnelReport& tunnels = *report.tunnels;
    Recommendation& out = report.recommendation;
    out.tunnels.clear();
    if (!report.basis.inside) {
        out.tunnels_reason = reason_to_pass(tunnels);
        return;
    }
    for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
        if (tunnels.needed.has(info.encapsulation) ||
            (out.key_bytes && tunnels.needed_cut.has(info.encapsulation))) {
            out.tunnels.emplace_back(info.name);
        }
    }
    out.tunnels_reason = reason_to_open(tunnels);
    if (tunnels.tenants.empty()) {
        return;
    }
    const std::uint64_t across =
        tunnels.across_tenants.packets + (out.key_bytes ? tunnels.across_tenants_cut.packets : 0);
    out.tenant = across == 0 && tunnels.tenants.size() > 1 ? packet::Tenant::kMatch
                                                           : packet::Tenant::kIgnore;
    out.tenant_reason = tenant_reason(out.tenant, across);
}

}  // namespace unecho::analyze
