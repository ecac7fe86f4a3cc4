// SPDX-License-Identifier: BSD-3-Clause
// Members of gzip files, inflated ahead of the reader by threads that all inputs share (decision
// 0022). Private to captures.
//
// The reader of a file puts pieces that it has read ahead into an InflateQueue. The queue finds
// places in them at which a member may begin, and makes some of them jobs. A job is an Inflater
// that a thread runs over any number of members. It stops where the next job began, when input or
// room is used up for now, or at a defect. The reader inflates by itself until a member ends where
// a job began. Then it delivers the job's bytes, takes over its Inflater, and continues. So a place
// where no member begins only costs time, a member may have any length, and no thread waits.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "captures/compression/inflater.h"
#include "captures/formats/buffer_pool.h"

namespace unecho::capture {

// Compressed bytes as read, with the last byte of the piece before in front.
struct CompressedPiece {
    std::shared_ptr<Bytes> bytes;
    std::uint64_t at = 0;  // position in the file
    std::size_t size = 0;

    [[nodiscard]] std::uint64_t end() const { return at + size; }
    // The bytes, preceded by so many (0 or 1) of the piece before.
    [[nodiscard]] std::span<const std::uint8_t> from(std::size_t left) const {
        return {reinterpret_cast<const std::uint8_t*>(bytes->data()) + 1 - left, size + left};
    }
};

class InflatePool;

// The pieces and jobs of one input.
class InflateQueue {
  public:
    // Limits for an input that reads `piece` bytes at a time.
    static constexpr std::size_t kMaxPieces = 8;
    static constexpr std::size_t kMaxChunks = 28;  // of half as many bytes, inflated
    static constexpr std::size_t kMaxJobs = 12;    // begun and not taken over
    [[nodiscard]] static constexpr std::uint64_t memory(std::size_t piece) {
        return kMaxPieces * piece + kMaxChunks * chunk(piece) + kMaxJobs * sizeof(Inflater);
    }

    InflateQueue(std::shared_ptr<InflatePool> inflate_pool, std::size_t piece);
    ~InflateQueue();
    InflateQueue(const InflateQueue&) = delete;
    InflateQueue& operator=(const InflateQueue&) = delete;

    // Return true if there are threads to read ahead for.
    [[nodiscard]] bool has_threads() const;
    // Append the piece that follows in the file.
    void put(CompressedPiece piece);
    // Return the piece that begins there, and drop those before it.
    [[nodiscard]] std::optional<CompressedPiece> piece_at(std::uint64_t at);
    [[nodiscard]] std::size_t pieces() const;
    // Jobs that threads have begun and the reader has not reached.
    [[nodiscard]] std::size_t begun() const;
    // Drop pieces and jobs that lie before this position.
    void discard_before(std::uint64_t at);
    // Attach to the job of the member that begins there. Return false if no thread has begun it.
    bool attach_at(std::uint64_t at);

    [[nodiscard]] bool is_attached() const { return met_ != nullptr; }
    // Copy bytes of the attached job. 0: there are no more, and detach() is next.
    std::size_t read_inflated(std::span<std::byte> to);
    // Return where the member of the last byte given begins.
    [[nodiscard]] std::uint64_t member() const { return member_; }
    struct DetachedInflater {
        std::unique_ptr<Inflater> inflater;  // null: it has inflated nothing
        CompressedPiece piece;               // of its input
    };
    DetachedInflater detach();

  private:
    friend class InflatePool;

    [[nodiscard]] static constexpr std::size_t chunk(std::size_t piece) { return piece / 2; }

    struct Member {
        std::size_t first = 0;  // index in the chunk
        std::uint64_t at = 0;
    };
    struct Chunk {
        std::shared_ptr<Bytes> bytes;
        std::size_t size = 0;
        std::vector<Member> members;  // with bytes in it
    };
    struct InflateJob {
        std::uint64_t at = 0;
        std::unique_ptr<Inflater> inflater;
        CompressedPiece piece;
        Chunk filling;
        std::deque<Chunk> full;
        bool begun = false;
        bool busy = false;  // a thread alone uses inflater, piece and filling
        bool wants_input = false;
        bool done = false;
        bool leave_requested = false;  // asks the thread to stop
        bool dropped = false;          // the reader has passed it
    };
    // State that threads use, all of it guarded by InflatePool's mutex.
    struct Shared {
        explicit Shared(std::size_t chunk_bytes) : buffers(chunk_bytes) {}

        [[nodiscard]] const CompressedPiece* piece_at(std::uint64_t at) const;
        [[nodiscard]] bool has_job_at(std::uint64_t at) const;
        [[nodiscard]] std::shared_ptr<InflateJob> next() const;
        [[nodiscard]] std::size_t begun() const;
        [[nodiscard]] bool is_runnable(const InflateJob& run) const;
        // Free its chunks.
        void forget(InflateJob& run);

        std::vector<CompressedPiece> pieces;
        std::deque<std::shared_ptr<InflateJob>> runs;  // not reached yet, by position
        std::size_t chunks = 0;                        // in use
        BufferPool buffers;
    };

    void find_members(const CompressedPiece& piece);
    void drop_first();
    // Return the next chunk to deliver; empty: there is none.
    Chunk take_chunk();

    std::shared_ptr<InflatePool> inflaters_;
    std::shared_ptr<Shared> shared_;
    std::size_t apart_;           // least distance between jobs in the file
    std::uint64_t next_run_ = 0;  // no job before this
    std::shared_ptr<InflateJob> met_;
    Chunk giving_;
    std::size_t given_ = 0;  // bytes of giving_
    std::uint64_t member_ = 0;
};

// The threads, started when there is work. If the system has fewer, the pool does with fewer.
class InflatePool {
  public:
    explicit InflatePool(unsigned threads) : wanted_(threads) {}
    ~InflatePool();
    InflatePool(const InflatePool&) = delete;
    InflatePool& operator=(const InflatePool&) = delete;

  private:
    friend class InflateQueue;
    using Lock = std::unique_lock<std::mutex>;
    using InflateJob = InflateQueue::InflateJob;
    using Shared = InflateQueue::Shared;

    void start();
    void work();
    void run_job(Lock& lock, Shared& input, InflateJob& run);
    // Give the job input and room. Return false if either is missing for now.
    bool provide(Lock& lock, Shared& input, InflateJob& run);
    static std::optional<Inflater::Stop> fill(InflateJob& run);

    std::mutex mutex_;
    std::condition_variable to_do_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<Shared>> inputs_;
    unsigned wanted_;
    bool stopped_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace unecho::capture
