// SPDX-License-Identifier: BSD-3-Clause
// Takes the packets of a capture once, in order, and counts everything that the report says. In
// bounded memory; what is forgotten because of that, the report says too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyze/ages.h"
#include "analyze/copies.h"
#include "analyze/dissect.h"
#include "analyze/echo_sorter.h"
#include "analyze/memories.h"
#include "analyze/report.h"
#include "analyze/talkers.h"
#include "analyze/timeline.h"
#include "analyze/what_if.h"
#include "base/ids.h"
#include "capture/epochs.h"
#include "capture/link_types.h"
#include "capture/record.h"
#include "hash/secret.h"
#include "packet/digests.h"
#include "packet/link.h"

namespace unecho::analyze {

class Collector {
  public:
    // memory: some megabytes. May throw std::bad_alloc.
    Collector(std::uint64_t memory, const hash::Secret& secret);

    // A configuration is asked about: from here on add() is told what it removes.
    void ask() { tally_ = std::make_unique<WhatIfTally>(); }

    // interfaces: of the source, at least up to those of the records. removed: which, rising.
    void add(std::span<const capture::Record> records,
             std::span<const capture::Interface> interfaces,
             std::span<const std::size_t> removed = {});

    // What was counted; not the names of files and interfaces, and no recommendation.
    [[nodiscard]] Report report();

    // Once the report that report() gave has its recommendation. After ask().
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
    // A year: so that stamps of garbage do not wear the clock out.
    static constexpr Nanoseconds kMostStep = 365 * 86'400 * kSecond;

    struct Burst;
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
    // What is judged when all was seen.
    struct Judgement {
        CopyEnds packets;
        CopyEnds frames;
    };

    void add_burst(Burst& burst, packet::Link link, std::span<const capture::Record> records,
                   std::span<const capture::Interface> interfaces);
    void digest(Burst& burst, packet::Link link);
    void prefetch(Burst& burst);
    void tell_time(const capture::Record& record, std::uint32_t file);
    void add_one(const Burst& burst, std::size_t i, const capture::Record& record);
    void tally(const Dissected& packet, std::uint16_t interface, std::uint64_t length, bool echo);
    WindowMask add_key(const Burst& burst, std::size_t i, const capture::Record& record,
                       bool& echo);
    bool add_without_ip(const Burst& burst, std::size_t i, const capture::Record& record);
    PacketEntry& remember(const Burst& burst, std::size_t i, const capture::Record& record);
    // The windows with which it is dropped.
    WindowMask count_echo(const Burst& burst, std::size_t i, const capture::Record& record,
                          PacketEntry& entry, Echoes& into);
    void forget(const PacketEntry& entry) noexcept;
    void report_echoes(Report& out);
    void report_places(Report& out);
    Judgement sort_echoes(Report& out);
    void report_copies(Report& out, const Judgement& judged) const;
    void report_windows(Report& out);
    void take_copied_frames(Report& out) const;
    void report_memory(Report& out);

    hash::Secret secret_;
    KeyMemory<PacketEntry> packets_;
    ModeMemory frame_;
    ModeMemory flow_;
    ModeMemory flow_bidir_;
    SegmentMemory segments_;

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
    std::uint64_t captured_ = 0;
    std::uint32_t longest_ = 0;
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
    std::unique_ptr<WhatIfTally> tally_;  // null: nothing is asked about
};

}  // namespace unecho::analyze
