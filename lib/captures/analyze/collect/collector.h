// SPDX-License-Identifier: BSD-3-Clause
// Count everything that the report states, in one pass over the packets of a capture, in order.
// Memory is bounded; the report also states what was forgotten because of that.
//
// The collector views packets as they are. From the first packet inside a tunnel on, a second
// collector views the innermost packets. It begins as a copy of the first, because both views were
// equal until then, and each has half of the memory from there on.
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

struct CollectorTables {
    explicit CollectorTables(std::uint64_t memory);
    // Copy the tables as far as they fit into this memory.
    CollectorTables(const CollectorTables& other, std::uint64_t memory);
    void begin_prefixes(std::uint64_t memory);

    // Tables of one step of the collector share no cache line with those of another step.
    alignas(64) KeyTable<PacketEntry> packets;
    FrameTable frames;
    Loops loops;
    std::optional<PrefixTable> prefixes;  // absent: not needed
    alignas(64) FlowTable flows;
    SegmentTable segments;
};

class Collector : private CollectorCounts {
  public:
    // memory: some megabytes. shard: whose packets are counted; time advances with all packets. For
    // inside(), a packet in a tunnel may belong to another shard. May throw std::bad_alloc.
    Collector(std::uint64_t memory, const hash::Secret& secret,
              std::span<const std::uint16_t> vxlan_ports = {}, const Shard& shard = {});

    // Prepare to answer a question about a configuration: from here on, add() gets the packets that
    // it removes. key_bytes: the configuration has them, so their effect is counted in any case;
    // otherwise only if a packet is in a tunnel or cut short.
    void ask(bool key_bytes = false) {
        tally_.emplace();
        key_bytes_asked_ = key_bytes;
        if (key_bytes) {
            preprocessor_->ask_for_prefixes();
        }
    }

    // interfaces: of the source, including all of the records. removed: indices of the records that
    // the configuration in question removes, rising.
    void add(std::span<const capture::Record> records,
             std::span<const capture::Interface> interfaces,
             std::span<const std::size_t> removed = {});

    // The steps of add(). cut() splits records into bursts, and each burst passes look(),
    // count_packets() and count_flows() in this order. Each step takes bursts in order, and may run
    // on a thread of its own while other steps process other bursts. The exception is a burst with
    // begins_inside (preprocessor.h): all steps finish the earlier bursts before it is counted, and
    // begin later ones after that. cut() makes the burst that starts at `begin`, takes its records
    // out of `removed`, and returns where the next burst begins.
    static std::size_t cut(std::span<const capture::Record> records,
                           std::span<const capture::Interface> interfaces,
                           std::span<const std::size_t>& removed, std::size_t begin,
                           DecodedBurst& burst);
    void look(DecodedBurst& burst) { preprocessor_->look(burst); }
    void count_packets(DecodedBurst& burst, std::span<const capture::Interface> interfaces);
    void count_flows(const DecodedBurst& burst);
    // Find a burst's table entries after look(), before counting it. Others may be counted between.
    void find_packets(DecodedBurst& burst);
    void find_flows(DecodedBurst& burst);
    // Prefetch. ask_for_*() prefetches indices, some time before find_*() is called; follow_*()
    // prefetches what the entries refer to, some time after.
    void ask_for_packets(DecodedBurst& burst);
    void ask_for_flows(DecodedBurst& burst);
    void follow_packets(DecodedBurst& burst);
    void follow_flows(DecodedBurst& burst);

    [[nodiscard]] Findings findings();

    // Return the report, without names of files and interfaces, and without a recommendation.
    [[nodiscard]] Report report() { return findings().report(); }

    // The collector that views innermost packets; null: nothing is inside a tunnel.
    [[nodiscard]] Collector* inside() noexcept { return inside_.get(); }

    [[nodiscard]] TunnelFindings tunnels() const { return preprocessor_->tunnels(); }

    [[nodiscard]] Views views();

    // All packets that were added, of other shards too; their times, and the sum of their steps.
    [[nodiscard]] const ReadCounts& read() const noexcept { return read_; }
    [[nodiscard]] Nanoseconds first() const noexcept { return first_; }
    [[nodiscard]] Nanoseconds latest() const noexcept { return latest_; }
    [[nodiscard]] Nanoseconds elapsed() const noexcept { return elapsed_; }

