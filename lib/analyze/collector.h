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
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyze/ages.h"
#include "analyze/copies.h"
#include "analyze/dissect.h"
#include "analyze/echo_sorter.h"
#include "analyze/loops.h"
#include "analyze/memories.h"
#include "analyze/prefixes.h"
#include "analyze/report.h"
#include "analyze/talkers.h"
#include "analyze/timeline.h"
#include "analyze/tunnel_tally.h"
#include "analyze/what_if.h"
#include "base/ids.h"
#include "capture/epochs.h"
#include "capture/link_types.h"
#include "capture/record.h"
#include "hash/secret.h"
#include "packet/digests.h"
#include "packet/link.h"
#include "packet/tunnels.h"

namespace unecho::analyze {

// What is remembered of packets.
struct CollectorTables {
    explicit CollectorTables(std::uint64_t memory);
    // The same, as far as it fits into so much; forget is called for the packets that do not.
    using Forget = std::function<void(const PacketEntry&)>;
    CollectorTables(const CollectorTables& other, std::uint64_t memory, const Forget& forget);
    void begin_prefixes(std::uint64_t memory);

    KeyMemory<PacketEntry> packets;
    ModeMemory frame;
    ModeMemory flow;
    ModeMemory flow_bidir;
    SegmentMemory segments;
    Loops loops;
    std::optional<PrefixMemory> prefixes;  // absent: nothing asks for them
};

// What is counted.
struct CollectorCounts {
    struct Tally {
        Count total;
        Count echoes;
    };
    struct Echoes {
        explicit Echoes(std::uint64_t memory) : sorter(memory) {}

        EchoSorter sorter;
        Copies copies;
        WindowCounts fixed;  // by policy
        WindowCounts refresh;
    };
    explicit CollectorCounts(std::uint64_t memory)
        : packet_echoes_(memory), frame_echoes_(memory) {}

    // A year: so that stamps of garbage do not wear the clock out.
    static constexpr Nanoseconds kMostStep = 365 * 86'400 * kSecond;

    bool started_ = false;
    std::uint32_t file_ = 0;  // of the packet that is looked at
    capture::EpochClock clock_{PacketClock(kJump, kMostStep)};
    Nanoseconds first_ = 0;  // as they stand in the capture
    Nanoseconds latest_ = 0;
    Nanoseconds clock_now_ = 0;
    Nanoseconds now_ = 0;  // of the clock, but for its largest steps
    Nanoseconds elapsed_ = 0;
    // Of what all steps of the clock, and so all ages, are whole numbers.
    Nanoseconds resolution_ = kMillisecond;
    Tally all_;
    Count keyed_;
    Count non_ip_;
    Count malformed_;
    Count cut_;  // captured shorter than its IP length
    std::uint64_t captured_ = 0;
    std::uint32_t longest_ = 0;
    std::uint32_t shortest_cut_ = UINT32_MAX;  // captured bytes, of those cut short
    std::uint64_t keys_ = 0;
    decltype(Report::key_times) key_times_{};
    Echoes packet_echoes_;
    Echoes frame_echoes_;          // frames without an IP packet, as with non_ip "frame"
    WindowCounts non_ip_dropped_;  // of these, by key frame
    std::array<Count, kCauses> causes_{};
    std::array<std::uint64_t, kDifferences> differences_{};
    std::array<Tally, kProtocols> protocols_{};
    std::vector<Tally> interfaces_;
    std::vector<Tally> files_;
    std::vector<Count> crossings_;  // kMostInterfaces to each original
    Timeline timeline_;
    PeakRates accepted_;
    PeakRates all_peaks_;
    Talkers talkers_;
    capture::UnparsedLinks unparsed_;
    std::optional<WhatIfTally> tally_;  // absent: nothing is asked about
};

class Collector : private CollectorCounts {
  public:
    // memory: some megabytes. May throw std::bad_alloc.
    Collector(std::uint64_t memory, const hash::Secret& secret,
              std::span<const std::uint16_t> vxlan_ports = {});

    // A configuration is asked about: from here on add() is told what it removes.
    // key_bytes: it has them, so that what they change is counted in any case; else where a packet
    // is in a tunnel or cut short.
    void ask(bool key_bytes = false) {
        tally_.emplace();
        key_bytes_asked_ = key_bytes;
    }

    // interfaces: of the source, at least up to those of the records. removed: which, rising.
    void add(std::span<const capture::Record> records,
             std::span<const capture::Interface> interfaces,
             std::span<const std::size_t> removed = {});

    // What was counted; not the names of files and interfaces, and no recommendation.
    [[nodiscard]] Report report();

    // That for which the innermost packets count; null: nothing is inside a tunnel.
    [[nodiscard]] Collector* inside() noexcept { return inside_.get(); }

