// SPDX-License-Identifier: BSD-3-Clause
// Zeroes the segments that workers retired and hands them back, off the packet path and in pieces,
// so that a large one does not hold up the rotation timer.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/shared.h"

namespace unecho::control {

class SegmentZeroer {
  public:
    // Segment i of this lane is storage[i * segment_bytes, ...).
    void add(dataplane::LaneShared& shared, std::span<std::byte> storage,
             std::size_t segment_bytes);

    // Zeroes at most one piece; true if there may be more to do.
    bool step();

    // For tests: segments so far.
    [[nodiscard]] std::uint64_t zeroed() const { return zeroed_; }

    // Generations of all lanes that ended early so far.
    [[nodiscard]] std::uint64_t early_turns() const;

  private:
    struct Source {
        dataplane::LaneShared* shared;
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
};

}  // namespace unecho::control
