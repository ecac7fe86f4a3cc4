// SPDX-License-Identifier: BSD-3-Clause
// What is counted of echoes while nobody knows yet which of them are copies: by what they will be
// judged by (copy_classifier.h), so that the counts of the copies can be had when all was seen.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "captures/analyze/classify/copy_classifier.h"
#include "captures/analyze/classify/echo_cause.h"
#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/windows.h"

namespace unecho::analyze {

// Whether a packet that does not say which transmission it is came where the first of its key came.
enum class EchoPoint : std::uint8_t {
    kOther,  // another point
    kSame,
    kOtherAgain,  // another point, twice in a row: kSame where that shows packets twice
    kOtherTtl,    // the same one, unless point = "link-ttl"
    kOtherTags,   // the same one, unless tags = "point"
};

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
    TunnelRelation meeting = TunnelRelation::kWhole;
    bool other_tenant = false;
    packet::EncapsulationSet around;
    std::optional<EchoPoint> at;  // absent: it says which transmission it is
    bool ahead = false;           // it stays with repeats = "keep", unless it is a second look
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

// How many of the echoes that a window drops stay where repeats are kept, by policy.
struct KeptCounts {
    WindowCounts fixed;
    WindowCounts refresh;

    void add(const EchoTraits& echo) {
        fixed.add(echo.fixed, echo.length);
        refresh.add(echo.refresh, echo.length);
    }
    void add(const KeptCounts& others) {
        fixed.add(others.fixed);
        refresh.add(others.refresh);
    }

    template <typename Io>
    void state(Io& io) {
        io(fixed, refresh);
    }
};

// Looks at what the same point saw before. Those are kept that are no second looks.
struct SamePointLooks {
    Count all;
    KeptCounts kept;

    void add(const EchoTraits& echo) {
        all.add(echo.length);
        if (echo.ahead) {
            kept.add(echo);
        }
    }
    void add(const SamePointLooks& others) {
        all += others.all;
        kept.add(others.kept);
    }

    template <typename Io>
    void state(Io& io) {
        io(all, kept);
    }
};

// The echoes that do not say which transmission they are, by where they came.
struct KeptTally {
    KeptCounts elsewhere;
    SamePointLooks same;
    SamePointLooks other_again;
    SamePointLooks other_ttl;
    SamePointLooks other_tags;

    void add(const EchoTraits& echo) {
        if (echo.at == EchoPoint::kOther) {
            if (echo.ahead) {
                elsewhere.add(echo);
            }
        } else if (echo.at) {
            (echo.at == EchoPoint::kSame         ? same
             : echo.at == EchoPoint::kOtherAgain ? other_again
             : echo.at == EchoPoint::kOtherTtl   ? other_ttl
                                                 : other_tags)
                .add(echo);
        }
    }
    void add(const KeptTally& others) {
        elsewhere.add(others.elsewhere);
        same.add(others.same);
        other_again.add(others.other_again);
        other_ttl.add(others.other_ttl);
        other_tags.add(others.other_tags);
    }
    [[nodiscard]] KeptCounts kept_elsewhere(const PointParts& parts) const {
        KeptCounts out = elsewhere;
        if (!parts.again) {
            out.add(other_again.kept);
        }
        return out;
    }
    [[nodiscard]] SamePointLooks looks(const PointParts& parts) const {
        SamePointLooks out = same;
        if (parts.again) {
            out.add(other_again);
        }
        if (!parts.ttl) {
            out.add(other_ttl);
        }
        if (!parts.tags) {
            out.add(other_tags);
        }
        return out;
    }

    template <typename Io>
    void state(Io& io) {
        io(elsewhere, same, other_again, other_ttl, other_tags);
    }
};

struct CopyCounts {
    WindowCounts fixed;
    WindowCounts refresh;
    KeptTally kept;
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

class CopyTally {
  public:
    void add(const EchoBin& bin, const EchoTraits& echo);
    void add(const CopyTally& others);
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
    [[nodiscard]] CopyCounts counts(const CopyAgeLimits& ends) const;
    // Looks at what the same point saw before, by age, the youngest first.
    [[nodiscard]] std::vector<SamePointRow> same_point_rows(const CopyAgeLimits& ends,
                                                            const PointParts& parts) const;

    // Memory taken.
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    [[nodiscard]] std::size_t used_bins() const noexcept { return bins_.size(); }

  private:
    // Those of the last class are late, which is never a copy.
    static constexpr std::size_t kBins = (CopyClassifier::kClasses - 1) * kAgeBins;

    std::map<std::uint32_t, CopyCounts> bins_;  // kAgeBins to a class, those that have any
};

}  // namespace unecho::analyze
