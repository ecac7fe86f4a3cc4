// SPDX-License-Identifier: BSD-3-Clause
// A source's batches with digests, made on request, or ahead on a thread of their own.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "captures/dedup/digester.h"
#include "captures/record.h"
#include "captures/source.h"

namespace unecho::dedup {

struct DigestedBatch {
    capture::Batch batch;
    std::vector<DigestedBurst> bursts;
    capture::InterfaceView interfaces;  // those of its records
    capture::Source::Progress progress;
    Nanoseconds elapsed = 0;  // of the capture so far
    std::uint64_t read = 0;   // packets so far, with those of other shards
};

class BatchReader {
  public:
    virtual ~BatchReader() = default;
    BatchReader(const BatchReader&) = delete;
    BatchReader& operator=(const BatchReader&) = delete;

    // Return as Source::next() does. Reuses the memory of `digested`.
    virtual Result<bool> next(DigestedBatch& digested) = 0;

    // The source's interfaces, once next() has returned false or an error.
    [[nodiscard]] virtual capture::InterfaceView interfaces() const = 0;

    // Warnings and losses of the source, and warnings of the digester, at that time.
    [[nodiscard]] virtual std::vector<capture::Warning> warnings() const = 0;

  protected:
    BatchReader() = default;
};

// Bound of the batches made ahead.
inline constexpr unsigned kBatchesAhead = 4;

// ahead: on a thread, which is detached if the reader is destroyed while it waits for a pipe.
std::unique_ptr<BatchReader> make_batch_reader(std::unique_ptr<capture::Source> source,
                                               const Digester& digester, bool ahead);

}  // namespace unecho::dedup
