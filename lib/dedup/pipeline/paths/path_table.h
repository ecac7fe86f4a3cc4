// SPDX-License-Identifier: BSD-3-Clause
// Path table: which points saw each packet of a sample, when, and what of it had changed. A key is
// judged when it was quiet for longer than a window: what passed one point and had to come to
// another, and did not, is missing.
//
// Which packets had to come is either stated (all, in the order of the points) or learned from
// packets between the same hosts (host_sides.h). It is decided when a packet is first seen, before
// its fate is known. Otherwise a host's first packet would count if it came and not if it was lost.
//
// A look is a packet as one point saw it. It arrived between `earliest` and `time`: before `time`,
// the worker took it from the port; at `earliest` the worker began to look at ports that it then
// left empty. Of two looks whose intervals overlap it is not known which was first, and delays are
// only counted if they are known to 20 us.
//
// Equal packets of which none says which transmission it is (retransmissions, keepalives) are
// aligned in their order, so that their delays are least in sum.
//
// Cost: about ten cache lines for a packet of the sample. May not: allocate, read a clock.
// Next: totals.h (what is counted), docs/paths.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "dedup/pipeline/paths/host_sides.h"
#include "dedup/pipeline/paths/totals.h"
#include "filters/audit/sample.h"
#include "filters/hash/digest.h"
#include "filters/window/exact.h"
#include "packets/keys/change.h"

namespace unecho::pipeline {

struct PathSpec {
    unsigned points = 0;                             // 2 to kMaxPathPoints
    std::array<std::uint8_t, kMaxPorts> point_of{};  // by port; kNoPoint: not measured
    bool stated = false;                             // each packet passes all points, in order
    bool all = false;        // the filter notes all packets; the sample has delays and changes
    Nanoseconds window = 0;  // a packet that takes longer is missing
    Nanoseconds late = ~Nanoseconds{0};  // longer delays are counted
    std::uint64_t memory = 0;            // bytes, at most
    std::uint64_t looks_per_second = 0;  // at most; 0: as many as memory allows
    unsigned bits = 0;                   // at the start: 2^-bits of all keys
    std::uint64_t secret = 1;            // of the sample

    static constexpr std::uint8_t kNoPoint = 0xFF;
    bool operator==(const PathSpec&) const = default;
};

struct PathKey {
    Digest digest = 0;
    std::array<std::uint64_t, 2> hash{};
    bool identified = true;  // the packet says which transmission it is
    Digest source = 0;       // of its host; 0: none
    Digest destination = 0;
};

struct PathLook {
    PortIndex port = 0;
    Nanoseconds time = 0;
    Nanoseconds earliest = 0;
    packet::PassingPacket packet;
    // By how much the time that windows count by is behind: it stands still while the worker is
    // away. That time never decreases.
    Nanoseconds behind = 0;
};

class PathTable {
  public:
    static constexpr std::uint64_t kLeastMemory = 32 << 10;
    // Return how many bytes a table of this specification takes: at most its `memory`.
    [[nodiscard]] static std::uint64_t bytes(const PathSpec& spec) noexcept;

    // memory: bytes(spec) zeroes. totals: of as many points.
    PathTable(const PathSpec& spec, std::span<std::byte> memory, PathTotals& totals) noexcept;

    // Changes only in look() and expire().
    [[nodiscard]] const filter::AuditSample& sample() const noexcept { return sample_; }
    // Return true if packets of this port are measured.
    [[nodiscard]] bool has(PortIndex port) const noexcept {
        return spec_.point_of[port] != PathSpec::kNoPoint;
    }
    [[nodiscard]] const PathSpec& spec() const noexcept { return spec_; }
    // Return the bit of a port's point; 0: it is not measured.
    [[nodiscard]] std::uint8_t bit_of(PortIndex port) const noexcept {
        return has(port) ? static_cast<std::uint8_t>(1U << spec_.point_of[port]) : std::uint8_t{0};
    }

    // Take a packet of the sample, of a port that is measured.
    void look(const PathKey& key, const PathLook& look) noexcept;
    // Judge keys that have been quiet for longer than a window, at most a few at a time.
    void expire(Nanoseconds now) noexcept;
    // Take what the filter counted of all packets.
    void set_all(const filter::ForgottenByPoints& forgotten) noexcept;
    // Report packets that went past the table.
    void pass_by(Nanoseconds now) noexcept {
        blind_at_ = std::max(blind_at_, now);
        blind_ = true;
    }

  private:
    using Index = std::uint32_t;  // of an entry, from 1; 0: none
    // Of one key at one point. Whether a key has more at its first point does not depend on what
    // became of them, so leaving it out does not bias the loss.
    static constexpr unsigned kLooksAtPoint = 4;
    static constexpr unsigned kMaxLooks = kLooksAtPoint * kMaxPathPoints;

