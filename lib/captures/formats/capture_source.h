// SPDX-License-Identifier: BSD-3-Clause
// One capture from any stream of bytes. Private to capture, for open_captures.cpp, tests and
// fuzzing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "captures/compression/parallel_inflate.h"
#include "captures/formats/buffer_pool.h"
#include "captures/formats/byte_stream.h"
#include "captures/memory_budget.h"
#include "captures/source.h"

namespace unecho::capture {

// What an input reads into. A batch is in one piece; a larger record gets one of its own.
struct ReadResources {
    std::shared_ptr<BufferPool> pieces;
    std::shared_ptr<MemoryBudget> budget;       // null: as much as it takes
    bool recover = false;                       // see open_captures() (open_captures.h)
    std::shared_ptr<InflatePool> inflate_pool;  // null: nothing is inflated ahead
};

// name: for messages.
Result<std::unique_ptr<Source>> open_capture_source(std::unique_ptr<ByteStream> stream,
                                                    const std::string& name, ReadResources room);
Result<std::unique_ptr<Source>> open_capture_source(std::unique_ptr<ByteStream> stream,
                                                    const std::string& name,
                                                    std::size_t buffer_bytes = kMaxPiece,
                                                    bool recover = false);

}  // namespace unecho::capture
