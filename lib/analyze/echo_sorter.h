// SPDX-License-Identifier: BSD-3-Clause
// Tells copies, which a mirror, a second tap or a loop made, from packets that were sent again: a
// hello every 10 s, a query without an answer, an RST for each segment that comes. Both have a key
// that was met before.
//
// An echo is sorted by what speaks for a copy:
//   sure    within kLongestPath, and its sender would not write these bytes again (an IP ID that
//           counts) or would not be seen so (another interface, MAC addresses, tags, ...)
//   unsure  within kLongestPath, and nothing else tells
//   late    older: no path takes so long; or of any age, and a radio says that it is sent again
// Unsure ones are judged together when all was seen, for a mirror does not choose: they are copies
// where there are sure ones as old, or where, without any, most kinds of packets come twice.
// Answers among them (RSTs, ACKs) prove nothing, and are copies only as long as others are. Late
// ones are copies where many packets of one interface were at another before, all of them about as
// long: the clocks of two taps differ.
//
// Memory: that of 256 protocols at the most, of fewer where there is little; those beyond are
// counted as one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analyze/ages.h"
#include "analyze/kind.h"
#include "analyze/report.h"

namespace unecho::analyze {

// The longest way on Earth is half its circumference: 20,000 km of fibre, 100 ms; half more for
// detours and queues. Below the 200 ms that a TCP sender waits at least before it sends again.
inline constexpr Nanoseconds kLongestPath = 150 * kMillisecond;
// Between two looks at an unchanged frame at one interface lies one switch, which is hardly longer.
inline constexpr Nanoseconds kOneSwitch = kMillisecond;

inline constexpr std::size_t kEchoClasses = 5;

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
using CopyEnds = std::array<unsigned, kEchoClasses>;

// Whether the echoes of the bin with this index are copies.
[[nodiscard]] inline bool is_of_copies(std::size_t index, const CopyEnds& ends) noexcept {
    return index % kAgeBins < ends[index / kAgeBins];
}

// Copies and what was sent again, told apart when all was seen.
struct SortedEchoes {
    CopyEnds ends{};
    Count copies;
    Count sent_again;
    AgeHistogram histogram;  // of the copies
    Ages ages;
    std::vector<SentAgain> kinds_sent_again;  // most first
    std::optional<Nanoseconds> youngest_sent_again;
    Doubtful doubtful;
};

struct Echo {
    Nanoseconds age = 0;
    unsigned run = 0;  // times in a row that the key came back within kOneSwitch
    Cause cause = Cause::kIdentical;
    bool moved = false;  // something tells that it was seen elsewhere than the first
    std::uint64_t length = 0;
    std::uint16_t original = 0;  // interface of the first
    std::uint16_t interface = 0;
    bool second = false;  // its key was met once before
};

class EchoSorter {
  public:
    static constexpr std::size_t kClasses = kEchoClasses;

    // memory: of the whole analysis.
    explicit EchoSorter(std::uint64_t memory = UINT64_MAX);

    // A packet whose key was not met before.
    void first(const Kind& kind);

    EchoBin add(const Kind& kind, const Echo& echo);

    // All packets of each interface: what sorted() needs to know of taps whose clocks differ.
    void judge_clocks(std::span<const std::uint64_t> packets);
    [[nodiscard]] const std::vector<ClockShift>& clock_shifts() const noexcept { return shifts_; }

    // A mirror that doubles these packets doubles those too, and a clock is that of both.
    void judge_with(const EchoSorter& others) noexcept {
        eligible_ += others.eligible_;
        hits_ += others.hits_;
        end_of_crossed_ = others.end_of_crossed_;
    }

    // What was counted of other packets, before anything is judged.
    void add(const EchoSorter& others);
    // Each interface gets another number: to[its old one].
    void renumber(std::span<const std::uint32_t> to);
    // Whether it speaks of no interface beyond these.
    [[nodiscard]] bool within(std::size_t interfaces) const;

    template <typename Io>
    void state(Io& io) {
        io(labels_, crossed_, causes_, all_, eligible_, hits_, segment_hits_, any_hits_,
           any_oldest_, in_storms_);
    }

