// SPDX-License-Identifier: BSD-3-Clause
// What was counted of captures, before anything is judged: sums, which several processes have each
// a part of (a shard, or captures of its own), and which merge. What of the echoes are copies, and
// all else of the report, is judged of the sums, so a report of merged parts is that of the whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "captures/analyze/classify/copy_classifier.h"
#include "captures/analyze/classify/loops.h"
#include "captures/analyze/classify/populations.h"
#include "captures/analyze/collect/dissect.h"
#include "captures/analyze/collect/flow_tables.h"
#include "captures/analyze/recommend/what_if.h"
#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/age_histogram.h"
#include "captures/analyze/tally/copies.h"
#include "captures/analyze/tally/hidden_copies.h"
#include "captures/analyze/tally/prefixes.h"
#include "captures/analyze/tally/talkers.h"
#include "captures/analyze/tally/timeline.h"
#include "captures/analyze/tally/tunnel_tally.h"
#include "captures/epoch_clock.h"
#include "captures/link_types.h"

namespace unecho::analyze {

// Of times that there may be none of.
inline std::optional<Nanoseconds> earlier(std::optional<Nanoseconds> a,
                                          std::optional<Nanoseconds> b) {
    return a && b ? std::min(*a, *b) : (a ? a : b);
}

// What the collector counts.
struct CollectorCounts {
    // Interfaces beyond count as the last of these.
    static constexpr std::size_t kMaxInterfaces = 256;

    struct Tally {
        static constexpr bool kSparse = true;  // state_json.h: what is 0 is left out
        Count total;
        Count echoes;

        Tally& operator+=(const Tally& more) noexcept;
        bool operator==(const Tally&) const = default;
        template <typename Io>
        void state(Io& io) {
            io(total, echoes);
        }
    };
    struct Echoes {
        explicit Echoes(std::uint64_t memory) : sorter(memory) {}

        CopyClassifier sorter;
        CopyTally copies;
        WindowCounts fixed;  // by policy
        WindowCounts refresh;
        KeptTally kept;

        void add(const Echoes& more);
        template <typename Io>
        void state(Io& io) {
            io(sorter, copies, fixed, refresh, kept);
        }
    };
    explicit CollectorCounts(std::uint64_t memory)
        : packet_echoes_(memory), frame_echoes_(memory), populations_(memory) {}

    // A year: so that stamps of garbage do not wear the clock out.
    static constexpr Nanoseconds kMaxStep = 365 * 86'400 * kSecond;

    bool started_ = false;
    capture::EpochClock clock_{PacketClock(kEpochJump, kMaxStep)};
    Nanoseconds first_ = 0;  // as they stand in the capture
    Nanoseconds latest_ = 0;
    Nanoseconds clock_now_ = 0;
    Nanoseconds last_ = 0;  // stamp
    bool behind_ = false;
    std::uint64_t steps_back_ = 0;
    Nanoseconds now_ = 0;  // of the clock, but for its largest steps
    Nanoseconds elapsed_ = 0;
    // Of what all steps of the clock, and so all ages, are whole numbers.
    Nanoseconds resolution_ = kMillisecond;
    Tally all_;
    Count keyed_;
    Count non_ip_;
    std::map<std::uint32_t, std::uint64_t> non_ip_types_;  // packets; kind << 16 | number
    Count malformed_;
    Count cut_;  // captured shorter than its IP length
    std::uint64_t captured_ = 0;
    std::uint32_t longest_ = 0;
    bool lengths_differ_ = false;  // of what is captured of packets that are cut short
    std::uint64_t keys_ = 0;
    decltype(Report::key_times) key_times_{};
    Echoes packet_echoes_;
    Echoes frame_echoes_;             // frames without an IP packet, as with non_ip "frame"
    WindowCounts non_ip_dropped_;     // of these, by key frame
    std::uint64_t short_echoes_ = 0;  // frames too short for addresses, the same as an earlier one
    std::uint64_t retagged_ = 0;      // that other tags and the same link showed again
    Populations populations_;
    std::array<Count, kCauses> causes_{};
    std::array<std::uint64_t, kDifferences> differences_{};
    std::array<Tally, kProtocols> protocols_{};
    std::vector<Tally> interfaces_;
    std::vector<Tally> files_;
    std::vector<Count> crossings_;  // kMaxInterfaces to each original
    Timeline timeline_;
    PeakRates accepted_;
    PeakRates all_peaks_;
    Talkers talkers_;
    capture::UnparsedLinks unparsed_;
    std::optional<WhatIfTally> tally_;  // absent: nothing is asked about
};

// All that was read, whoever's it is: the same in each shard, and what tells one capture from
// another.
struct ReadCounts {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t mark = 0;  // of times, lengths and interfaces, in their order

    void add(const capture::Record& record) noexcept;
    bool operator==(const ReadCounts&) const = default;

    template <typename Io>
    void state(Io& io) {
        io(packets, bytes, mark);
    }
};

// Captures seen in one way: as packets are, or as the innermost ones are.
struct Findings : CollectorCounts {
    Findings() : CollectorCounts(UINT64_MAX) {}
    explicit Findings(const CollectorCounts& counts) : CollectorCounts(counts) {}

    // What is told for each capture, in the order of AnalysisState::captures.
    struct PerCapture {
        Timeline timeline;
        PeakCounts accepted;
        PeakCounts all;