    // Return a warning for each step back in time of kEpochJump or more.
    [[nodiscard]] const std::vector<capture::Warning>& epochs() const noexcept {
        return clock_.warnings();
    }

    // Return warnings of link types without a parser.
    [[nodiscard]] const std::vector<capture::Warning>& unparsed() const noexcept {
        return unparsed_.warnings();
    }

    using CollectorCounts::kMaxInterfaces;

  private:
    // When a packet came, by the clock and since the first packet.
    struct PacketTime {
        Nanoseconds now = 0;
        Nanoseconds elapsed = 0;
        bool behind = false;  // after a step back by half of the capture
    };
    using PacketTimes = std::array<PacketTime, kMaxBurst>;  // of the records of a burst
    struct BurstContext {
        std::span<const capture::Interface> interfaces;
        const PacketTimes& moments;
    };
    struct PacketContext {
        DecodedView& view;
        std::size_t i;
        PacketTime moment;
        bool removed;  // by the configuration in question
        packet::LinkType link;
        std::uint64_t population;  // combined with its interface

        [[nodiscard]] const Dissected& packet() const { return view.packets[i]; }
        [[nodiscard]] Digest digest() const { return view.packet[i]; }
        [[nodiscard]] const auto& place() const { return view.places[i]; }
        [[nodiscard]] Digest frame() const { return view.frame[i]; }
        [[nodiscard]] const TunnelTraits& outside() const { return view.outside[i]; }
    };
    // Make the collector for inside().
    explicit Collector(const Collector& plain, std::uint64_t memory);

    void start_inner_collector();
    void read(const DecodedBurst& burst, std::span<const capture::Interface> interfaces,
              PacketTimes& moments);
    void count_view(const DecodedBurst& burst, DecodedView& view, const BurstContext& around);
    void end_row();
    void count_flows(const DecodedBurst& burst, const DecodedView& view);
    // Call step(tables, view) for each view, with the tables of its collector.
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
    // Return the windows that drop the echo.
    WindowMask count_echo(PacketContext& looked, const capture::Record& record, PacketEntry& entry,
                          Echoes& into);
    void count_crossing(std::uint16_t original, std::uint16_t echo, std::uint64_t length);
    [[nodiscard]] static EchoPoint echo_point_of(const Dissected& packet, const PacketEntry& entry,
                                                 const EchoTraits& traits) noexcept;
    [[nodiscard]] static bool is_of_link(const Dissected& packet) noexcept;
    // ahead: the point of this look has now seen the packet more often than the others have.
    // at_other: it is the point of AcceptedTimes::other_point.
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
    // Return true if frames of this packet differ, so that each has times of its own.
    bool split_frame_times(const PacketContext& looked, PacketEntry& entry);
    void note_times(const PacketEntry& entry) noexcept;
    // Return how the echo differs from the first packet of its key.
    EchoTraits compare(const PacketContext& looked, const capture::Record& record,
                       const PacketEntry& entry);
    [[nodiscard]] bool is_loop_copy(const PacketContext& looked, const capture::Record& record,
                                    const PacketEntry& entry);
    void compare_tunnels(const TunnelTraits& first, const TunnelTraits& echo,
                         EchoTraits& traits) const;
    void fill_memory_use(Findings& out);

    // Return the tunnel of a packet in the table.
    [[nodiscard]] TunnelTraits& outside_of(const PacketEntry& entry) noexcept {
        return outsides_.as<TunnelTraits>()[tables_.packets.table().place_of(entry)];
    }

    std::uint64_t memory_;
    std::uint64_t table_memory_;
    CollectorTables tables_;
    LazyPages outsides_{0};  // of each packet in the table; inside() only
    bool key_bytes_asked_ = false;
    bool looks_inside_ = false;  // this is the collector for inside()
    ReadCounts read_;
    // Consecutive packets of one interface, within a burst.
    struct Row {
        std::uint32_t interface = 0;
        std::uint32_t file = 0;
        std::uint64_t captured = 0;
        Tally tally;
    };
    Row row_;
    std::unique_ptr<Collector> inside_;
    std::optional<Preprocessor> preprocessor_;  // absent in inside()
};

}  // namespace unecho::analyze
