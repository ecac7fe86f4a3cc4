// SPDX-License-Identifier: BSD-3-Clause
// Digested batches of a source, one after the other: made when they are asked for, or ahead on a
// thread of their own.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "captures/dedup/digester.h"
#include "captures/record.h"
#include "captures/source.h"

namespace unecho::offline {

struct DigestedBatch {
    capture::Batch batch;
    std::vector<DigestedBurst> bursts;
    capture::InterfaceView interfaces;  // those of its records
    capture::Source::Progress progress;
    Nanoseconds elapsed = 0;  // of the capture so far
    std::uint64_t read = 0;   // packets so far, those of other shards too
};

class BatchReader {
  public:
    virtual ~BatchReader() = default;
    BatchReader(const BatchReader&) = delete;
    BatchReader& operator=(const BatchReader&) = delete;

    // As Source::next(). The digested's memory is used again.
    virtual Result<bool> next(DigestedBatch& digested) = 0;

    // Of the source, then.
    [[nodiscard]] virtual capture::InterfaceView interfaces() const = 0;

    // Of source, its losses too, and digester. Once next() returned false or an error.
    [[nodiscard]] virtual std::vector<capture::Warning> warnings() const = 0;

  protected:
    BatchReader() = default;
};

// Batches that may wait, made ahead.
inline constexpr unsigned kBatchesAhead = 4;

// ahead: on a thread. That thread is left alone when the feed is dropped while it waits for a pipe.
std::unique_ptr<BatchReader> make_batch_reader(std::unique_ptr<capture::Source> source,
                                               const Digester& digester, bool ahead);

}  // namespace unecho::offline