        template <typename Io>
        void state(Io& io) {
            io(timeline, accepted, all);
        }
    };
    std::vector<PerCapture> by_capture;

    std::map<std::uint64_t, Count> crossings;  // by original << 32 | echo
    std::array<ModeCounts, 3> modes;           // frame, flow, flow-bidir
    SegmentCounts segments;
    std::vector<LoopCount> loops;
    std::optional<PrefixCounts> prefixes;
    bool prefixes_wanted = false;
    TopSummary<AddressPair> pairs;
    std::optional<Nanoseconds> blind_after;
    std::optional<Nanoseconds> others_blind_after;
    std::uint64_t memory_bytes = 0;
    std::uint64_t ladders_taken = 0;
    bool inside = false;

    // Where what is here stands in what it becomes a part of: the new number of each old one.
    struct Places {
        std::vector<std::uint32_t> captures;
        std::vector<std::uint32_t> interfaces;
        std::vector<std::uint32_t> files;
        std::size_t all_captures = 0;
    };
    void renumber(const Places& places);
    // Of other packets, numbered alike.
    void add(const Findings& more);
    // As it is for innermost packets where nothing is inside a tunnel.
    [[nodiscard]] Findings as_inner_view() const;

    // Whether all numbers in it are of something that there is.
    [[nodiscard]] bool valid(std::size_t captures, std::size_t interfaces, std::size_t files) const;

    // What they say; not the names of files and interfaces, and no recommendation. Judges.
    // later: by how much each capture began after the first.
    [[nodiscard]] Report report(std::span<const Nanoseconds> later = {});

    void set_time_span(Nanoseconds first, Nanoseconds latest, Nanoseconds elapsed) noexcept {
        first_ = first;
        latest_ = latest;
        elapsed_ = elapsed;
    }

    // After report().
    [[nodiscard]] const TunnelledCopies& tunnelled() const noexcept { return tunnelled_; }
    // What is asked about; once the report has its recommendation: that of report(), or, if this
    // looks inside, also that of the other one. After report().
    [[nodiscard]] WhatIf what_if(const WhatIf& asked, const Report& report) const {
        return tally_->answer(asked, report);
    }

    [[nodiscard]] bool what_if_asked() const noexcept { return tally_.has_value(); }

    // Of the packets that a filter with key packet and policy fixed takes in.
    [[nodiscard]] PeakCounts accepted() const noexcept;
    // Of all packets: with another key or policy a filter takes in no more.
    [[nodiscard]] PeakCounts all() const noexcept;

    template <typename Io>
    void state(Io& io) {
        io.name("resolution", resolution_);
        io.name("all", all_);
        io.name("keyed", keyed_);
        io.name("non_ip", non_ip_);
        io.name("non_ip_types", non_ip_types_);
        io.name("malformed", malformed_);
        io.name("cut", cut_);
        io.name("captured", captured_);
        io.name("longest", longest_);
        io.name("keys", keys_);
        io.name("key_times", key_times_);
        io.name("packets", packet_echoes_);
        io.name("frames", frame_echoes_);
        io.name("non_ip_dropped", non_ip_dropped_);
        io.name("short_echoes", short_echoes_);
        io.name("retagged", retagged_);
        io.name("populations", populations_);
        io.name("causes", causes_);
        io.name("differences", differences_);
        io.name("protocols", protocols_);
        io.name("interfaces", interfaces_);
        io.name("files", files_);
        io.name("what_if", tally_);
        io.name("by_capture", by_capture);
        io.name("crossings", crossings);
        io.name("modes", modes);
        io.name("segments", segments);
        io.name("loops", loops);
        io.name("prefixes", prefixes);
        io.name("prefixes_wanted", prefixes_wanted);
        io.name("pairs", pairs);
        io.name("blind_after", blind_after);
        io.name("others_blind_after", others_blind_after);
        io.name("memory_bytes", memory_bytes);
        io.name("ladders_taken", ladders_taken);
        io.name("inside", inside);
    }

  private:
    // What is judged when all was seen.
    struct Judgement {
        CopyAgeLimits packets;
        CopyAgeLimits frames;
    };

    void report_echoes(Report& out);
    void report_time(Report& out, std::span<const Nanoseconds> later) const;
    void report_places(Report& out);
    Judgement sort_echoes(Report& out);
    void report_copies(Report& out, const Judgement& judged);
    void report_windows(Report& out);
    void report_kept(Report& out, const CopyCounts& copies, const CopyCounts& frames,
                     const Judgement& judged) const;
    void take_copied_frames(Report& out) const;
    void report_memory(Report& out) const;

    TunnelledCopies tunnelled_;  // once judged
};

// Both ways of looking at them, and what is in which tunnel.
struct Views {
    Findings plain;
    std::optional<Findings> inside;  // absent: nothing is inside a tunnel
    TunnelFindings tunnels;
    HiddenCopyCounts hidden;

    void renumber(const Findings::Places& places);
    void add(const Views& more);
    // After the reports.
    [[nodiscard]] std::optional<TunnelReport> tunnel_report() const;
    // How many lists of all interfaces and files there are.
    [[nodiscard]] std::size_t lists_by_source() const noexcept;

    template <typename Io>
    void state(Io& io) {
        io.name("plain", plain);
        io.name("inside", inside);
        io.name("tunnels", tunnels);
        io.name("hidden", hidden);
    }
};

}  // namespace unecho::analyze
