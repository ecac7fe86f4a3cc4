// SPDX-License-Identifier: BSD-3-Clause
// What is in a zstd (RFC 8878) or lz4 file, frame after frame, as it comes. Private to capture.
// Damage, and what follows the frames, are treated as in gzip files (gunzip.h), but for a wrong
// checksum, which ends the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "capture/byte_stream.h"
#include "capture/gunzip.h"

namespace unecho::capture {

// taken, piece: as of gunzip().
std::unique_ptr<ByteStream> unpack_zstd(std::unique_ptr<ByteStream> stream,
                                        std::span<const std::uint8_t> taken,
                                        std::size_t piece = SIZE_MAX);
std::unique_ptr<ByteStream> unpack_lz4(std::unique_ptr<ByteStream> stream,
                                       std::span<const std::uint8_t> taken,
                                       std::size_t piece = SIZE_MAX);

}  // namespace unecho::capture
