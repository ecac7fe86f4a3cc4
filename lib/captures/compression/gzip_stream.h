// SPDX-License-Identifier: BSD-3-Clause
// What is in a gzip file (RFC 1952), member after member, as it comes. Private to capture.
//
// Damage ends the stream, after everything that can be had before it, and is told by trouble(): a
// file cut short, data that cannot be decompressed. A wrong checksum does not end it. What follows
// a member and is no other ends it as well; zeros, which tapes and block devices leave, are not
// worth a word. All of that is the same whether threads inflate ahead or not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "captures/compression/parallel_inflate.h"
#include "captures/formats/byte_stream.h"

namespace unecho::capture {

// Compressed bytes read at a time, of what gives pieces of that size.
constexpr std::size_t compressed_read_size(std::size_t piece) {
    return std::clamp<std::size_t>(piece, 4U << 10U, 256U << 10U);
}

// What an input that reads such pieces takes more where members may be inflated ahead.
constexpr std::uint64_t inflate_ahead_bytes(std::size_t piece) {
    return InflateQueue::memory(std::max(compressed_read_size(piece), piece));
}

// taken: the first bytes of the stream, which were read already. piece: that is asked for at a
// time. inflaters: threads that may inflate members ahead, whose memory is counted even if there
// are none; null: it is not, and there are none.
std::unique_ptr<ByteStream> make_gzip_stream(std::unique_ptr<ByteStream> stream,
                                             std::span<const std::uint8_t> taken,
                                             std::size_t piece = SIZE_MAX,
                                             std::shared_ptr<InflatePool> inflate_pool = nullptr);

}  // namespace unecho::capture
