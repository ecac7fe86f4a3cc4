// SPDX-License-Identifier: BSD-3-Clause
// What is in a zstd (RFC 8878) or lz4 file, frame after frame, as it comes. Private to capture.
// Damage, and what follows the frames, are treated as in gzip files (gzip_stream.h), but for a
// wrong checksum, which ends the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "captures/compression/gzip_stream.h"
#include "captures/formats/byte_stream.h"

namespace unecho::capture {

// taken, piece: as of gunzip().
std::unique_ptr<ByteStream> make_zstd_stream(std::unique_ptr<ByteStream> stream,
                                             std::span<const std::uint8_t> taken,
                                             std::size_t piece = SIZE_MAX);
std::unique_ptr<ByteStream> make_lz4_stream(std::unique_ptr<ByteStream> stream,
                                            std::span<const std::uint8_t> taken,
                                            std::size_t piece = SIZE_MAX);

}  // namespace unecho::capture
