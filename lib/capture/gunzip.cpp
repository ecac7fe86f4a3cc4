// SPDX-License-Identifier: BSD-3-Clause
#include "capture/gunzip.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <isa-l/igzip_lib.h>

#include "capture/compression.h"

namespace unecho::capture {
namespace {

class Gunzip final : public ByteStream {
  public:
    Gunzip(std::unique_ptr<ByteStream> stream, std::span<const std::uint8_t> taken,
           std::size_t piece)
        : stream_(std::move(stream)), input_(std::max(packed_piece(piece), taken.size())) {
        std::copy(taken.begin(), taken.end(), input_.begin());
        isal_inflate_init(&state_);
        state_.crc_flag = ISAL_GZIP_NO_HDR_VER;
        state_.next_in = input_.data();
        state_.avail_in = static_cast<std::uint32_t>(taken.size());
        isal_gzip_header_init(&header_);
    }

    Result<std::size_t> read(std::span<std::byte> to) override;

    [[nodiscard]] std::uint64_t taken() const override {
        return stream_->taken() - state_.avail_in;
    }
    [[nodiscard]] std::uint64_t size() const override { return stream_->size(); }

    // That which ends the stream only when all before it was given.
    std::optional<Trouble> trouble() override {
        if (wrong_checksums_ > 0) {
            --wrong_checksums_;
            return Trouble{.what = "checksum of compressed data wrong", .ends = false};
        }
        return held() == 0 ? std::exchange(why_ended_, std::nullopt) : std::nullopt;
    }

    [[nodiscard]] bool ended_early() const override { return ended_early_; }
    [[nodiscard]] bool is_compressed() const override { return true; }
    [[nodiscard]] std::uint64_t memory() const override { return sizeof(*this) + input_.size(); }

  private:
    enum class Part : std::uint8_t { kBetween, kHeader, kData, kZeros, kEnd };

    // Goes on with what is there. False: it takes more input.
    bool step();
    bool step_between();
    bool step_header();
    bool step_data();
    bool step_zeros();

    Status refill();
    void end(const char* why, bool incomplete = true);
    void end_early(const char* why, bool incomplete = true);
    // isal_inflate() holds back what it has decompressed when it finds damage.
    [[nodiscard]] std::uint32_t held() const {
        return static_cast<std::uint32_t>(state_.tmp_out_valid - state_.tmp_out_processed);
    }
    void drain();

    std::unique_ptr<ByteStream> stream_;
    std::vector<std::uint8_t> input_;
    bool input_ended_ = false;
    Part part_ = Part::kBetween;
    inflate_state state_{};
    // Kept from call to call: isal_inflate() forgets the flags of a header that comes in pieces.
    isal_gzip_header header_{};
    std::size_t wrong_checksums_ = 0;  // not told yet
    std::optional<Trouble> why_ended_;
    bool ended_early_ = false;
};

Result<std::size_t> Gunzip::read(std::span<std::byte> to) {
    constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
    const auto room = static_cast<std::uint32_t>(std::min(to.size(), kMost));
    state_.next_out = reinterpret_cast<std::uint8_t*>(to.data());
    state_.avail_out = room;
    while (state_.avail_out > 0 && part_ != Part::kEnd) {
        if (step()) {
            continue;
        }
        if (input_ended_) {
            if (part_ != Part::kBetween && part_ != Part::kZeros) {
                end_early("compressed data cut short", false);
            }
            part_ = Part::kEnd;
        } else if (state_.avail_out < room) {
            break;
        } else if (const Status good = refill(); !good) {
            return tl::unexpected(good.error());
        }
    }
    drain();
    return room - state_.avail_out;
}

bool Gunzip::step() {
    switch (part_) {
        case Part::kBetween:
            return step_between();
        case Part::kHeader:
            return step_header();
        case Part::kData:
            return step_data();
        case Part::kZeros:
            return step_zeros();
        case Part::kEnd:
            break;
    }
    return true;
}

bool Gunzip::step_between() {
    if (state_.avail_in == 0) {
        return false;
    }
    const std::span<const std::uint8_t> next(state_.next_in, state_.avail_in);
    if (next[0] == 0) {
        part_ = Part::kZeros;
    } else if (next.size() == 1 && begins_with(next, magic_of(Compression::kGzip).substr(0, 1)) &&
               !input_ended_) {
        return false;
    } else if (compression_of(next) == Compression::kGzip) {
        part_ = Part::kHeader;
    } else {
        end("bytes behind the compressed data ignored");
    }
    return true;
}

bool Gunzip::step_header() {
    const int result = isal_read_gzip_header(&state_, &header_);
    if (result < 0) {
        end_early("compressed data damaged");
        return true;
    }
    if (result != ISAL_DECOMP_OK) {
        return false;
    }
    part_ = Part::kData;
    return true;
}

bool Gunzip::step_data() {
    const std::uint32_t in_before = state_.avail_in;
    const std::uint32_t out_before = state_.avail_out;
    const int result = isal_inflate(&state_);
    if (result == ISAL_INCORRECT_CHECKSUM) {
        ++wrong_checksums_;
    } else if (result != ISAL_DECOMP_OK) {
        end_early("compressed data damaged");
        return true;
    }
    if (state_.block_state == ISAL_BLOCK_FINISH) {
        isal_inflate_reset(&state_);
        isal_gzip_header_init(&header_);
        part_ = Part::kBetween;
        return true;
    }
    return state_.avail_in != in_before || state_.avail_out != out_before;
}

bool Gunzip::step_zeros() {
    const std::uint8_t* const last = state_.next_in + state_.avail_in;
    if (std::find_if(static_cast<const std::uint8_t*>(state_.next_in), last,
                     [](std::uint8_t byte) { return byte != 0; }) != last) {
        end("bytes behind the compressed data ignored");
        return true;
    }
    state_.avail_in = 0;
    return false;
}

// Keeps what is left, a byte at most.
Status Gunzip::refill() {
    std::memmove(input_.data(), state_.next_in, state_.avail_in);
    state_.next_in = input_.data();
    const std::span<std::uint8_t> room = std::span(input_).subspan(state_.avail_in);
    const Result<std::size_t> got = stream_->read(std::as_writable_bytes(room));
    if (!got) {
        return tl::unexpected(got.error());
    }
    state_.avail_in += static_cast<std::uint32_t>(*got);
    input_ended_ = *got == 0;
    return {};
}

void Gunzip::end(const char* why, bool incomplete) {
    why_ended_ = Trouble{.what = why, .incomplete = incomplete};
    part_ = Part::kEnd;
}

void Gunzip::end_early(const char* why, bool incomplete) {
    end(why, incomplete);
    ended_early_ = true;
}

void Gunzip::drain() {
    if (part_ != Part::kEnd) {
        return;
    }
    const std::uint32_t count = std::min(held(), state_.avail_out);
    std::memcpy(state_.next_out, state_.tmp_out_buffer + state_.tmp_out_processed, count);
    state_.tmp_out_processed += static_cast<std::int32_t>(count);
    state_.avail_out -= count;
}

}  // namespace

std::unique_ptr<ByteStream> gunzip(std::unique_ptr<ByteStream> stream,
                                   std::span<const std::uint8_t> taken, std::size_t piece) {
    return std::make_unique<Gunzip>(std::move(stream), taken, piece);
}

}  // namespace unecho::capture