    struct Look {
        Nanoseconds time;
        Nanoseconds earliest;
        Nanoseconds counted;  // `time` as windows count it
        packet::PassingPacket packet;
        std::uint32_t serial;  // in the order of looks
        std::uint8_t point;
    };
    // Entry 0 is the sentinel of the list by age: its `newer` is the oldest entry.
    struct Entry {
        Digest digest;
        std::array<std::uint64_t, 2> hash;
        Digest source;
        Digest destination;
        HostSides::Sides source_sides;  // as known at the first look
        HostSides::Sides destination_sides;
        Nanoseconds first;
        Nanoseconds last;
        Index next;  // in the bucket's chain, or in the list of free entries
        Index older;
        Index newer;
        std::array<std::uint8_t, kMaxPathPoints> looks_at;  // by point
        std::uint8_t looks;
        bool settled;  // it had no look before the first
        bool crowded;  // a point showed it more often than there is room for
        bool identified;
    };
    struct Layout {
        std::uint64_t entries = 0;
        std::uint64_t buckets = 0;
        unsigned looks = 0;  // of each entry
        std::uint64_t host_bytes = 0;
        [[nodiscard]] std::uint64_t head_bytes() const noexcept;
        [[nodiscard]] std::uint64_t entry_bytes() const noexcept;
        [[nodiscard]] std::uint64_t bytes() const noexcept;
    };
    [[nodiscard]] static Layout layout_of(const PathSpec& spec) noexcept;

    [[nodiscard]] Entry& at(Index index) const noexcept {
        return *reinterpret_cast<Entry*>(entries_ + index * layout_.entry_bytes());
    }
    [[nodiscard]] std::span<Look> looks_of(Entry& entry) const noexcept {
        return {reinterpret_cast<Look*>(&entry + 1), entry.looks};
    }
    [[nodiscard]] Index& head_of(Digest digest) const noexcept {
        return heads_[digest * 0x9E3779B97F4A7C15ULL >> shift_];
    }
    [[nodiscard]] Index oldest() const noexcept { return at(0).newer; }
    [[nodiscard]] Index find(const PathKey& key) const noexcept;
    [[nodiscard]] Index begin(const PathKey& key, Nanoseconds now) noexcept;
    [[nodiscard]] Index take_entry(const PathKey& key, Nanoseconds now) noexcept;
    void sweep() noexcept;
    void leave_list(Index index) noexcept;
    void become_youngest(Index index) noexcept;
    void remove(Index index) noexcept;
    [[nodiscard]] bool is_due(Index index, Nanoseconds now) const noexcept;

    void start(Nanoseconds now) noexcept;
    void spend(Nanoseconds now) noexcept;
    void halve(Nanoseconds now) noexcept;
    void double_keys(Nanoseconds now) noexcept;

    // The looks at one of two points, and the packets that both saw.
    struct Side {
        std::array<std::uint8_t, kMaxLooks> looks;
        unsigned count = 0;
    };
    struct Pairing {
        std::array<std::int8_t, kMaxLooks> of;  // by place at the first point; -1: alone
        std::array<bool, kMaxLooks> taken{};    // by place at the second point
    };
    void judge(Entry& entry) noexcept;
    void judge_pair(Entry& entry, unsigned i, unsigned j, bool judged) noexcept;
    void gather(Entry& entry, unsigned point, Side& side) const noexcept;
    void align(std::span<const Look> looks, const Side& a, const Side& b,
               Pairing& pairing) const noexcept;
    void count_arrival(Entry& entry, const Look& a, const Look& b, Course known,
                       bool judged) noexcept;
    [[nodiscard]] Course course_of(const Entry& entry, unsigned pair) const noexcept {
        return spec_.stated
                   ? Course::kForward
                   : HostSides::course_of(entry.source_sides, entry.destination_sides, pair);
    }

    PathSpec spec_;
    Layout layout_;
    PathTotals& totals_;
    filter::AuditSample sample_;
    HostSides hosts_;
    Index* heads_;
    std::byte* entries_;
    unsigned shift_;
    unsigned bits_;

    bool started_ = false;
    Nanoseconds settles_at_ = 0;       // from then on, all keys of the sample are known
    bool all_settled_ = false;         // it is past
    std::uint32_t settled_limit_ = 0;  // products up to this are known before
    bool any_settled_ = false;
    bool blind_ = false;
    Nanoseconds blind_at_ = 0;  // packets went past the table

    Nanoseconds due_ = 0;  // when the budget of looks is balanced
    Nanoseconds period_begin_ = 0;
    std::uint64_t period_looks_ = 0;
    Nanoseconds halved_at_ = 0;

    Index taken_ = 0;  // entries 1..taken_ were used at least once
    Index free_ = 0;
    Index sweep_at_ = 0;
    Index sweep_left_ = 0;  // entries that may have left the sample
    std::uint64_t live_ = 0;
    std::uint32_t serial_ = 0;

    // By ordered pair of points: the last arrival, and the latest sent of those that came.
    struct Newest {
        bool any = false;
        std::uint32_t arrived = 0;
        std::uint32_t sent = 0;
    };
    std::array<Newest, std::size_t{kMaxPathPoints} * kMaxPathPoints> newest_{};
};

}  // namespace unecho::pipeline
