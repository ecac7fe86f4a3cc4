// SPDX-License-Identifier: BSD-3-Clause
// What is in a gzip file (RFC 1952), member after member, as it comes. Private to capture.
//
// Damage ends the stream, after everything that can be had before it, and is told by trouble(): a
// file cut short, data that cannot be decompressed. A wrong checksum does not end it. What follows
// a member and is no other ends it as well; zeros, which tapes and block devices leave, are not
// worth a word.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "capture/byte_stream.h"

namespace unecho::capture {

[[nodiscard]] bool is_gzip(std::span<const std::uint8_t> bytes);

// taken: the first bytes of the stream, which were read already.
std::unique_ptr<ByteStream> gunzip(std::unique_ptr<ByteStream> stream,
                                   std::span<const std::uint8_t> taken);

}  // namespace unecho::capture
