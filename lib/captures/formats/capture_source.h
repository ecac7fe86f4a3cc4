// SPDX-License-Identifier: BSD-3-Clause
// The Source of one capture, from any ByteStream. Private to captures, its tests and fuzzing.
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

// The resources of an input. A batch lies in one piece; a larger record gets a buffer of its own.
struct ReadResources {
    std::shared_ptr<BufferPool> pieces;
    std::shared_ptr<MemoryBudget> budget;       // null: unlimited
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
