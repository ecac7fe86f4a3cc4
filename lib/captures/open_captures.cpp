// SPDX-License-Identifier: BSD-3-Clause
#include "captures/open_captures.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "captures/compression/gzip_stream.h"
#include "captures/formats/byte_stream.h"
#include "captures/formats/capture_source.h"
#include "captures/merged_source.h"
#include "captures/standard_streams.h"

namespace unecho::capture {

namespace {

// The inputs as they are opened, one after the other. Files are closed again if they are many.
class InputOpener {
  public:
    InputOpener(std::size_t inputs, std::shared_ptr<MemoryBudget> budget, bool recover,
                unsigned threads)
        : budget_(std::move(budget)),
          recover_(recover),
          threads_(threads),
          hold_(inputs < kManyInputs || raise_descriptor_limit(inputs) ? DescriptorMode::kOpen
                                                                       : DescriptorMode::kClosed),
          late_(inputs >= kManyInputs),
          room_(std::make_shared<ReadResources>(room_for(inputs, 0))) {
        needs_.inputs = inputs;
    }

    Status add(const std::string& path);
    // Return all inputs, and reserve the budget.
    std::vector<MergeInput> take();

  private:
    using Opened = Result<std::unique_ptr<Source>>;

    [[nodiscard]] ReadResources room_for(std::size_t inputs, std::uint64_t packed) const {
        const std::size_t piece =
            budget_ && inputs > 1 ? budget_->piece_for(inputs, packed) : kMaxPiece;
        const bool ahead =
            inputs < kManyInputs &&
            (!budget_ ||
             inputs * (bytes_of_input(piece) + inflate_ahead_bytes(piece)) <= budget_->share());
        return {std::make_shared<BufferPool>(piece), budget_, recover_,
                ahead ? std::make_shared<InflatePool>(threads_ - 1) : nullptr};
    }
    void close(MergeInput& input);
    [[nodiscard]] std::uint64_t taken() const { return budget_ ? budget_->taken() : 0; }

    std::shared_ptr<MemoryBudget> budget_;
    bool recover_;
    unsigned threads_;
    DescriptorMode hold_;
    bool late_;
    std::shared_ptr<ReadResources> room_;  // of inputs opened from now on
    MemoryBudget::Needs needs_;
    std::vector<MergeInput> inputs_;
};

Status InputOpener::add(const std::string& path) {
    const std::optional<FileId> id = regular_file_id(path);
    const std::string name = printable_input_name(path);
    const auto open = [path, name, hold = hold_, room = room_]() -> Opened {
        auto stream = open_file(path, hold);
        UNECHO_TRY(stream);
        return open_capture_source(*std::move(stream), name, *room);
    };
    const std::uint64_t before = taken();
    auto source = open();
    UNECHO_TRY(source);
    const std::uint64_t bytes = taken() - before;
    const std::uint64_t packed = bytes - std::min(bytes, bytes_of_input(room_->pieces->size()));
    needs_.packed += packed;
    const std::uint64_t ahead =
        room_->inflate_pool ? inflate_ahead_bytes(room_->pieces->size()) : 0;
    needs_.ahead += packed >= ahead ? ahead : 0;
    MergeInput& input = inputs_.emplace_back();
    input.name = name;
    input.source = *std::move(source);
    if (id) {
        input.open = [open, path, name, was = *id]() -> Opened {
            if (regular_file_id(path) != was) {
                return fail(Errc::kIo, name + ": is not there any more, or another file is");
            }
            return open();
        };
        needs_.largest = std::max(needs_.largest, bytes);
    }
    if (!late_ && inputs_.size() < needs_.inputs && budget_ && taken() > budget_->share()) {
        late_ = true;
        std::for_each(inputs_.begin(), inputs_.end(), [this](MergeInput& one) { close(one); });
    } else if (late_) {
        close(input);
    }
    return {};
}

void InputOpener::close(MergeInput& input) {
    if (input.open && input.source) {
        input.interfaces = input.source->interfaces();
        input.format = input.source->format();
        input.size = input.source->progress().total;
        input.source.reset();
        ++needs_.closed;
    }
}

std::vector<MergeInput> InputOpener::take() {
    for (MergeInput& input : inputs_) {
        input.open = late_ ? std::move(input.open) : nullptr;
    }
    needs_.largest = late_ ? needs_.largest : 0;
    if (budget_) {
        budget_->reserve(needs_);
    }
    if (late_) {
        *room_ = room_for(needs_.inputs, needs_.packed);
    }
    return std::move(inputs_);
}

}  // namespace

Result<std::unique_ptr<Source>> open_capture(const std::string& path, bool recover) {
    auto stream = open_file(path);
    UNECHO_TRY(stream);
    return open_capture_source(*std::move(stream), printable_input_name(path), kMaxPiece, recover);
}

Result<std::unique_ptr<Source>> open_captures(std::span<const std::string> paths, Nanoseconds jump,
                                              std::shared_ptr<MemoryBudget> budget, bool recover,
                                              unsigned threads) {
    if (paths.empty()) {
        return fail(Errc::kInvalidArgument, "no capture given; allowed: one or more files, or -");
    }
    if (std::count(paths.begin(), paths.end(), kStandardStream) > 1) {
        return fail(Errc::kInvalidArgument,
                    "standard input (-) is given more than once; allowed: once");
    }
    InputOpener opener(paths.size(), budget, recover, std::max(threads, 1U));
    for (const std::string& path : paths) {
        UNECHO_TRY(opener.add(path));
    }
    std::vector<MergeInput> inputs = opener.take();
    if (inputs.size() == 1 && inputs.front().source) {
        return std::move(inputs.front().source);
    }
    return merge_sources(std::move(inputs), jump, std::move(budget));
}

}  // namespace unecho::capture
