// SPDX-License-Identifier: BSD-3-Clause
// Counts of echoes, made before it is known which of them are copies. They are separated by the
// bins that copy_classifier.h judges, so those of the copies can be summed at the end.
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

// The point at which an unidentified packet was seen, compared with that of the first of its key.
enum class EchoPoint : std::uint8_t {
    kOther,  // at another point
    kSame,
    kOtherAgain,  // at another point, twice in a row: kSame if that one shows packets twice
    kOtherTtl,    // at the same point, unless point = "link-ttl"
    kOtherTags,   // at the same point, unless tags = "point"
};

struct EchoTraits {
    std::uint64_t length = 0;
    std::uint32_t file = 0;
    std::uint16_t interface = 0;
    std::uint16_t protocol = 0;
    Cause cause = Cause::kIdentical;
    Differences differences = 0;
    WindowMask fixed = 0;  // windows that drop it with this policy
    WindowMask refresh = 0;
    // How it relates to the first packet of its key, if one of the two is inside a tunnel.
    bool tunnelled = false;
    TunnelRelation meeting = TunnelRelation::kWhole;
    bool other_tenant = false;
    packet::EncapsulationSet around;
    std::optional<EchoPoint> at;  // absent: the packet is identified
    bool ahead = false;           // repeats = "keep" forwards it, unless it is a second look
};

// Echoes that are inside a tunnel, or whose first packet is.
struct TunnelledCopies {
    std::array<Count, kTunnelRelations> meetings{};
    Count other_tenant;
    packet::EncapsulationSet needed;  // around echoes that are found only inside tunnels

    void add(const EchoTraits& echo);
    void add(const TunnelledCopies& others);

    template <typename Io>
    void state(Io& io) {
        io(meetings, other_tenant, needed);
    }
};

// Echoes that a window drops, but that repeats = "keep" forwards, by policy.
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

// Echoes at a point that saw the packet before. `kept` excludes second looks.
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

// Echoes of unidentified packets, by where they were seen.
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
    std::vector<Count> interfaces;  // by number, up to the last with an echo
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
    // Renumber interfaces and files: to[old number] is the new one, and covers all old ones.
    void renumber(std::span<const std::uint32_t> interfaces, std::span<const std::uint32_t> files);
    // Return true if no interface, file or protocol is beyond these limits.
    [[nodiscard]] bool within(std::size_t interfaces, std::size_t files,
                              std::size_t protocols) const;

    template <typename Io>
    void state(Io& io) {
        io(bins_);
        if (!bins_.empty() && bins_.rbegin()->first >= kBins) {
            io.refuse();
        }
    }

    // Return the counts of the echoes that are copies.
    [[nodiscard]] CopyCounts counts(const CopyAgeLimits& ends) const;
    // Return the echoes at points that saw the packet before, by age, youngest first.
    [[nodiscard]] std::vector<SamePointRow> same_point_rows(const CopyAgeLimits& ends,
                                                            const PointParts& parts) const;

    [[nodiscard]] std::uint64_t bytes() const noexcept;
    [[nodiscard]] std::size_t used_bins() const noexcept { return bins_.size(); }

  private:
    // Echoes of the last class are late, and never copies.
    static constexpr std::size_t kBins = (CopyClassifier::kClasses - 1) * kAgeBins;

    std::map<std::uint32_t, CopyCounts> bins_;  // kAgeBins for each class; only those with echoes
};

}  // namespace unecho::analyze
