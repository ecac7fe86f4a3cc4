// SPDX-License-Identifier: BSD-3-Clause
// Decide which echoes are copies, made by a mirror, a second tap or a loop, and which are repeats
// that their sender sent again: a hello every 10 s, a query without an answer, an RST for each
// segment. Both have a key that was seen before.
//
// The class of an echo is the evidence for a copy:
//
//   sure    within kMaxPathDelay, and its sender would not write these bytes again (an IP ID that
//           counts up) or would not be seen so (another interface, MAC addresses, tags, ...)
//   unsure  within kMaxPathDelay, without any other evidence
//   late    older, as no path takes so long; or of any age, if a radio marks it as sent again
//   twice   of any age, after a step back in time by at least half of the capture, while nearly all
//           packets after it are echoes: copies, because the capture was appended to itself
//   hops    with a lower TTL and the same MAC addresses: copies if hardly any has a higher TTL,
//           because repeats do not always come from further away
//
// Unsure echoes are judged at the end, by the odds of mirror_odds.h: a cluster of ages as a whole,
// or else one population (MAC addresses, in one direction, at one interface) after the other. Late
// echoes are copies if many packets of one interface were at another before, or behind a router,
// all by about the same time: the clocks of two taps differ.
//
// Memory: at most 256 protocols and 133 classes, and fewer if there is little; further ones are
// counted as one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "captures/analyze/classify/mirror_odds.h"
#include "captures/analyze/classify/packet_kind.h"
#include "captures/analyze/collect/dissect.h"
#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/age_histogram.h"

namespace unecho::analyze {

// No copy is older. Half the Earth's circumference, 20,000 km of fibre, takes 100 ms; detours and
// queues add half of that. A TCP sender waits at least 200 ms before it sends again.
inline constexpr Nanoseconds kMaxPathDelay = 200 * kMillisecond;
// The largest difference between the clocks of two taps that a window should bridge.
inline constexpr Nanoseconds kMaxClockShift = kSecond;
// Two looks at an unchanged frame at one interface are one switch apart, which takes hardly longer.
inline constexpr Nanoseconds kMaxSwitchDelay = kMillisecond;

// Number of slots that populations share: two for each pair of MAC addresses, one a direction.
inline constexpr std::size_t kSlots = 32;
// Sure, crossed, twice, hops, the groups of each slot, late.
inline constexpr std::size_t kEchoClasses = 4 + kSlots * kGroups + 1;

// The class and age bin by which an echo is judged.
struct EchoBin {
    std::uint8_t of_class;
    std::uint8_t of_age;

    [[nodiscard]] std::size_t index() const noexcept {
        return of_class * std::size_t{kAgeBins} + of_age;
    }
};

// For each class, the bin after the oldest copies.
using CopyAgeLimits = std::array<unsigned, kEchoClasses>;

[[nodiscard]] inline bool is_copy_bin(std::size_t index, const CopyAgeLimits& ends) noexcept {
    return index % kAgeBins < ends[index / kAgeBins];
}

// Copies and repeats, separated after all packets were seen.
struct ClassifiedEchoes {
    CopyAgeLimits ends{};
    Count copies;
    Count sent_again;
    AgeHistogram histogram;  // of the copies
    Ages ages;
    std::vector<SentAgain> kinds_sent_again;  // most frequent first
    std::optional<Nanoseconds> youngest_sent_again;
    UncertainRepeats doubtful;
    Count appended;        // copies, as the capture was appended to itself
    Count by_hops;         // of the copies, those with the TTL as only evidence
    double misjudged = 0;  // expected number of echoes that are judged wrongly
};

struct Echo {
    Nanoseconds age = 0;
    unsigned run = 0;  // times in a row that the key came back within kMaxSwitchDelay
    Cause cause = Cause::kIdentical;
    bool moved = false;  // evidence that it was seen elsewhere than the first packet
    int hops = 0;        // by how much its TTL is lower; 0 if it moved
    std::uint64_t length = 0;
    std::uint16_t original = 0;  // interface of the first packet
    std::uint16_t interface = 0;
    bool few = false;     // its key was seen only a few times before
    unsigned looks = 1;   // looks since its key was away for kMaxPathDelay; 0: just back
    bool behind = false;  // after a step back in time
    std::uint64_t population = 0;
};

class CopyClassifier {
  public:
    static constexpr std::size_t kClasses = kEchoClasses;

