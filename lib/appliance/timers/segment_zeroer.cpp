// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/timers/segment_zeroer.h"

#include <algorithm>
#include <cstring>

namespace unecho::appliance {
namespace {

// About 50 us of work.
constexpr std::size_t kPiece = 512 * 1024;

}  // namespace

void SegmentZeroer::add(dataplane::WorkerFilterShared& shared, std::span<std::byte> storage,
                        std::size_t segment_bytes) {
    sources_.push_back({&shared, storage, segment_bytes});
}

std::optional<SegmentZeroer::Job> SegmentZeroer::next_job() {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        std::uint16_t segment = 0;
        if (sources_[i].shared->retired.pop(segment)) {
            return Job{i, segment, 0};
        }
    }
    return std::nullopt;
}

std::uint64_t SegmentZeroer::early_turns() const {
    std::uint64_t sum = early_before_;
    for (const Source& source : sources_) {
        sum += source.shared->early_turns.load(std::memory_order_relaxed);
    }
    return sum;
}

bool SegmentZeroer::step() {
    if (!job_) {
        job_ = next_job();
    }
    if (!job_) {
        return false;
    }
    const Source& source = sources_[job_->source];
    const std::size_t piece = std::min(kPiece, source.segment_bytes - job_->done);
    // planted: segment-returns-dirty, rare-dirty-segment
    std::memset(source.storage.data() + job_->segment * source.segment_bytes + job_->done, 0,
                piece);
    job_->done += piece;
    if (job_->done == source.segment_bytes) {
        // The queue has room for all segments, so the push succeeds.
        source.shared->zeroed.push(job_->segment);
        ++zeroed_;
        job_.reset();
    }
    return true;
}

}  // namespace unecho::appliance
