// SPDX-License-Identifier: BSD-3-Clause
// "What would this configuration do here": of the packets that it removes, which are copies, which
// were sent again, and which are neither; beside the same of the recommended one. What it removes
// somebody else decides, by the rules of `unecho pcap`; here that is sorted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "captures/analyze/classify/copy_classifier.h"
#include "captures/analyze/report/report.h"
#include "captures/interface_list.h"
#include "captures/record.h"

namespace unecho::analyze {

// Decides which packets the configuration that is asked about removes.
class PacketRemover {
  public:
    virtual ~PacketRemover() = default;
    PacketRemover(const PacketRemover&) = delete;
    PacketRemover& operator=(const PacketRemover&) = delete;

    // Of each batch of a source, one after the other: the records that are removed, rising.
    virtual Status decide(const capture::Batch& batch, const capture::InterfaceView& interfaces,
                          std::vector<std::size_t>& removed) = 0;

    // What it is, and what it forgot so far; without counts.
    [[nodiscard]] virtual WhatIf described() const = 0;

  protected:
    PacketRemover() = default;
};

// Echoes of one CopyClassifier that are removed, by what they will be judged by.
class RemovedEchoes {
  public:
    struct Sorted {
        Count copies;
        Count sent_again;
    };

    void add(const EchoBin& bin, std::uint64_t length) {
        bins_.resize(kBins);
        bins_[bin.index()].add(length);
    }

    void add(const RemovedEchoes& others);
    // Whether there are as many bins as there may be.
    [[nodiscard]] bool valid() const noexcept { return bins_.size() <= kBins; }

    template <typename Io>
    void state(Io& io) {
        io(bins_);
    }

    [[nodiscard]] Sorted sorted(const CopyAgeLimits& ends) const;

  private:
    static constexpr std::size_t kBins = CopyClassifier::kClasses * kAgeBins;

    std::vector<Count> bins_;  // kAgeBins to a class; none as long as there are no echoes
};

class WhatIfTally {
  public:
    // Any packet that the configuration removes.
    // cut_copy: no echo, but a copy of one that was captured longer or shorter.
    void removed(std::uint64_t length, bool cut_copy) {
        removed_.add(length);
        if (cut_copy) {
            cut_.add(length);
        }
    }
    // An echo that it removes. frame: without an IP packet.
    void echo(const EchoBin& bin, std::uint64_t length, bool frame) {
        echoes_[frame].add(bin, length);
    }

    // Of other packets, both looking inside or neither.
    void add(const WhatIfTally& others);
    [[nodiscard]] bool valid() const noexcept;

    template <typename Io>
    void state(Io& io) {
        io(removed_, cut_, echoes_);
    }

    // As the report has it.
    void judge(const ClassifiedEchoes& packets, const ClassifiedEchoes& frames);

    // After judge(). report: with its recommendation.
    [[nodiscard]] WhatIf answer(WhatIf wanted, const Report& report) const;

  private:
    Count removed_;
    Count cut_;                            // of these
    std::array<RemovedEchoes, 2> echoes_;  // packets; frames without an IP packet
    std::array<CopyAgeLimits, 2> ends_{};
    Count copies_;
};

// What is said of a Removal: a row of the tables of text and page.
struct RemovalRow {
    Count Removal::*count;
    std::string_view name;  // in the JSON
    std::string_view text;
    std::string_view page;
    bool harm = false;  // where it is not 0
};
inline constexpr auto kRemovalRows = std::to_array<RemovalRow>({
    {&Removal::removed, "removed", "packets removed", "Removes"},
    {&Removal::copies, "copies", "  copies", "of these copies"},
    {&Removal::sent_again, "sent_again", "  sent again", "of these sent again", true},
    {&Removal::others, "others", "  no copies", "of these no copies", true},
    {&Removal::left, "left", "copies left in", "Copies left in", true},
});
static_assert(sizeof(Removal) == kRemovalRows.size() * sizeof(Count), "each count has its row");

// "key packet, window 5ms"
std::string configuration_text(const WhatIf& it);

}  // namespace unecho::analyze
