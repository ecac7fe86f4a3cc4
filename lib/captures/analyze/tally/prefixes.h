// SPDX-License-Identifier: BSD-3-Clause
// Packets that become echoes only if just the first bytes are compared (key_bytes). They are copies
// of which one was cut short, or other packets.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "captures/analyze/collect/flow_tables.h"
#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/tunnel_tally.h"
#include "captures/analyze/tally/windows.h"

namespace unecho::analyze {

// Packets that each window drops in addition, by kKeyBytesAsked: copies cut short, and others.
struct PrefixCounts {
    std::array<WindowCounts, kKeyBytesAsked.size()> cut;
    std::array<WindowCounts, kKeyBytesAsked.size()> others;
    packet::EncapsulationSet around;  // of copies cut short and their first packets
    Count across_tenants;  // of these copies, those of another tenant than their first packet

    void add(const PrefixCounts& more);
    [[nodiscard]] KeyBytes at(std::size_t i, unsigned window) const {
        return {kKeyBytesAsked[i], cut[i].at(window), others[i].at(window)};
    }

    template <typename Io>
    void state(Io& io) {
        io(cut, others, around, across_tenants);
    }
};

class PrefixTable {
  public:
    explicit PrefixTable(std::size_t bytes);
    PrefixTable(const PrefixTable& other, std::size_t bytes);

    using Digests = std::array<Digest, kKeyBytesAsked.size()>;  // by kKeyBytesAsked
    struct Packet {
        TunnelPath path = 0;
        std::uint32_t tenant = 0;    // mark of the tenant
        std::uint32_t captured = 0;  // captured bytes of the IP packet
        bool cut = false;            // the packet states a greater length
        std::uint64_t length = 0;    // on the wire
        WindowMask dropped = 0;      // windows with which key packet drops it
    };
    // Return true for a copy of a packet that was cut elsewhere, so no echo if all bytes count.
    bool add(const Digests& digests, const Packet& packet, Nanoseconds now);

    [[nodiscard]] const PrefixCounts& counts() const noexcept { return counts_; }
    [[nodiscard]] std::size_t bytes() const noexcept;

  private:
    struct Entry {
        Digest digest;
        Nanoseconds last;
        AcceptedTimes accepted;
        std::uint32_t stamp;
        TunnelPath path;
        std::uint32_t tenant;
        std::uint32_t captured : 31;
        std::uint32_t cut : 1;
    };
    using Table = KeyTable<Entry>;
    static constexpr double kLadders = 0.2;

    [[nodiscard]] static bool cut_copies(const Entry& first, const Packet& echo, std::size_t i);

    std::vector<Table> tables_;  // by kKeyBytesAsked
    PrefixCounts counts_;
};

}  // namespace unecho::analyze
