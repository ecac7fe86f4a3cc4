// SPDX-License-Identifier: BSD-3-Clause
// Takes the packets of a capture once, in order, and counts everything that the report says. In
// bounded memory; what is forgotten because of that, the report says too.
//
// It looks at packets as they are. From the first one inside a tunnel on there is a second
// collector, for which the innermost packets count. It begins as a copy of the first, as until then
// nothing tells the two apart, and each has half of the memory from there on.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyze/dissect.h"
#include "analyze/findings.h"
#include "analyze/look.h"
#include "analyze/loops.h"
#include "analyze/memories.h"
#include "analyze/prefixes.h"
#include "analyze/tunnel_tally.h"
#include "base/ids.h"
#include "base/shard.h"
#include "capture/link_types.h"
#include "capture/record.h"
#include "hash/secret.h"

namespace unecho::analyze {

// What is remembered of packets.
struct CollectorTables {
    explicit CollectorTables(std::uint64_t memory);
    // The same, as far as it fits into so much.
    CollectorTables(const CollectorTables& other, std::uint64_t memory);
    void begin_prefixes(std::uint64_t memory);

    // Those of one step of the collector in cache lines of their own.
    alignas(64) KeyMemory<PacketEntry> packets;
    FrameMemory frames;
    Loops loops;
    std::optional<PrefixMemory> prefixes;  // absent: nothing asks for them
    alignas(64) FlowMemory flows;
    SegmentMemory segments;
};

class Collector : private CollectorCounts {
  public:
    // memory: some megabytes. shard: whose packets are counted, while time goes on with all; a
    // packet inside a tunnel may be another's for inside(). May throw std::bad_alloc.
    Collector(std::uint64_t memory, const hash::Secret& secret,
              std::span<const std::uint16_t> vxlan_ports = {}, const Shard& shard = {});

    // A configuration is asked about: from here on add() is told what it removes.
    // key_bytes: it has them, so that what they change is counted in any case; else where a packet
    // is in a tunnel or cut short.
    void ask(bool key_bytes = false) {
        tally_.emplace();
        key_bytes_asked_ = key_bytes;
        if (key_bytes) {
            looker_->ask_for_prefixes();
        }
    }

    // interfaces: of the source, at least up to those of the records. removed: which, rising.
    void add(std::span<const capture::Record> records,
             std::span<const capture::Interface> interfaces,
             std::span<const std::size_t> removed = {});

    // The steps of add(): records are cut into bursts, and each burst goes through the other three
    // in this order. A step takes the bursts in their order, and may do so on another thread than
    // other steps, which are at other bursts meanwhile; but one that begins inside (look.h) is
    // counted when all before it are, by all steps, and before any behind it.
    // From begin on, to where the next burst begins. removed: is left without those of the burst.
    static std::size_t cut(std::span<const capture::Record> records,
                           std::span<const capture::Interface> interfaces,
                           std::span<const std::size_t>& removed, std::size_t begin,
                           LookedBurst& burst);
    void look(LookedBurst& burst) { looker_->look(burst); }
    void count_packets(LookedBurst& burst, std::span<const capture::Interface> interfaces);
    void count_flows(const LookedBurst& burst);
    // Before each of these, and after look(): finds the entries. Others may be counted in between.
    void find_packets(LookedBurst& burst);
    void find_flows(LookedBurst& burst);
    // Memory is asked for what is needed next: a while before entries are found for the indices,
    // and a while after that, when they are there, for what they name.
    void ask_for_packets(LookedBurst& burst);
    void ask_for_flows(LookedBurst& burst);
    void follow_packets(LookedBurst& burst);
    void follow_flows(LookedBurst& burst);

    // What was counted, of one capture.
    [[nodiscard]] Findings findings();

    // What they say; not the names of files and interfaces, and no recommendation.
    [[nodiscard]] Report report() { return findings().report(); }

    // That for which the innermost packets count; null: nothing is inside a tunnel.
    [[nodiscard]] Collector* inside() noexcept { return inside_.get(); }

    // What is in which tunnel.
    [[nodiscard]] TunnelFindings tunnels() const { return looker_->tunnels(); }

    // All of that together.
    [[nodiscard]] Views views();

    // All packets that were given, of other shards too; their times, and the steps between them.
    [[nodiscard]] const ReadCounts& read() const noexcept { return read_; }
    [[nodiscard]] Nanoseconds first() const noexcept { return first_; }
    [[nodiscard]] Nanoseconds latest() const noexcept { return latest_; }
    [[nodiscard]] Nanoseconds elapsed() const noexcept { return elapsed_; }

    // A warning for each, kJump being the least step.
    [[nodiscard]] const std::vector<capture::Warning>& epochs() const noexcept {
        return clock_.warnings();
    }

    // Of link types without a parser.
    [[nodiscard]] const std::vector<capture::Warning>& unparsed() const noexcept {
        return unparsed_.warnings();
    }

    using CollectorCounts::kMostInterfaces;

