// SPDX-License-Identifier: BSD-3-Clause
// Counts of captures, before anything is judged. They are sums; each of several processes has a
// part of them (a shard, or captures of its own), and parts merge. Copies, and all else in the
// report, are judged by the sums. So a report of merged parts is that of the whole.
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

// Return the earlier of two times, either of which may be absent.
inline std::optional<Nanoseconds> earlier(std::optional<Nanoseconds> a,
                                          std::optional<Nanoseconds> b) {
    return a && b ? std::min(*a, *b) : (a ? a : b);
}

struct CollectorCounts {
    // Further interfaces are counted as the last of these.
    static constexpr std::size_t kMaxInterfaces = 256;

    struct Tally {
        static constexpr bool kSparse = true;
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

    // A year, so that garbage timestamps do not exhaust the clock.
    static constexpr Nanoseconds kMaxStep = 365 * 86'400 * kSecond;

    bool started_ = false;
    capture::EpochClock clock_{PacketClock(kEpochJump, kMaxStep)};
    Nanoseconds first_ = 0;  // as they are in the capture
    Nanoseconds latest_ = 0;
    Nanoseconds clock_now_ = 0;
    Nanoseconds last_ = 0;  // timestamp of the packet before
    bool behind_ = false;
    std::uint64_t steps_back_ = 0;
    Nanoseconds now_ = 0;  // time of the clock, without the excess of its largest steps
    Nanoseconds elapsed_ = 0;
    // All steps of the clock, and so all ages, are multiples of it.
    Nanoseconds resolution_ = kMillisecond;
    Tally all_;
    Count keyed_;
    Count non_ip_;
    std::map<std::uint32_t, std::uint64_t> non_ip_types_;  // packets; kind << 16 | number
    Count malformed_;
    Count cut_;
    std::uint64_t captured_ = 0;
    std::uint32_t longest_ = 0;
    bool lengths_differ_ = false;  // some packets are cut shorter than others
    std::uint64_t keys_ = 0;
    decltype(Report::key_times) key_times_{};
    Echoes packet_echoes_;
    Echoes frame_echoes_;             // frames without an IP packet, as with non_ip "frame"
    WindowCounts non_ip_dropped_;     // of these, what key frame drops
    std::uint64_t short_echoes_ = 0;  // echoes that are too short for addresses
    std::uint64_t retagged_ = 0;      // echoes on the same link with other tags
    Populations populations_;
    std::array<Count, kCauses> causes_{};
    std::array<std::uint64_t, kDifferences> differences_{};
    std::array<Tally, kProtocols> protocols_{};
    std::vector<Tally> interfaces_;
    std::vector<Tally> files_;
    std::vector<Count> crossings_;  // kMaxInterfaces for each original
    Timeline timeline_;
    PeakRates accepted_;
    PeakRates all_peaks_;
    Talkers talkers_;
    capture::UnparsedLinks unparsed_;
    std::optional<WhatIfTally> tally_;  // absent: no configuration in question
};

// Everything that was read, of all shards. It is the same in each shard, and different for each
// capture.
struct ReadCounts {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t mark = 0;  // hash of times, lengths and interfaces, in order

    void add(const capture::Record& record) noexcept;
    bool operator==(const ReadCounts&) const = default;

    template <typename Io>
    void state(Io& io) {
        io(packets, bytes, mark);
    }
};

// Counts of captures in one view: of packets as they are, or of innermost ones.
struct Findings : CollectorCounts {
    Findings() : CollectorCounts(UINT64_MAX) {}
    explicit Findings(const CollectorCounts& counts) : CollectorCounts(counts) {}

    // Counts of each capture, in the order of AnalysisState::captures.
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

    // The new number of each old one, when this becomes a part of a larger whole.
    struct Places {
        std::vector<std::uint32_t> captures;
        std::vector<std::uint32_t> interfaces;
        std::vector<std::uint32_t> files;
        std::size_t all_captures = 0;
    };
    void renumber(const Places& places);
    // Add counts of other packets, with the same numbers.
    void add(const Findings& more);
    // Return the inner view of captures without tunnels, which has the same counts.
    [[nodiscard]] Findings as_inner_view() const;

    [[nodiscard]] bool valid(std::size_t captures, std::size_t interfaces, std::size_t files) const;

    // Judge the counts and return the report, without names of files and interfaces, and without a
    // recommendation. later: by how much later than the first each capture began.
    [[nodiscard]] Report report(std::span<const Nanoseconds> later = {});

    void set_time_span(Nanoseconds first, Nanoseconds latest, Nanoseconds elapsed) noexcept {
        first_ = first;
        latest_ = latest;
        elapsed_ = elapsed;
    }

    // Call this after report().
    [[nodiscard]] const TunnelledCopies& tunnelled() const noexcept { return tunnelled_; }
    // Answer the question about a configuration, after report(). report: with its recommendation;
    // that of this view, or, if this is the inner view, that of either view.
    [[nodiscard]] WhatIf what_if(const WhatIf& asked, const Report& report) const {
        return tally_->answer(asked, report);
    }

    [[nodiscard]] bool what_if_asked() const noexcept { return tally_.has_value(); }

    // Peaks of the packets that a filter with key packet and policy fixed inserts.
    [[nodiscard]] PeakCounts accepted() const noexcept;
    // Peaks of all packets: a filter with another key or policy inserts no more.
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
    // The ages up to which echoes are copies, judged after all packets were counted.
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

    TunnelledCopies tunnelled_;
};

// Both views, the packets by tunnel, and copies that no key finds.
struct Views {
    Findings plain;
    std::optional<Findings> inside;  // absent: nothing is inside a tunnel
    TunnelFindings tunnels;
    HiddenCopyCounts hidden;

    void renumber(const Findings::Places& places);
    void add(const Views& more);
    // Call this after report() of the views.
    [[nodiscard]] std::optional<TunnelReport> tunnel_report() const;
    // Return the number of lists with a count for each interface and file.
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
