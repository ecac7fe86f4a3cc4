// SPDX-License-Identifier: BSD-3-Clause
// What is counted of echoes while nobody knows yet which of them are copies: by what they will be
// judged by (echo_sorter.h), so that the counts of the copies can be had when all was seen.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "analyze/classify.h"
#include "analyze/echo_sorter.h"
#include "analyze/report.h"
#include "analyze/windows.h"

namespace unecho::analyze {

// What repeats = "keep" does with an echo, by where its packet was seen first and how long ago it
// was seen last.
enum class UnderKeep : std::uint8_t {
    kAsUnderDrop,  // it says which transmission it is, or came at another point
    kSecondLook,   // at the same point within kSecondLook: dropped where its population is doubled
    kKept,         // at the same point, later
};
// As `unecho pcap` has it with one tap.
inline constexpr Nanoseconds kSecondLook = 250 * kMicrosecond;

// Of one echo, all that it is counted by.
struct EchoTraits {
    std::uint64_t length = 0;
    std::uint32_t file = 0;
    std::uint16_t interface = 0;
    std::uint16_t protocol = 0;
    Cause cause = Cause::kIdentical;
    Differences differences = 0;
    WindowMask fixed = 0;  // the windows with which it is dropped, by policy
    WindowMask refresh = 0;
    // Of the two, where one is inside a tunnel.
    bool tunnelled = false;
    Meeting meeting = Meeting::kWhole;
    bool other_tenant = false;
    packet::EncapsulationSet around;
    UnderKeep under_keep = UnderKeep::kAsUnderDrop;
};

// Of echoes that are inside a tunnel, or whose first packet is.
struct TunnelledCopies {
    std::array<Count, kMeetings> meetings{};
    Count other_tenant;
    packet::EncapsulationSet needed;  // around those that are found only inside

    void add(const EchoTraits& echo);
    void add(const TunnelledCopies& others);

    template <typename Io>
    void state(Io& io) {
        io(meetings, other_tenant, needed);
    }
};

// What of the echoes that a window drops stays where repeats are kept.
struct Kept {
    WindowCounts fixed;  // later looks at the same point, by policy
    WindowCounts refresh;
    Count second;  // looks, dropped with any window

    void add(const EchoTraits& echo) {
        if (echo.under_keep == UnderKeep::kKept) {
            fixed.add(echo.fixed, echo.length);
            refresh.add(echo.refresh, echo.length);
        } else if (echo.under_keep == UnderKeep::kSecondLook) {
            second.add(echo.length);
        }
    }
    void add(const Kept& others) {
        fixed.add(others.fixed);
        refresh.add(others.refresh);
        second += others.second;
    }

    template <typename Io>
    void state(Io& io) {
        io(fixed, refresh, second);
    }
};

struct CopyCounts {
    WindowCounts fixed;
    WindowCounts refresh;
    Kept kept;
    std::array<Count, kCauses> causes{};
    std::array<std::uint64_t, kDifferences> differences{};
    TunnelledCopies tunnelled;
    std::vector<Count> interfaces;  // up to the last that has any
    std::vector<Count> files;
    std::vector<Count> protocols;

    void add(const EchoTraits& echo);
    void add(const CopyCounts& others);

    template <typename Io>
    void state(Io& io) {
        io(fixed, refresh, kept, causes, differences, tunnelled, interfaces, files, protocols);
    }
};

class Copies {
  public:
    void add(const EchoBin& bin, const EchoTraits& echo);
    void add(const Copies& others);
    // Each interface and each file gets another number: to[its old one], no old one beyond.
    void renumber(std::span<const std::uint32_t> interfaces, std::span<const std::uint32_t> files);
    // Whether it speaks of no interface, file and protocol beyond these.
    [[nodiscard]] bool within(std::size_t interfaces, std::size_t files,
                              std::size_t protocols) const;

    template <typename Io>
    void state(Io& io) {
        io(bins_);
        if (!bins_.empty() && bins_.rbegin()->first >= kBins) {
            io.refuse();
        }
    }

    // Of those that are copies.
    [[nodiscard]] CopyCounts counts(const CopyEnds& ends) const;

    // Memory taken.
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    [[nodiscard]] std::size_t used_bins() const noexcept { return bins_.size(); }

  private:
    // Those of the last class are late, which is never a copy.
    static constexpr std::size_t kBins = (EchoSorter::kClasses - 1) * kAgeBins;

    std::map<std::uint32_t, CopyCounts> bins_;  // kAgeBins to a class, those that have any
};

}  // namespace unecho::analyze
