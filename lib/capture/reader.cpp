// SPDX-License-Identifier: BSD-3-Clause
#include "capture/reader.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "capture/byte_stream.h"
#include "capture/gunzip.h"
#include "capture/input.h"
#include "capture/merger.h"
#include "capture/standard_streams.h"

namespace unecho::capture {

namespace {

// Opens inputs one after the other; closes files if they are many.
class Opener {
  public:
    Opener(std::size_t inputs, std::shared_ptr<Allowance> allowance, bool recover, unsigned threads)
        : allowance_(std::move(allowance)),
          recover_(recover),
          threads_(threads),
          hold_(inputs < kManyInputs || room_for_descriptors(inputs) ? Hold::kOpen : Hold::kClosed),
          late_(inputs >= kManyInputs),
          room_(std::make_shared<Room>(room_for(inputs, 0))) {
        needs_.inputs = inputs;
    }

    Status add(const std::string& path);
    // All of them; the allowance is reserved.
    std::vector<MergeInput> take();

  private:
    using Opened = Result<std::unique_ptr<Source>>;

    [[nodiscard]] Room room_for(std::size_t inputs, std::uint64_t packed) const {
        const std::size_t piece =
            allowance_ && inputs > 1 ? allowance_->piece_for(inputs, packed) : kMostPiece;
        const bool ahead = inputs < kManyInputs &&
                           (!allowance_ || inputs * (bytes_of_input(piece) + bytes_ahead(piece)) <=
                                               allowance_->share());
        return {std::make_shared<Buffers>(piece), allowance_, recover_,
                ahead ? std::make_shared<Inflaters>(threads_ - 1) : nullptr};
    }
    void close(MergeInput& input);
    [[nodiscard]] std::uint64_t taken() const { return allowance_ ? allowance_->taken() : 0; }

    std::shared_ptr<Allowance> allowance_;
    bool recover_;
    unsigned threads_;
    Hold hold_;
    bool late_;
    std::shared_ptr<Room> room_;  // of those that are opened now
    Allowance::Needs needs_;
    std::vector<MergeInput> inputs_;
};

Status Opener::add(const std::string& path) {
    const std::optional<FileId> id = regular_file(path);
    const std::string name = name_of_input(path);
    const auto open = [path, name, hold = hold_, room = room_]() -> Opened {
        auto stream = open_file(path, hold);
        if (!stream) {
            return tl::unexpected(stream.error());
        }
        return open_input(*std::move(stream), name, *room);
    };
    const std::uint64_t before = taken();
    auto source = open();
    if (!source) {
        return tl::unexpected(source.error());
    }
    const std::uint64_t bytes = taken() - before;
    const std::uint64_t packed = bytes - std::min(bytes, bytes_of_input(room_->pieces->size()));
    needs_.packed += packed;
    const std::uint64_t ahead = room_->inflaters ? bytes_ahead(room_->pieces->size()) : 0;
    needs_.ahead += packed >= ahead ? ahead : 0;
    MergeInput& input = inputs_.emplace_back();
    input.name = name;
    input.source = *std::move(source);
    if (id) {
        input.open = [open, path, name, was = *id]() -> Opened {
            if (regular_file(path) != was) {
                return fail(Errc::kIo, name + ": is not there any more, or another file is");
            }
            return open();
        };
        needs_.largest = std::max(needs_.largest, bytes);
    }
    if (!late_ && inputs_.size() < needs_.inputs && allowance_ && taken() > allowance_->share()) {
        late_ = true;
        std::for_each(inputs_.begin(), inputs_.end(), [this](MergeInput& one) { close(one); });
    } else if (late_) {
        close(input);
    }
    return {};
}

void Opener::close(MergeInput& input) {
    if (input.open && input.source) {
        input.interfaces = input.source->interfaces();
        input.format = input.source->format();
        input.size = input.source->progress().total;
        input.source.reset();
        ++needs_.closed;
    }
}

std::vector<MergeInput> Opener::take() {
    for (MergeInput& input : inputs_) {
        input.open = late_ ? std::move(input.open) : nullptr;
    }
    needs_.largest = late_ ? needs_.largest : 0;
    if (allowance_) {
        allowance_->reserve(needs_);
    }
    if (late_) {
        *room_ = room_for(needs_.inputs, needs_.packed);
    }
    return std::move(inputs_);
}

}  // namespace

Result<std::unique_ptr<Source>> open_capture(const std::string& path, bool recover) {
    auto stream = open_file(path);
    if (!stream) {
        return tl::unexpected(stream.error());
    }
    return open_input(*std::move(stream), name_of_input(path), kMostPiece, recover);
}

Result<std::unique_ptr<Source>> open_captures(std::span<const std::string> paths, Nanoseconds jump,
                                              std::shared_ptr<Allowance> allowance, bool recover,
                                              unsigned threads) {
    if (paths.empty()) {
        return fail(Errc::kInvalidArgument, "no capture given; allowed: one or more files, or -");
    }
    if (std::count(paths.begin(), paths.end(), kStandardStream) > 1) {
        return fail(Errc::kInvalidArgument,
                    "standard input (-) is given more than once; allowed: once");
    }
    Opener opener(paths.size(), allowance, recover, std::max(threads, 1U));
    for (const std::string& path : paths) {
        if (const Status added = opener.add(path); !added) {
            return tl::unexpected(added.error());
        }
    }
    std::vector<MergeInput> inputs = opener.take();
    if (inputs.size() == 1 && inputs.front().source) {
        return std::move(inputs.front().source);
    }
    return merge(std::move(inputs), jump, std::move(allowance));
}

}  // namespace unecho::capture
