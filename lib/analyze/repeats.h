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
//
// Memory: that of 256 protocols at the most, of fewer where there is little; those beyond are
// counted as one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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

// What was told apart, when all was seen.
struct Told {
    std::array<unsigned, 3> ends{};  // Repeats::Ends
    Count copies;
    Count sent_again;
    Ages ages;                     // of the copies
    std::vector<SentAgain> kinds;  // most first
    std::optional<Nanoseconds> youngest_again;
};

// An echo.
struct Again {
    Nanoseconds age = 0;
    unsigned run = 0;  // times in a row that the key came back within kOneSwitch
    Cause cause = Cause::kIdentical;
    bool moved = false;  // something tells that it was seen elsewhere than the first
    std::uint64_t length = 0;
};

class Repeats {
  public:
    static constexpr std::size_t kClasses = 3;
    // What an echo is judged by.
    struct Place {
        std::uint8_t is;   // its class
        std::uint8_t bin;  // of its age
    };
    // By class: behind the last bin of copies.
    using Ends = std::array<unsigned, kClasses>;

    // memory: of the whole analysis.
    explicit Repeats(std::uint64_t memory = UINT64_MAX);

    // A packet whose key was not met before.
    void first(const Kind& kind);

    Place again(const Kind& kind, const Again& echo);

    // mirrored: other packets of the capture are copied, up to this age. resolution: of ages.
    [[nodiscard]] Told tell(Nanoseconds resolution, std::optional<Nanoseconds> mirrored = {}) const;

    // Memory taken.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return fixed_bytes() + labels_.size() * sizeof(Bins);
    }
    // It never takes more.
    [[nodiscard]] static std::uint64_t most_bytes(std::uint64_t memory) noexcept {
        return fixed_bytes() + (most_labels(memory) + 1) * sizeof(Bins);
    }

  private:
    enum Class : std::uint8_t { kSure, kUnsure, kLate };
    static constexpr std::size_t kMostLabels = 256;
    static constexpr std::size_t kSenders = 4096;

    struct Bin {
        Count echoes;
        Nanoseconds ages = 0;  // their sum
        Nanoseconds youngest = UINT64_MAX;
        Nanoseconds oldest = 0;
    };
    using Bins = std::array<std::array<Bin, kAgeBins>, kClasses>;

    // What is known of a sender's IDs. Two that fall into one place share it.
    struct Sender {
        std::uint32_t source = 0;
        std::uint16_t id = 0;
        std::uint32_t same = 0;   // packets with other content and the ID of the one before
        std::uint32_t other = 0;  // and with another ID
    };

    [[nodiscard]] static std::uint64_t fixed_bytes() noexcept {
        return sizeof(Repeats) + kSenders * sizeof(Sender);
    }
    // A sixty-fourth of the memory.
    [[nodiscard]] static std::size_t most_labels(std::uint64_t memory) noexcept {
        constexpr std::uint64_t kFewest = 4;
        return std::clamp<std::uint64_t>(memory / 64 / sizeof(Bins), kFewest, kMostLabels);
    }

    [[nodiscard]] bool counts(const Kind& kind) const noexcept;
    [[nodiscard]] Bins& bins_of(std::uint32_t label);
    [[nodiscard]] Ends ends(std::optional<Nanoseconds> mirrored) const;
    [[nodiscard]] unsigned end_of_sure() const;
    [[nodiscard]] unsigned end_of_unsure(std::optional<Nanoseconds> mirrored) const;

    std::size_t most_labels_;
    std::vector<Sender> senders_;
    std::map<std::uint32_t, std::unique_ptr<Bins>> labels_;
    std::array<std::array<Causes, kAgeBins>, kClasses> causes_{};
    std::array<std::array<Bin, kAgeBins>, kClasses> all_{};
    // Different packets but RSTs and ACKs: what a mirror doubles. And what came more often in a row
    // than mirrors copy.
    std::uint64_t eligible_ = 0;
    std::uint64_t hits_ = 0;          // of unsure echoes, those that speak for a mirror
    std::uint64_t segment_hits_ = 0;  // the same of TCP segments with data, of any age
};

}  // namespace unecho::analyze