    // mirrored: other packets of the capture are copied, up to this age. resolution: of ages.
    [[nodiscard]] SortedEchoes sorted(Nanoseconds resolution,
                                      std::optional<Nanoseconds> mirrored = {}) const;

    // Memory taken.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return fixed_bytes() + labels_.size() * sizeof(Bins) + crossed_.size() * sizeof(Crossed);
    }
    // It never takes more.
    [[nodiscard]] static std::uint64_t most_bytes(std::uint64_t memory) noexcept {
        return fixed_bytes() + (most_labels(memory) + 1) * sizeof(Bins) +
               most_crossed(memory) * sizeof(Crossed);
    }

  private:
    // kAnswer: an unsure one that answers another. kCrossed: a late one, first at another
    // interface.
    enum Class : std::uint8_t { kSure, kUnsure, kAnswer, kCrossed, kLate };
    static constexpr std::size_t kMostCrossed = 256;
    static constexpr std::size_t kMostLabels = 256;
    static constexpr std::size_t kSenders = 4096;

    struct Bin {
        static constexpr bool kSparse = true;  // state.h: what is 0 is left out
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
    using Bins = std::array<std::array<Bin, kAgeBins>, kClasses>;

    // What is known of a sender's IDs. Two that fall into one place share it.
    struct Sender {
        std::uint32_t source = 0;
        std::uint16_t id = 0;
        std::uint32_t same = 0;   // packets with other content and the ID of the one before
        std::uint32_t other = 0;  // and with another ID
    };

    // Late echoes of packets that were met once before, at another interface.
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

    [[nodiscard]] static std::uint64_t fixed_bytes() noexcept {
        return sizeof(EchoSorter) + kSenders * sizeof(Sender);
    }
    // A sixty-fourth of the memory.
    [[nodiscard]] static std::size_t most_labels(std::uint64_t memory) noexcept {
        constexpr std::uint64_t kFewest = 4;
        return std::clamp<std::uint64_t>(memory / 64 / sizeof(Bins), kFewest, kMostLabels);
    }
    // A 256th of it.
    [[nodiscard]] static std::size_t most_crossed(std::uint64_t memory) noexcept {
        constexpr std::uint64_t kFewest = 2;  // one pair of interfaces, to and fro
        return std::clamp<std::uint64_t>(memory / 256 / sizeof(Crossed), kFewest, kMostCrossed);
    }

    [[nodiscard]] bool counts(const Kind& kind) const noexcept;
    [[nodiscard]] Class class_of(const Kind& kind, const Echo& echo) const noexcept;
    void note_crossed(const Echo& echo, unsigned at);
    [[nodiscard]] Bins& bins_of(std::uint32_t label);
    [[nodiscard]] CopyEnds ends(std::optional<Nanoseconds> mirrored) const;
    [[nodiscard]] unsigned end_of(Class is, Nanoseconds least) const;
    [[nodiscard]] unsigned end_of_unsure(Class is, std::optional<Nanoseconds> mirrored) const;

    std::size_t most_labels_;
    std::size_t most_crossed_;
    std::vector<Sender> senders_;
    std::map<std::uint32_t, Bins> labels_;
    std::map<std::uint64_t, Crossed> crossed_;
    std::vector<ClockShift> shifts_;
    unsigned end_of_crossed_ = 0;
    std::array<std::array<Causes, kAgeBins>, kClasses> causes_{};
    std::array<std::array<Bin, kAgeBins>, kClasses> all_{};
    // Different packets but RSTs and ACKs: what a mirror doubles. And what came more often in a row
    // than mirrors copy.
    std::uint64_t eligible_ = 0;
    std::uint64_t hits_ = 0;          // of unsure echoes, those that speak for a mirror
    std::uint64_t segment_hits_ = 0;  // the same of TCP segments with data, of any age
    std::uint64_t any_hits_ = 0;      // the same of all, of any age
    Nanoseconds any_oldest_ = 0;      // of these
    std::uint64_t in_storms_ = 0;     // that came more often in a row than anybody says something
};

}  // namespace unecho::analyze
