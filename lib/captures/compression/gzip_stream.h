// SPDX-License-Identifier: BSD-3-Clause
// The contents of a gzip file (RFC 1952), member by member. Private to captures.
//
// Damage ends the stream, after everything that can be decompressed before it, and defect() reports
// it: a file cut short, or data that cannot be decompressed. A wrong checksum is reported and does
// not end it. Bytes after a member that are no other member end it as well; zeros, which tapes and
// block devices leave, are not reported. All this is the same with and without inflating ahead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "captures/compression/parallel_inflate.h"
#include "captures/formats/byte_stream.h"

namespace unecho::capture {

// Compressed bytes to read at a time, for a caller that reads pieces of that size.
constexpr std::size_t compressed_read_size(std::size_t piece) {
    return std::clamp<std::size_t>(piece, 4U << 10U, 256U << 10U);
}

// Additional memory of an input with such pieces, if its members may be inflated ahead.
constexpr std::uint64_t inflate_ahead_bytes(std::size_t piece) {
    return InflateQueue::memory(std::max(compressed_read_size(piece), piece));
}

// taken: the first bytes of the stream, already read. piece: bytes that the caller reads at a time.
// inflate_pool: threads that may inflate ahead. Their memory is counted even if there are none;
// null: it is not.
std::unique_ptr<ByteStream> make_gzip_stream(std::unique_ptr<ByteStream> stream,
                                             std::span<const std::uint8_t> taken,
                                             std::size_t piece = SIZE_MAX,
                                             std::shared_ptr<InflatePool> inflate_pool = nullptr);

}  // namespace unecho::capture
