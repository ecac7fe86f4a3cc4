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

#include "base/ids.h"
#include "base/shard.h"
#include "captures/analyze/classify/loops.h"
#include "captures/analyze/collect/dissect.h"
#include "captures/analyze/collect/findings.h"
#include "captures/analyze/collect/flow_tables.h"
#include "captures/analyze/collect/preprocessor.h"
#include "captures/analyze/tally/prefixes.h"
#include "captures/analyze/tally/tunnel_tally.h"
#include "captures/link_types.h"
#include "captures/record.h"
#include "filters/hash/secret.h"

namespace unecho::analyze {

// What is remembered of packets.
struct CollectorTables {
    explicit CollectorTables(std::uint64_t memory);
    // The same, as far as it fits into so much.
    CollectorTables(const CollectorTables& other, std::uint64_t memory);
    void begin_prefixes(std::uint64_t memory);

    // Those of one step of the collector in cache lines of their own.
    alignas(64) KeyTable<PacketEntry> packets;
    FrameTable frames;
    Loops loops;
    std::optional<PrefixTable> prefixes;  // absent: nothing asks for them
    alignas(64) FlowTable flows;
    SegmentTable segments;
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
    // other steps, which are at other bursts meanwhile; but one that begins inside (preprocessor.h)
    // is counted when all before it are, by all steps, and before any behind it. From begin on, to
    // where the next burst begins. removed: is left without those of the burst.
    static std::size_t cut(std::span<const capture::Record> records,
                           std::span<const capture::Interface> interfaces,
                           std::span<const std::size_t>& removed, std::size_t begin,
                           DecodedBurst& burst);
    void look(DecodedBurst& burst) { looker_->look(burst); }
    void count_packets(DecodedBurst& burst, std::span<const capture::Interface> interfaces);
    void count_flows(const DecodedBurst& burst);
    // Before each of these, and after look(): finds the entries. Others may be counted in between.
    void find_packets(DecodedBurst& burst);
    void find_flows(DecodedBurst& burst);
    // Memory is asked for what is needed next: a while before entries are found for the indices,
    // and a while after that, when they are there, for what they name.
    void ask_for_packets(DecodedBurst& burst);
    void ask_for_flows(DecodedBurst& burst);
    void follow_packets(DecodedBurst& burst);
    void follow_flows(DecodedBurst& burst);

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

    // A warning for each, kEpochJump being the least step.
    [[nodiscard]] const std::vector<capture::Warning>& epochs() const noexcept {
        return clock_.warnings();
    }

    // Of link types without a parser.
    [[nodiscard]] const std::vector<capture::Warning>& unparsed() const noexcept {
        return unparsed_.warnings();
    }

    using CollectorCounts::kMaxInterfaces;

  private:
    // When a packet came, by the clock and since the first.
    struct PacketTime {
        Nanoseconds now = 0;
        Nanoseconds elapsed = 0;
        bool behind = false;  // than a packet before, by half of what was captured
    };
    using PacketTimes = std::array<PacketTime, kMaxBurst>;  // of the records of a burst
    // What a burst is counted with.
    struct BurstContext {
        std::span<const capture::Interface> interfaces;
        const PacketTimes& moments;
    };
    // The packet that is looked at.
    struct PacketContext {
        DecodedView& view;
        std::size_t i;
        PacketTime moment;
        bool removed;  // by what is asked about
        packet::LinkType link;
        std::uint64_t population;  // of its interface

        [[nodiscard]] const Dissected& packet() const { return view.packets[i]; }
        [[nodiscard]] Digest digest() const { return view.packet[i]; }
        [[nodiscard]] const auto& place() const { return view.places[i]; }
        [[nodiscard]] Digest frame() const { return view.frame[i]; }
        [[nodiscard]] const TunnelTraits& outside() const { return view.outside[i]; }
    };
    // For inside().
    explicit Collector(const Collector& plain, std::uint64_t memory);

    void start_inner_collector();
    void read(const DecodedBurst& burst, std::span<const capture::Interface> interfaces,
              PacketTimes& moments);
    void count_view(const DecodedBurst& burst, DecodedView& view, const BurstContext& around);
    void end_row();
    void count_flows(const DecodedBurst& burst, const DecodedView& view);
    // Calls step(tables, view) with each view and the tables of who looks so.
    template <typename Step>
    void for_each_view(DecodedBurst& burst, Step step) {
        step(tables_, burst.plain);
        if (burst.within && inside_) {
            step(inside_->tables_, *burst.within);
        }
    }
    void advance_clock(const capture::Record& record, std::uint32_t file);
    void add_one(PacketContext& looked, const capture::Record& record);
    WindowMask add_key(PacketContext& looked, const capture::Record& record, bool& echo);
    bool add_without_ip(PacketContext& looked, const capture::Record& record);
    void count_frame(const PacketContext& looked, WindowMask dropped, WindowMask by_packet,
                     std::uint64_t length);
    bool add_prefixes(const PacketContext& looked, const capture::Record& record,
                      WindowMask dropped);
    [[nodiscard]] bool wants_prefixes() const noexcept;
    void choose_prefixes(bool wanted);
    PacketEntry& insert_packet(const PacketContext& looked, const capture::Record& record);
    // The windows with which it is dropped.
    WindowMask count_echo(PacketContext& looked, const capture::Record& record, PacketEntry& entry,
                          Echoes& into);
    void count_crossing(std::uint16_t original, std::uint16_t echo, std::uint64_t length);
    // Whether it came where the packet with its key came first.
    [[nodiscard]] static EchoPoint echo_point_of(const Dissected& packet, const PacketEntry& entry,
                                                 const EchoTraits& traits) noexcept;
    [[nodiscard]] static bool is_of_link(const Dissected& packet) noexcept;
    // Whether the point of a look has now seen the packet more often than the others have, and
    // whether it is that of AcceptedTimes::other_point.
    struct PointLead {
        bool ahead = false;
        bool at_other = false;
    };
    [[nodiscard]] PointLead lead_of(const PacketContext& looked, std::uint16_t interface,
                                    bool same_point, Nanoseconds age,
                                    AcceptedTimes& times) const noexcept;
    [[nodiscard]] static bool is_resent(const Dissected& packet, const PacketEntry& entry,
                                        const EchoTraits& traits, Nanoseconds age) noexcept;
    void note_second_look(const PacketContext& looked, const EchoTraits& traits, bool without_ip,
                          Nanoseconds age);
    // Whether its frame has times of its own beside those of the packet.
    bool split_frame_times(const PacketContext& looked, PacketEntry& entry);
    void note_times(const PacketEntry& entry) noexcept;
    // How it differs from the first with its key.
    EchoTraits compare(const PacketContext& looked, const capture::Record& record,
                       const PacketEntry& entry);
    [[nodiscard]] bool is_loop_copy(const PacketContext& looked, const capture::Record& record,
                                    const PacketEntry& entry);
    void compare_tunnels(const TunnelTraits& first, const TunnelTraits& echo,
                         EchoTraits& traits) const;
    void fill_memory_use(Findings& out);

    // Of the entry of a packet, where it is.
    [[nodiscard]] TunnelTraits& outside_of(const PacketEntry& entry) noexcept {
        return outsides_.as<TunnelTraits>()[tables_.packets.table().place_of(entry)];
    }

    std::uint64_t memory_;
    std::uint64_t table_memory_;
    CollectorTables tables_;
    LazyPages outsides_{0};  // of each packet that is remembered; of inside() only
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
    std::optional<Preprocessor> looker_;  // not of inside()
};

}  // namespace unecho::analyze
