// SPDX-License-Identifier: BSD-3-Clause
// One capture from any stream of bytes. Private to capture, for reader.cpp, tests and fuzzing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "capture/allowance.h"
#include "capture/buffers.h"
#include "capture/byte_stream.h"
#include "capture/inflate_ahead.h"
#include "capture/source.h"

namespace unecho::capture {

// What an input reads into. A batch is in one piece; a larger record gets one of its own.
struct Room {
    std::shared_ptr<Buffers> pieces;
    std::shared_ptr<Allowance> allowance;  // null: as much as it takes
    bool recover = false;                  // see open_captures() (reader.h)
    std::shared_ptr<Inflaters> inflaters;  // null: nothing is inflated ahead
};

// name: for messages.
Result<std::unique_ptr<Source>> open_input(std::unique_ptr<ByteStream> stream,
                                           const std::string& name, Room room);
Result<std::unique_ptr<Source>> open_input(std::unique_ptr<ByteStream> stream,
                                           const std::string& name,
                                           std::size_t buffer_bytes = kMostPiece,
                                           bool recover = false);

}  // namespace unecho::capture
