// SPDX-License-Identifier: BSD-3-Clause
#include "packets/keys/change.h"

namespace unecho::packet {

Changes changes_between(const PassingPacket& from, const PassingPacket& to) noexcept {
    constexpr unsigned kEcn = 3;  // the two lowest bits of TOS
    Changes out = 0;
    const auto note = [&out](Change change, bool happened) {
        out |= happened ? bit_of(change) : Changes{0};
    };
    const auto note_label = [&note](std::uint32_t before, std::uint32_t after, Change added,
                                    Change removed, Change other) {
        note(added, before == 0 && after != 0);
        note(removed, before != 0 && after == 0);
        note(other, before != 0 && after != 0 && before != after);
    };
    const FrameTraits& x = from.frame;
    const FrameTraits& y = to.frame;
    note_label(from.tunnel, to.tunnel, Change::kTunnelAdded, Change::kTunnelRemoved,
               Change::kTunnelOther);
    note_label(x.tags, y.tags, Change::kTagsAdded, Change::kTagsRemoved, Change::kTagsOther);
    note(Change::kStations, x.macs != y.macs);
    note(Change::kTtl, x.ttl != y.ttl);
    note(Change::kDscp, (x.tos ^ y.tos) > kEcn);
    const bool ecn = (x.tos & kEcn) != (y.tos & kEcn);
    note(Change::kCongestion, ecn && (y.tos & kEcn) == kEcn);
    note(Change::kEcn, ecn && (y.tos & kEcn) != kEcn);
    note(Change::kPadding, x.padding != y.padding);
    note(Change::kChecksum, x.checksum != y.checksum && x.ttl == y.ttl && x.tos == y.tos);
    return out;
}

}  // namespace unecho::packet