    // What is in which tunnel; nothing if there are none. judged: by inside().
    [[nodiscard]] std::optional<TunnelReport> tunnels(const Report* judged) const;

    // Once the report has its recommendation: that of report(), or, if this is inside(), also that
    // of the other one. After ask().
    [[nodiscard]] WhatIf what_if(const WhatIf& asked, const Report& report) const {
        return tally_->answer(asked, report);
    }

    // Of the packets that a filter with key packet and policy fixed takes in.
    [[nodiscard]] const PeakRates& accepted() const noexcept { return accepted_; }
    // Of all packets: with another key or policy a filter takes in no more.
    [[nodiscard]] const PeakRates& all() const noexcept { return all_peaks_; }

    // A warning for each, kJump being the least step.
    [[nodiscard]] const std::vector<capture::Warning>& epochs() const noexcept {
        return clock_.warnings();
    }

    // Of link types without a parser.
    [[nodiscard]] const std::vector<capture::Warning>& unparsed() const noexcept {
        return unparsed_.warnings();
    }

    // Interfaces beyond count as the last of these.
    static constexpr std::size_t kMostInterfaces = 256;

  private:
    struct Burst;
    // What is judged when all was seen.
    struct Judgement {
        CopyEnds packets;
        CopyEnds frames;
    };

    // For inside().
    explicit Collector(const Collector& plain, std::uint64_t memory);

    void add_burst(Burst& burst, packet::Link link, std::span<const capture::Record> records,
                   std::span<const capture::Interface> interfaces);
    void add_inside(Burst& plain, const packet::ParsedBurst& parsed,
                    const packet::OpenedBurst& opened, packet::Link link,
                    std::span<const capture::Record> records,
                    std::span<const capture::Interface> interfaces);
    void begin_inside();
    void dissect_inside(Burst& burst, const Burst& plain, std::size_t i, packet::Link link,
                        std::uint64_t length);
    void count_burst(Burst& burst, packet::Link link, std::span<const capture::Record> records,
                     std::span<const capture::Interface> interfaces);
    void digest(Burst& burst, packet::Link link);
    void digest_prefixes(Burst& burst);
    void prefetch(Burst& burst);
    void tell_time(const capture::Record& record, std::uint32_t file);
    void add_one(Burst& burst, std::size_t i, const capture::Record& record);
    void measure(const capture::Record& record, bool cut);
    void tally(const Dissected& packet, std::uint16_t interface, std::uint64_t length, bool echo);
    WindowMask add_key(Burst& burst, std::size_t i, const capture::Record& record, bool& echo);
    bool add_without_ip(Burst& burst, std::size_t i, const capture::Record& record);
    bool add_prefixes(const Burst& burst, std::size_t i, const capture::Record& record,
                      WindowMask dropped);
    [[nodiscard]] bool wants_prefixes() const noexcept;
    void choose_prefixes();
    PacketEntry& remember(const Burst& burst, std::size_t i, const capture::Record& record);
    // The windows with which it is dropped.
    WindowMask count_echo(Burst& burst, std::size_t i, const capture::Record& record,
                          PacketEntry& entry, Echoes& into);
    // How it differs from the first with its key.
    EchoTraits compare(const Burst& burst, std::size_t i, const capture::Record& record,
                       const PacketEntry& entry);
    [[nodiscard]] bool came_by_loop(const Burst& burst, std::size_t i,
                                    const capture::Record& record, const PacketEntry& entry);
    void compare_tunnels(const Outside& first, const Outside& echo, EchoTraits& traits) const;
    void forget(const PacketEntry& entry) noexcept;
    void report_echoes(Report& out);
    void report_places(Report& out);
    Judgement sort_echoes(Report& out);
    void report_copies(Report& out, const Judgement& judged);
    void report_windows(Report& out);
    void take_copied_frames(Report& out) const;
    void report_memory(Report& out);

    // Of the entry of a packet, where it is.
    [[nodiscard]] Outside& outside_of(const PacketEntry& entry) noexcept {
        return outsides_.as<Outside>()[tables_.packets.table().place_of(entry)];
    }

    // So many packets are looked at for prefixes until one asks for them, so that its copies before
    // it are known.
    static constexpr std::uint64_t kProbation = 4096;

    std::uint64_t memory_;
    std::uint64_t table_memory_;
    hash::Secret secret_;
    packet::Tunnels tunnels_;
    CollectorTables tables_;
    LazyMemory outsides_{0};  // of each packet that is remembered; of inside() only
    bool key_bytes_asked_ = false;
    bool looks_inside_ = false;  // it is that collector
    std::unique_ptr<Collector> inside_;
    TunnelTally in_tunnels_;
    TunnelledCopies tunnelled_;  // once judged
};

}  // namespace unecho::analyze
