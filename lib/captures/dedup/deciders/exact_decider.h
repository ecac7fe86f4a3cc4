// SPDX-License-Identifier: BSD-3-Clause
// Exact decisions, with the packet that each echo repeats.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "captures/dedup/deciders/decider.h"
#include "captures/dedup/deciders/editcap.h"
#include "captures/dedup/deciders/packet_memory.h"
#include "captures/dedup/options.h"
#include "captures/dedup/results/packet_number_map.h"
#include "filters/window/reference_table.h"

namespace unecho::dedup {

class ExactDecider final : public Decider {
  public:
    // Takes only as much memory as its packets need.
    static Result<std::unique_ptr<ExactDecider>> make(const Options& options, std::uint64_t memory);

    void decide(pipeline::Burst& burst, const BurstPosition& place, Originals& originals) override;
    [[nodiscard]] DeciderFacts facts(Nanoseconds now) const override;
    [[nodiscard]] filter::AuditState audit_state(Nanoseconds now) const override;

    // Return false if packets of this burst could evict some that are still in the window.
    [[nodiscard]] bool has_room(const pipeline::Burst& burst, const BurstPosition& place) const;

    // Call visit(digest, time) for all in the window of this burst's first packet, oldest first.
    template <typename Visit>
    void for_each_live(const pipeline::Burst& burst, const BurstPosition& place,
                       Visit visit) const {
        table_.for_each_live(first_of(burst, place),
                             [&](Digest digest, const filter::PacketReference& sighting) {
                                 visit(digest, sighting.time);
                             });
    }

  private:
    ExactDecider(MappedMemory memory, const filter::ReferenceParams& params, unsigned first);

    [[nodiscard]] filter::PacketReference first_of(const pipeline::Burst& burst,
                                                   const BurstPosition& place) const {
        return {burst.times[0], numbers_ ? place.first_number : place.numbers[0], 0};
    }

    MappedMemory memory_;
    filter::ReferenceTable table_;
    unsigned first_;
    std::optional<PacketNumberMap> numbers_;  // with a count; else the table has the input's
};

class EditcapDecider final : public Decider {
  public:
    // Errc::kConfig: too little memory.
    static Result<std::unique_ptr<EditcapDecider>> make(const Options& options,
                                                        std::uint64_t memory);

    void decide(pipeline::Burst& burst, const BurstPosition& place, Originals& originals) override;
    [[nodiscard]] DeciderFacts facts(Nanoseconds /*now*/) const override {
        return {.engine = "exact", .text = text_};
    }
    [[nodiscard]] filter::AuditState audit_state(Nanoseconds /*now*/) const override {
        return {};  // not audited
    }

  private:
    EditcapDecider(MappedMemory memory, const EditcapSearch& search, std::string text);

    MappedMemory memory_;
    EditcapSearch search_;
    PacketNumberMap numbers_{{.reach = kMaxEditcapCount}};
    std::string text_;
};

}  // namespace unecho::dedup