  private:
    // When a packet came, by the clock and since the first.
    struct Moment {
        Nanoseconds now = 0;
        Nanoseconds elapsed = 0;
        bool behind = false;  // than a packet before, by half of what was captured
    };
    using Moments = std::array<Moment, kMaxBurst>;  // of the records of a burst
    // What a burst is counted with.
    struct Around {
        std::span<const capture::Interface> interfaces;
        const Moments& moments;
    };
    // The packet that is looked at.
    struct Looked {
        LookedView& view;
        std::size_t i;
        Moment moment;
        bool removed;  // by what is asked about
        packet::Link link;
        std::uint64_t population;  // of its interface

        [[nodiscard]] const Dissected& packet() const { return view.packets[i]; }
        [[nodiscard]] Digest digest() const { return view.packet[i]; }
        [[nodiscard]] const auto& place() const { return view.places[i]; }
        [[nodiscard]] Digest frame() const { return view.frame[i]; }
        [[nodiscard]] const Outside& outside() const { return view.outside[i]; }
    };
    // For inside().
    explicit Collector(const Collector& plain, std::uint64_t memory);

    void begin_inside();
    void read(const LookedBurst& burst, std::span<const capture::Interface> interfaces,
              Moments& moments);
    void count_view(const LookedBurst& burst, LookedView& view, const Around& around);
    void end_row();
    void count_flows(const LookedBurst& burst, const LookedView& view);
    // Calls step(tables, view) with each view and the tables of who looks so.
    template <typename Step>
    void each_view(LookedBurst& burst, Step step) {
        step(tables_, burst.plain);
        if (burst.within && inside_) {
            step(inside_->tables_, *burst.within);
        }
    }
    void tell_time(const capture::Record& record, std::uint32_t file);
    void add_one(Looked& looked, const capture::Record& record);
    WindowMask add_key(Looked& looked, const capture::Record& record, bool& echo);
    bool add_without_ip(Looked& looked, const capture::Record& record);
    void count_frame(const Looked& looked, WindowMask dropped, WindowMask by_packet,
                     std::uint64_t length);
    bool add_prefixes(const Looked& looked, const capture::Record& record, WindowMask dropped);
    [[nodiscard]] bool wants_prefixes() const noexcept;
    void choose_prefixes(bool wanted);
    PacketEntry& remember(const Looked& looked, const capture::Record& record);
    // The windows with which it is dropped.
    WindowMask count_echo(Looked& looked, const capture::Record& record, PacketEntry& entry,
                          Echoes& into);
    void count_crossing(std::uint16_t original, std::uint16_t echo, std::uint64_t length);
    // Whether it came where the packet with its key came first.
    [[nodiscard]] static CameAt came_at(const Dissected& packet, const PacketEntry& entry,
                                        const EchoTraits& traits) noexcept;
    [[nodiscard]] static bool is_of_link(const Dissected& packet) noexcept;
    // Whether the point of a look has now seen the packet more often than the others have, and
    // whether it is that of AcceptedTimes::other_point.
    struct Lead {
        bool ahead = false;
        bool at_other = false;
    };
    [[nodiscard]] Lead lead_of(const Looked& looked, std::uint16_t interface, bool same_point,
                               Nanoseconds age, AcceptedTimes& times) const noexcept;
    [[nodiscard]] static bool is_resent(const Dissected& packet, const PacketEntry& entry,
                                        const EchoTraits& traits, Nanoseconds age) noexcept;
    void note_second_look(const Looked& looked, const EchoTraits& traits, bool without_ip,
                          Nanoseconds age);
    // Whether its frame has times of its own beside those of the packet.
    bool part_frames(const Looked& looked, PacketEntry& entry);
    void note_times(const PacketEntry& entry) noexcept;
    // How it differs from the first with its key.
    EchoTraits compare(const Looked& looked, const capture::Record& record,
                       const PacketEntry& entry);
    [[nodiscard]] bool came_by_loop(const Looked& looked, const capture::Record& record,
                                    const PacketEntry& entry);
    void compare_tunnels(const Outside& first, const Outside& echo, EchoTraits& traits) const;
    void take_memory(Findings& out);

    // Of the entry of a packet, where it is.
    [[nodiscard]] Outside& outside_of(const PacketEntry& entry) noexcept {
        return outsides_.as<Outside>()[tables_.packets.table().place_of(entry)];
    }

    std::uint64_t memory_;
    std::uint64_t table_memory_;
    CollectorTables tables_;
    LazyMemory outsides_{0};  // of each packet that is remembered; of inside() only
    bool key_bytes_asked_ = false;
    bool looks_inside_ = false;  // it is that collector
    ReadCounts read_;
    // Packets of one interface one behind the other, in a burst.
    struct Row {
        std::uint32_t interface = 0;
        std::uint32_t file = 0;
        std::uint64_t captured = 0;
        Tally tally;
    };
    Row row_;
    std::unique_ptr<Collector> inside_;
    std::optional<Looker> looker_;  // not of inside()
};

}  // namespace unecho::analyze
