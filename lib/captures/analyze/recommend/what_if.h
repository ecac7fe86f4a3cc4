// SPDX-License-Identifier: BSD-3-Clause
// Effect of a configuration on a capture: how many of the packets that it removes are copies,
// repeats, or neither, compared with the recommended configuration. A PacketRemover decides which
// packets it removes, by the rules of `unecho pcap`; here they are counted.
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

class PacketRemover {
  public:
    virtual ~PacketRemover() = default;
    PacketRemover(const PacketRemover&) = delete;
    PacketRemover& operator=(const PacketRemover&) = delete;

    // Fill `removed` with the indices of removed records, rising. Called for all batches in order.
    virtual Status decide(const capture::Batch& batch, const capture::InterfaceView& interfaces,
                          std::vector<std::size_t>& removed) = 0;

    // Return the configuration, and how much it forgot so far.
    [[nodiscard]] virtual WhatIfQuestion described() const = 0;

  protected:
    PacketRemover() = default;
};

// The echoes of one CopyClassifier that are removed, in the bins by which they will be judged.
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
    [[nodiscard]] bool valid() const noexcept { return bins_.size() <= kBins; }

    template <typename Io>
    void state(Io& io) {
        io(bins_);
    }

    [[nodiscard]] Sorted sorted(const CopyAgeLimits& ends) const;

  private:
    static constexpr std::size_t kBins = CopyClassifier::kClasses * kAgeBins;

    std::vector<Count> bins_;  // kAgeBins for each class; empty without echoes
};

class WhatIfTally {
  public:
    // Count a packet that the configuration removes. cut_copy: no echo, but a copy of a packet that
    // was captured longer or shorter.
    void removed(std::uint64_t length, bool cut_copy) {
        removed_.add(length);
        if (cut_copy) {
            cut_.add(length);
        }
    }
    // Count an echo that the configuration removes. frame: without an IP packet.
    void echo(const EchoBin& bin, std::uint64_t length, bool frame) {
        echoes_[frame].add(bin, length);
    }

    // Add the counts of other packets, in the same view.
    void add(const WhatIfTally& others);
    [[nodiscard]] bool valid() const noexcept;

    template <typename Io>
    void state(Io& io) {
        io(removed_, cut_, echoes_);
    }

    // Set which echoes are copies, as in the report.
    void judge(const ClassifiedEchoes& packets, const ClassifiedEchoes& frames);

    // Return the answer, after judge(). report: with its recommendation.
    [[nodiscard]] WhatIf answer(WhatIf wanted, const Report& report) const;

  private:
    Count removed_;
    Count cut_;                            // of these, copies cut short
    std::array<RemovedEchoes, 2> echoes_;  // packets; frames without an IP packet
    std::array<CopyAgeLimits, 2> ends_{};
    Count copies_;
};

// A count of Removal, as a row of the table.
struct RemovalRow {
    Count Removal::*count;
    std::string_view name;  // in the JSON
    std::string_view words;
    bool harm = false;  // if it is not 0
};
inline constexpr auto kRemovalRows = std::to_array<RemovalRow>({
    {&Removal::removed, "removed", "packets removed"},
    {&Removal::copies, "copies", "of these copies"},
    {&Removal::sent_again, "sent_again", "of these sent again", true},
    {&Removal::others, "others", "of these no copies", true},
    {&Removal::left, "left", "copies left in", true},
});
static_assert(sizeof(Removal) == kRemovalRows.size() * sizeof(Count), "each count has its row");

// "key packet, window 5 ms"
std::string configuration_text(const WhatIf& it);

}  // namespace unecho::analyze
