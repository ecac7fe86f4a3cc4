// SPDX-License-Identifier: BSD-3-Clause
// Tells copies, which a mirror, a second tap or a loop made, from packets that were sent again: a
// hello every 10 s, a query without an answer, an RST for each segment that comes. Both have a key
// that was met before.
//
// An echo is sorted by what speaks for a copy:
//   sure    within kMaxPathDelay, and its sender would not write these bytes again (an IP ID that
//           counts) or would not be seen so (another interface, MAC addresses, tags, ...)
//   unsure  within kMaxPathDelay, and nothing else tells
//   late    older: no path takes so long; or of any age, and a radio says that it is sent again
//   twice   of any age, behind a step back in time as long as half of the capture, as long as
//           nearly all packets behind it are echoes: copies where the capture was appended to
//           itself
//   hops    with a lower TTL and the same MAC addresses: copies where hardly any came with a
//           higher one, as nobody who sends again is always further away the second time
// Unsure ones are judged when all was seen, by the odds of mirror_odds.h: those of a cluster of
// ages all together, or else those of one population (MAC addresses, in one direction, at one
// interface). Late ones are copies where many packets of one interface were at another before, or
// behind a router, all of them about as long: the clocks of two taps differ.
//
// Memory: that of 256 protocols and 133 classes at the most, of fewer where there is little; those
// beyond are counted as one.
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

// The longest way on Earth is half its circumference: 20,000 km of fibre, 100 ms; half more for
// detours and queues. Below the 200 ms that a TCP sender waits at least before it sends again.
inline constexpr Nanoseconds kMaxPathDelay = 200 * kMillisecond;
// Between the clocks of two taps, that a window is to bridge.
inline constexpr Nanoseconds kMaxClockShift = kSecond;
// Between two looks at an unchanged frame at one interface lies one switch, which is hardly longer.
inline constexpr Nanoseconds kMaxSwitchDelay = kMillisecond;

// Populations share so many places: two for each pair of MAC addresses, one a direction.
inline constexpr std::size_t kSlots = 32;
// Sure, crossed, twice, hops, the groups of each slot, late.
inline constexpr std::size_t kEchoClasses = 4 + kSlots * kGroups + 1;

// What an echo is judged by.
struct EchoBin {
    std::uint8_t of_class;
    std::uint8_t of_age;

    // Among all of them, the ages of a class next to each other.
    [[nodiscard]] std::size_t index() const noexcept {
        return of_class * std::size_t{kAgeBins} + of_age;
    }
};

// By class, the bin of ages behind the last one of copies.
using CopyAgeLimits = std::array<unsigned, kEchoClasses>;

// Whether the echoes of the bin with this index are copies.
[[nodiscard]] inline bool is_copy_bin(std::size_t index, const CopyAgeLimits& ends) noexcept {
    return index % kAgeBins < ends[index / kAgeBins];
}

// Copies and what was sent again, told apart when all was seen.
struct ClassifiedEchoes {
    CopyAgeLimits ends{};
    Count copies;
    Count sent_again;
    AgeHistogram histogram;  // of the copies
    Ages ages;
    std::vector<SentAgain> kinds_sent_again;  // most first
    std::optional<Nanoseconds> youngest_sent_again;
    UncertainRepeats doubtful;
    Count appended;        // of the copies
    Count by_hops;         // of these, those that nothing but the TTL tells
    double misjudged = 0;  // echoes that are expected to be judged wrongly
};

struct Echo {
    Nanoseconds age = 0;
    unsigned run = 0;  // times in a row that the key came back within kMaxSwitchDelay
    Cause cause = Cause::kIdentical;
    bool moved = false;  // something tells that it was seen elsewhere than the first
    int hops = 0;        // by which its TTL is lower, where nothing else tells
    std::uint64_t length = 0;
    std::uint16_t original = 0;  // interface of the first
    std::uint16_t interface = 0;
    bool few = false;     // its key was met a few times before
    unsigned looks = 1;   // at it since it was away for kMaxPathDelay; 0: it is back
    bool behind = false;  // a step back in time
    std::uint64_t population = 0;
};

class CopyClassifier {
  public:
    static constexpr std::size_t kClasses = kEchoClasses;

    // memory: of the whole analysis.
    explicit CopyClassifier(std::uint64_t memory = UINT64_MAX);

    // A packet whose key was not met before. population: of Dissected, and of its interface.
    void first(const Dissected& packet, std::uint64_t population);

    // Is called for each packet behind a step back, before all else.
    void note_behind(std::uint64_t steps_back) noexcept {
        ++behind_;
        steps_back_ = steps_back;
    }

    // kind: complete.
    EchoBin add(const PacketKind& kind, const Echo& echo);

    // All packets of each interface: what sorted() needs to know of taps whose clocks differ.
    void find_clock_shifts(std::span<const std::uint64_t> packets);
    [[nodiscard]] const std::vector<ClockShift>& clock_shifts() const noexcept { return shifts_; }

    // A mirror that shows these packets again shows those too, and a clock is that of both.
    void set_companion(const CopyClassifier& others) noexcept {
        beside_ = &others;
        end_of_crossed_ = others.end_of_crossed_;
    }

