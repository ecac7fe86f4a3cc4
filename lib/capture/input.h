// SPDX-License-Identifier: BSD-3-Clause
// One capture from any stream of bytes. Private to capture, for reader.cpp, tests and fuzzing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "capture/byte_stream.h"
#include "capture/source.h"

namespace unecho::capture {

// Of a batch: two of them fit the second-level cache, which 1 MiB does not (28 against 34 ns for a
// packet of IMIX). A larger record gets one of its own.
inline constexpr std::size_t kBufferBytes = 512U << 10;

// name: for messages. recover: see open_captures() (reader.h).
Result<std::unique_ptr<Source>> open_input(std::unique_ptr<ByteStream> stream,
                                           const std::string& name,
                                           std::size_t buffer_bytes = kBufferBytes,
                                           bool recover = false);

}  // namespace unecho::capture
