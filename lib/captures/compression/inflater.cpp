// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compression/inflater.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "captures/compression/compression.h"

namespace unecho::capture {

Inflater::Inflater() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;
    isal_gzip_header_init(&header_);
}

void Inflater::take(std::span<const std::uint8_t> bytes, std::uint64_t end) {
    state_.next_in = const_cast<std::uint8_t*>(bytes.data());  // ISA-L only reads it
    state_.avail_in = static_cast<std::uint32_t>(bytes.size());
    end_ = end;
}

void Inflater::set_output(std::span<std::byte> room) {
    constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
    room_ = static_cast<std::uint32_t>(std::min(room.size(), kMost));
    state_.next_out = reinterpret_cast<std::uint8_t*>(room.data());
    state_.avail_out = room_;
}

Inflater::Stop Inflater::run(bool last) {
    Stop stop = wrong_checksum_ ? Stop::kChecksum : Stop::kOutputFull;
    while (stop == Stop::kOutputFull && state_.avail_out > 0 && part_ != Part::kEnd) {
        const bool in_data = part_ == Part::kData;
        if (!step(last)) {
            stop = Stop::kNeedsInput;
        } else if (in_data && part_ == Part::kBetween) {
            stop = wrong_checksum_ ? Stop::kChecksum : Stop::kMemberEnd;
        }
    }
    drain();
    return part_ == Part::kEnd ? Stop::kEnd : stop;
}

void Inflater::finish() {
    if (part_ == Part::kBetween || part_ == Part::kZeros) {
        part_ = Part::kEnd;
    } else if (part_ != Part::kEnd) {
        end_early("compressed data cut short", false);
    }
}

std::optional<ByteStream::Defect> Inflater::defect() {
    if (std::exchange(wrong_checksum_, false)) {
        return wrong_checksum();
    }
    return held() == 0 ? std::exchange(why_ended_, std::nullopt) : std::nullopt;
}

bool Inflater::step(bool last) {
    switch (part_) {
        case Part::kBetween:
            return step_between(last);
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

bool Inflater::step_between(bool last) {
    if (state_.avail_in == 0) {
        return false;
    }
    const std::span<const std::uint8_t> next(state_.next_in, state_.avail_in);
    if (next[0] == 0) {
        part_ = Part::kZeros;
    } else if (next.size() == 1 && begins_with(next, magic_of(Compression::kGzip).substr(0, 1)) &&
               !last) {
        return false;
    } else if (detect_compression(next) == Compression::kGzip) {
        begins_ = position();
        part_ = Part::kHeader;
    } else {
        end("bytes behind the compressed data ignored");
    }
    return true;
}

bool Inflater::step_header() {
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

bool Inflater::step_data() {
    const std::uint32_t in_before = state_.avail_in;
    const std::uint32_t out_before = state_.avail_out;
    const int result = isal_inflate(&state_);
    member_ = state_.avail_out != out_before ? begins_ : member_;
    if (result == ISAL_INCORRECT_CHECKSUM) {
        wrong_checksum_ = true;
    } else if (result != ISAL_DECOMP_OK) {
        end_early("compressed data damaged");
        return true;
    }
    if (state_.block_state == ISAL_BLOCK_FINISH) {
        begin_again();
        return true;
    }
    return state_.avail_in != in_before || state_.avail_out != out_before;
}

// Clear what isal_inflate() leaves: with damaged data it may use codes never set up and bytes never
// written. A member must give the same bytes, whoever inflated what precedes it.
void Inflater::begin_again() {
    std::memset(state_.tmp_out_buffer, 0, sizeof(state_.tmp_out_buffer));
    state_.lit_huff_code = {};
    state_.dist_huff_code = {};
    isal_inflate_reset(&state_);
    isal_gzip_header_init(&header_);
    part_ = Part::kBetween;
}

bool Inflater::step_zeros() {
    const std::uint8_t* const last = state_.next_in + state_.avail_in;
    if (std::find_if(static_cast<const std::uint8_t*>(state_.next_in), last,
                     [](std::uint8_t byte) { return byte != 0; }) != last) {
        end("bytes behind the compressed data ignored");
        return true;
    }
    state_.avail_in = 0;
    return false;
}

void Inflater::end(const char* why, bool incomplete) {
    why_ended_ = ByteStream::Defect{.what = why, .incomplete = incomplete};
    part_ = Part::kEnd;
}

void Inflater::end_early(const char* why, bool incomplete) {
    end(why, incomplete);
    ended_early_ = true;
}

void Inflater::drain() {
    if (part_ != Part::kEnd) {
        return;
    }
    const std::uint32_t count = std::min(held(), state_.avail_out);
    std::memcpy(state_.next_out, state_.tmp_out_buffer + state_.tmp_out_processed, count);
    state_.next_out += count;
    state_.tmp_out_processed += static_cast<std::int32_t>(count);
    state_.avail_out -= count;
    member_ = count != 0 ? begins_ : member_;
}

}  // namespace unecho::capture
