// SPDX-License-Identifier: BSD-3-Clause
// The contents of a zstd (RFC 8878) or lz4 file, frame by frame. Private to captures. Damage and
// trailing bytes are treated as by gzip_stream.h, but a wrong checksum ends the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "captures/compression/gzip_stream.h"
#include "captures/formats/byte_stream.h"

namespace unecho::capture {

// taken, piece: as for make_gzip_stream().
std::unique_ptr<ByteStream> make_zstd_stream(std::unique_ptr<ByteStream> stream,
                                             std::span<const std::uint8_t> taken,
                                             std::size_t piece = SIZE_MAX);
std::unique_ptr<ByteStream> make_lz4_stream(std::unique_ptr<ByteStream> stream,
                                            std::span<const std::uint8_t> taken,
                                            std::size_t piece = SIZE_MAX);

}  // namespace unecho::capture