    // memory: bytes of the whole analysis.
    explicit CopyClassifier(std::uint64_t memory = UINT64_MAX);

    // Count a packet whose key is new. population: Dissected::population with the interface.
    void first(const Dissected& packet, std::uint64_t population);

    // Call this for each packet after a step back in time, before anything else.
    void note_behind(std::uint64_t steps_back) noexcept {
        ++behind_;
        steps_back_ = steps_back;
    }

    // Count an echo and return its bin. kind: from complete().
    EchoBin add(const PacketKind& kind, const Echo& echo);

    // Find taps whose clocks differ, before sorted(). packets: number for each interface.
    void find_clock_shifts(std::span<const std::uint64_t> packets);
    [[nodiscard]] const std::vector<ClockShift>& clock_shifts() const noexcept { return shifts_; }

    // Use evidence of other packets of the capture: the same mirrors and clocks apply to both.
    void set_companion(const CopyClassifier& others) noexcept {
        beside_ = &others;
        end_of_crossed_ = others.end_of_crossed_;
    }

    void add(const CopyClassifier& others);
    // Renumber interfaces: to[old number] is the new one.
    void renumber(std::span<const std::uint32_t> to);
    // Return true if all classes exist and no interface is beyond this number.
    [[nodiscard]] bool within(std::size_t interfaces) const;

    template <typename Io>
    void state(Io& io) {
        io(labels_, crossed_, classes_, slots_, flows_, in_storms_, behind_, behind_again_,
           steps_back_, lowered_, raised_);
        if (slots_.size() > kSlots || flows_.size() > kFlows) {
            io.refuse();
        }
        slots_.resize(kSlots);  // zeros at the end are left out
        flows_.resize(kFlows);
    }

    // Separate copies from repeats. resolution: of ages.
    [[nodiscard]] ClassifiedEchoes sorted(Nanoseconds resolution) const;

    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return fixed_bytes() + labels_.size() * kLabelBytes + classes_.size() * kClassBytes +
               crossed_.size() * sizeof(Crossed);
    }
    // Return the upper bound of bytes().
    [[nodiscard]] static std::uint64_t most_bytes(std::uint64_t memory) noexcept {
        return fixed_bytes() + (most_labels(memory) + most_classes(memory)) * kLabelBytes +
               most_classes(memory) * kClassBytes + most_crossed(memory) * sizeof(Crossed);
    }

  private:
    // kCrossed: late, and first seen elsewhere. Between kUnsure and kLate are the groups of each
    // slot.
    enum Class : std::uint8_t { kSure, kCrossed, kTwice, kHops, kUnsure, kLate = kEchoClasses - 1 };
    static constexpr unsigned kLookBins = age_bin(kMaxPathDelay - 1) + 1;  // no look is older
    static constexpr unsigned kFlowBits = 22;  // low bits of PacketKind::flow that are ignored
    static constexpr std::size_t kFlows = 1024;
    static_assert(std::uint64_t{kFlows} << kFlowBits == std::uint64_t{1} << 32);
    static constexpr std::size_t kMaxCrossed = 256;
    static constexpr std::size_t kMaxLabels = 256;
    static constexpr std::size_t kSenders = 4096;

    struct Bin {
        static constexpr bool kSparse = true;
        Count echoes;
        Nanoseconds ages = 0;  // sum
        Nanoseconds youngest = UINT64_MAX;
        Nanoseconds oldest = 0;

        Bin& operator+=(const Bin& other) noexcept;
        bool operator==(const Bin&) const = default;
        template <typename Io>
        void state(Io& io) {
            io(echoes, ages, youngest, oldest);
        }
    };
    using Bins = std::array<Bin, kAgeBins>;