    // What was counted of other packets, before anything is judged.
    void add(const CopyClassifier& others);
    // Each interface gets another number: to[its old one].
    void renumber(std::span<const std::uint32_t> to);
    // Whether it speaks of no interface beyond these.
    [[nodiscard]] bool within(std::size_t interfaces) const;

    template <typename Io>
    void state(Io& io) {
        io(labels_, crossed_, classes_, slots_, flows_, in_storms_, behind_, behind_again_,
           steps_back_, lowered_, raised_);
        if (slots_.size() > kSlots || flows_.size() > kFlows) {
            io.refuse();
        }
        slots_.resize(kSlots);  // what is 0 behind the last is left out
        flows_.resize(kFlows);
    }

    // resolution: of ages.
    [[nodiscard]] ClassifiedEchoes sorted(Nanoseconds resolution) const;

    // Memory taken.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return fixed_bytes() + labels_.size() * kLabelBytes + classes_.size() * kClassBytes +
               crossed_.size() * sizeof(Crossed);
    }
    // It never takes more.
    [[nodiscard]] static std::uint64_t most_bytes(std::uint64_t memory) noexcept {
        return fixed_bytes() + (most_labels(memory) + most_classes(memory)) * kLabelBytes +
               most_classes(memory) * kClassBytes + most_crossed(memory) * sizeof(Crossed);
    }

  private:
    // kCrossed: a late one, first seen elsewhere. Between kUnsure and kLate the groups of each
    // slot.
    enum Class : std::uint8_t { kSure, kCrossed, kTwice, kHops, kUnsure, kLate = kEchoClasses - 1 };
    static constexpr unsigned kLookBins = age_bin(kMaxPathDelay - 1) + 1;  // none is older
    static constexpr unsigned kFlowBits = 22;  // of a PacketKind's that are left out, the low ones
    static constexpr std::size_t kFlows = 1024;
    static_assert(std::uint64_t{kFlows} << kFlowBits == std::uint64_t{1} << 32);
    static constexpr std::size_t kMaxCrossed = 256;
    static constexpr std::size_t kMaxLabels = 256;
    static constexpr std::size_t kSenders = 4096;

    struct Bin {
        static constexpr bool kSparse = true;  // state_json.h: what is 0 is left out
        Count echoes;
        Nanoseconds ages = 0;  // their sum
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

    // Of the packets of a slot: different ones, and by age which look their echoes were.
    struct Slot {
        static constexpr bool kSparse = true;
        std::array<std::uint64_t, kGroups> packets{};
        std::uint64_t identified = 0;
        std::array<std::uint32_t, kLookBins> identified_again{};             // second looks
        std::array<std::array<std::uint32_t, kGroups>, kLookBins> second{};  // of the others
        std::array<std::array<std::uint32_t, kLooks - 1>, kLookBins>
            later{};  // third ones and so on

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

    // Unidentified packets of flows that share a place. soon: echoes within kMaxSwitchDelay.
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

    // Bins of ages without a gap between them.
    struct Cluster {
        unsigned begin = 0;
        unsigned end = 0;     // behind the last
        bool beyond = false;  // older than all that a mirror surely showed
    };

    // What is known of a sender's IDs. Two that fall into one place share it.
    struct Sender {
        std::uint32_t source = 0;
        std::uint16_t id = 0;
        std::uint32_t same = 0;   // packets with other content and the ID of the one before
        std::uint32_t other = 0;  // and with another ID
    };

    // Late echoes of packets that were met a few times before, at another interface.
    struct Crossed {
        std::array<std::uint64_t, kAgeBins> echoes{};
        std::array<Nanoseconds, kAgeBins> ages{};  // their sums

        template <typename Io>
        void state(Io& io) {
            io(echoes, ages);
        }
    };
    // Of a pair of interfaces, first that of the original.
    [[nodiscard]] static constexpr std::uint64_t pair_of(std::uint32_t original,
                                                         std::uint32_t echo) noexcept {
        return std::uint64_t{original} << 32 | echo;
    }

    static constexpr std::uint64_t kLabelBytes = sizeof(Bins) + 64;  // with links
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
        constexpr std::uint64_t kFewest = 2;  // one pair of interfaces, to and fro
        return std::clamp<std::uint64_t>(memory / 256 / sizeof(Crossed), kFewest, kMaxCrossed);
    }

    [[nodiscard]] static std::size_t slot_of(std::uint64_t population) noexcept {
        // The high bits of the product are of all bits of the population.
        constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
        const std::uint64_t pair = ((population >> 1) * kOdd) >> 32;
        return (pair * (kSlots / 2) >> 32) * 2 + (population & 1);
    }
    [[nodiscard]] static constexpr std::uint8_t class_of(std::size_t slot,
                                                         PacketGroup group) noexcept {
        return static_cast<std::uint8_t>(kUnsure + slot * kGroups +
                                         static_cast<std::size_t>(group));
    }
    // The ID of a sender that writes the same into everything does not count.
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
    // Whether nearly all packets behind steps back are echoes.
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
    std::uint64_t lowered_ = 0;  // echoes within kMaxPathDelay, by their TTL
    std::uint64_t raised_ = 0;
    std::uint64_t in_storms_ = 0;  // that came more often in a row than anybody says something
};

}  // namespace unecho::analyze
