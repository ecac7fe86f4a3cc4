// SPDX-License-Identifier: BSD-3-Clause
// Zeroes the segments that workers retired and hands them back. It does so off the packet path, and
// in pieces, so that a large segment does not delay the rotation timer.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "appliance/dataplane/shared.h"

namespace unecho::appliance {

class SegmentZeroer {
  public:
    // Segment i of this filter instance is storage[i * segment_bytes, ...).
    void add(dataplane::WorkerFilterShared& shared, std::span<std::byte> storage,
             std::size_t segment_bytes);

    // Forget all filter instances but those for which kept() returns true.
    template <typename Kept>
    void keep(Kept kept) {
        std::vector<Source> sources;
        std::optional<Job> job;
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            if (kept(*sources_[i].shared)) {
                if (job_ && job_->source == i) {
                    job = job_;
                    job->source = sources.size();
                }
                sources.push_back(sources_[i]);
            } else {
                early_before_ += sources_[i].shared->early_turns.load(std::memory_order_relaxed);
            }
        }
        sources_ = std::move(sources);
        job_ = job;
    }

    // Zero at most one piece. Return true if there may be more to do.
    bool step();

    // For tests.
    [[nodiscard]] std::uint64_t zeroed() const { return zeroed_; }

    [[nodiscard]] std::uint64_t early_turns() const;

  private:
    struct Source {
        dataplane::WorkerFilterShared* shared;
        std::span<std::byte> storage;
        std::size_t segment_bytes;
    };
    struct Job {
        std::size_t source;
        std::uint16_t segment;
        std::size_t done;
    };
    [[nodiscard]] std::optional<Job> next_job();

    std::vector<Source> sources_;
    std::optional<Job> job_;
    std::uint64_t zeroed_ = 0;
    std::uint64_t early_before_ = 0;  // of forgotten instances
};

}  // namespace unecho::appliance