    struct OfClass {
        Bins bins{};
        std::array<Causes, kAgeBins> causes{};

        template <typename Io>
        void state(Io& io) {
            io(bins, causes);
        }
    };

    // Packets of a slot that differ from each other, and by age the looks at them.
    struct Slot {
        static constexpr bool kSparse = true;
        std::array<std::uint64_t, kGroups> packets{};
        std::uint64_t identified = 0;
        std::array<std::uint32_t, kLookBins> identified_again{};  // second looks at these
        std::array<std::array<std::uint32_t, kGroups>, kLookBins> second{};  // of the others
        std::array<std::array<std::uint32_t, kLooks - 1>, kLookBins>
            later{};  // third and later looks at these

        [[nodiscard]] std::uint64_t second_at(unsigned age) const noexcept {
            return std::accumulate(second[age].begin(), second[age].end(), std::uint64_t{0});
        }
        Slot& operator+=(const Slot& other) noexcept;
        bool operator==(const Slot&) const = default;
        template <typename Io>
        void state(Io& io) {
            io(packets, identified, identified_again, second, later);
        }
    };

    // Unidentified packets of the flows that share an entry. soon: echoes within kMaxSwitchDelay.
    struct Flow {
        static constexpr bool kSparse = true;
        std::uint32_t packets = 0;
        std::uint32_t soon = 0;
        std::uint32_t later = 0;

        bool operator==(const Flow&) const = default;
        template <typename Io>
        void state(Io& io) {
            io(packets, soon, later);
        }
    };

    // Age bins without a gap between them.
    struct Cluster {
        unsigned begin = 0;
        unsigned end = 0;     // after the last
        bool beyond = false;  // older than anything a mirror certainly showed
    };

    // The IP IDs of a sender. Two senders in one place share it.
    struct Sender {
        std::uint32_t source = 0;
        std::uint16_t id = 0;
        std::uint32_t same = 0;   // packets with new content and the previous packet's ID
        std::uint32_t other = 0;  // packets with another ID
    };

    // Late echoes, at another interface, of packets that were seen a few times before.
    struct Crossed {
        std::array<std::uint64_t, kAgeBins> echoes{};
        std::array<Nanoseconds, kAgeBins> ages{};  // sums

        template <typename Io>
        void state(Io& io) {
            io(echoes, ages);
        }
    };
    // Return the key of a pair of interfaces: of the original, and of the echo.
    [[nodiscard]] static constexpr std::uint64_t pair_of(std::uint32_t original,
                                                         std::uint32_t echo) noexcept {
        return std::uint64_t{original} << 32 | echo;
    }

    static constexpr std::uint64_t kLabelBytes = sizeof(Bins) + 64;  // 64: links of the tree
    static constexpr std::uint64_t kClassBytes = sizeof(OfClass) + 64;

    [[nodiscard]] static std::uint64_t fixed_bytes() noexcept {
        return sizeof(CopyClassifier) + kSenders * sizeof(Sender) + kSlots * sizeof(Slot) +
               kFlows * sizeof(Flow);
    }
    // A 128th of the memory.
    [[nodiscard]] static std::size_t most_labels(std::uint64_t memory) noexcept {
        constexpr std::uint64_t kFewest = 8;
        return std::clamp<std::uint64_t>(memory / 128 / kLabelBytes, kFewest, kMaxLabels);
    }
    // A 64th of it.
    [[nodiscard]] static std::size_t most_classes(std::uint64_t memory) noexcept {
        constexpr std::uint64_t kFewest = 4 + 2 * kGroups;
        return std::clamp<std::uint64_t>(memory / 64 / kClassBytes, kFewest, kClasses);
    }
    // A 256th of it.
    [[nodiscard]] static std::size_t most_crossed(std::uint64_t memory) noexcept {
        constexpr std::uint64_t kFewest = 2;  // one pair of interfaces, both ways
        return std::clamp<std::uint64_t>(memory / 256 / sizeof(Crossed), kFewest, kMaxCrossed);
    }

