// SPDX-License-Identifier: BSD-3-Clause
// Exact answers, with the packet that each echo repeats.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "filter/window/reference_table.h"
#include "offline/decider.h"
#include "offline/editcap.h"
#include "offline/input_numbers.h"
#include "offline/options.h"
#include "offline/pages.h"

namespace unecho::offline {

class ExactDecider final : public Decider {
  public:
    // Takes as much of the memory as packets need.
    static Result<std::unique_ptr<ExactDecider>> make(const Options& options, std::uint64_t memory);

    void decide(pipeline::Burst& burst, const CapturePlace& place, Originals& originals) override;
    [[nodiscard]] std::string text() const override;
    [[nodiscard]] std::string engine() const override { return "exact"; }
    [[nodiscard]] std::uint64_t forgotten() const override {
        return table_.counters().evicted_early;
    }
    [[nodiscard]] std::optional<filter::WindowState> window(Nanoseconds now) const override;

    // False: the packets of this burst could drive out some that are still in the window.
    [[nodiscard]] bool has_room(const pipeline::Burst& burst, const CapturePlace& place) const;

    // Calls visit(digest, time) for what lies in the window of this burst's first packet, oldest
    // first.
    template <typename Visit>
    void for_each_live(const pipeline::Burst& burst, const CapturePlace& place, Visit visit) const {
        table_.for_each_live(
            first_of(burst, place),
            [&](Digest digest, const filter::Sighting& sighting) { visit(digest, sighting.time); });
    }

  private:
    ExactDecider(Pages pages, const filter::ReferenceParams& params, unsigned first);

    [[nodiscard]] filter::Sighting first_of(const pipeline::Burst& burst,
                                            const CapturePlace& place) const {
        return {burst.times[0], numbers_ ? place.first_number : place.numbers[0], 0};
    }

    Pages pages_;
    filter::ReferenceTable table_;
    unsigned first_;
    std::optional<InputNumbers> numbers_;  // with a count; else the table has those of the input
};

class EditcapDecider final : public Decider {
  public:
    // Errc::kConfig: the memory is too little.
    static Result<std::unique_ptr<EditcapDecider>> make(const Options& options,
                                                        std::uint64_t memory);

    void decide(pipeline::Burst& burst, const CapturePlace& place, Originals& originals) override;
    [[nodiscard]] std::string text() const override { return text_; }
    [[nodiscard]] std::string engine() const override { return "exact"; }

  private:
    EditcapDecider(Pages pages, const EditcapSearch& search, std::string text);

    Pages pages_;
    EditcapSearch search_;
    InputNumbers numbers_{kMostEditcapCount};
    std::string text_;
};

}  // namespace unecho::offline