    [[nodiscard]] static std::size_t slot_of(std::uint64_t population) noexcept {
        // The high bits of the product depend on all bits of the population.
        constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
        const std::uint64_t pair = ((population >> 1) * kOdd) >> 32;
        return (pair * (kSlots / 2) >> 32) * 2 + (population & 1);
    }
    [[nodiscard]] static constexpr std::uint8_t class_of(std::size_t slot,
                                                         PacketGroup group) noexcept {
        return static_cast<std::uint8_t>(kUnsure + slot * kGroups +
                                         static_cast<std::size_t>(group));
    }
    // Return true if the IP ID is evidence; it is not if its sender writes one ID everywhere.
    [[nodiscard]] bool counts(const PacketKind& kind) const noexcept {
        const Sender& sender = senders_[kind.source % kSenders];
        return kind.counts && !(sender.source == kind.source && sender.same > sender.other);
    }
    [[nodiscard]] std::uint8_t class_of(const PacketKind& kind, const Echo& echo) const noexcept;
    void note_crossed(const Echo& echo, unsigned at);
    void note_unsure(const PacketKind& kind, std::uint64_t population);
    void note_look(const PacketKind& kind, const Echo& echo, unsigned at);
    [[nodiscard]] Bins& bins_of(std::uint32_t label, std::uint8_t of_class);
    [[nodiscard]] std::uint64_t echoes_of(std::size_t of_class, unsigned at) const;
    [[nodiscard]] std::vector<Cluster> clusters(Nanoseconds resolution,
                                                const CopyAgeLimits& beside) const;
    // Return true if nearly all packets after steps back are echoes.
    [[nodiscard]] bool is_twice() const noexcept { return 10 * behind_again_ >= 9 * behind_; }
    [[nodiscard]] bool has_lower_mirror() const noexcept;
    [[nodiscard]] bool has_looks(unsigned at) const;
    [[nodiscard]] unsigned end_of_known() const;
    void count(const Cluster& cluster, std::size_t slot, MirrorCounts& into) const;
    [[nodiscard]] MirrorOdds odds_of(const Cluster& cluster) const;
    [[nodiscard]] MirrorOdds odds_of(const Cluster& cluster, std::size_t slot) const;
    struct Judged {
        CopyAgeLimits ends{};
        double misjudged = 0;
    };
    [[nodiscard]] Judged judged(Nanoseconds resolution) const;
    [[nodiscard]] std::array<bool, kSlots> unshown_slots(const Cluster& cluster) const;
    [[nodiscard]] bool is_beside(const Cluster& cluster, const CopyAgeLimits& ends) const;
    [[nodiscard]] unsigned end_of_second(const Cluster& cluster) const;
    void doubt(ClassifiedEchoes& out) const;
    void judge_unsure(Nanoseconds resolution, Judged& out) const;
    [[nodiscard]] std::uint64_t echoes_of(const Cluster& cluster, std::size_t slot) const;
    [[nodiscard]] unsigned end_of_sure() const;

    std::size_t most_labels_;
    std::size_t most_classes_;
    std::size_t most_crossed_;
    std::vector<Sender> senders_;
    std::map<std::uint64_t, Bins> labels_;  // by label and class
    std::map<std::uint8_t, OfClass> classes_;
    std::map<std::uint64_t, Crossed> crossed_;
    std::vector<Slot> slots_;
    std::vector<Flow> flows_;
    std::vector<ClockShift> shifts_;
    unsigned end_of_crossed_ = 0;
    const CopyClassifier* beside_ = nullptr;
    std::uint64_t behind_ = 0;
    std::uint64_t behind_again_ = 0;  // of these, echoes
    std::uint64_t steps_back_ = 0;
    std::uint64_t lowered_ = 0;  // echoes within kMaxPathDelay with a lower TTL
    std::uint64_t raised_ = 0;
    std::uint64_t in_storms_ = 0;  // echoes in longer runs than any sender repeats itself
};

}  // namespace unecho::analyze
