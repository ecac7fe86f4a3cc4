// SPDX-License-Identifier: BSD-3-Clause
// Members of gzip files inflated ahead of who reads them, by threads that all inputs share. Private
// to capture.
//
// Who reads a file puts the pieces that it has read ahead into a InflateQueue. In each piece places
// are sought at which a member may begin, and from some of them a run goes on by a thread: an
// Inflater of its own, over any number of members, until it comes to where the next run began, or
// there is no input or no room for now, or something is wrong. The reader inflates by itself until
// a member ends where a run began; then it gives what the run has, takes the run's Inflater over,
// with all that it has found, and goes on with that. So a place where no member begins costs time
// and nothing else, a member may be as long as it likes, and nobody waits for memory.
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

// Compressed bytes as they were read. In front of them stands the last byte of the piece before.
struct CompressedPiece {
    std::shared_ptr<Bytes> bytes;
    std::uint64_t at = 0;  // in the file
    std::size_t size = 0;

    [[nodiscard]] std::uint64_t end() const { return at + size; }
    // With so many of the bytes in front, 0 or 1.
    [[nodiscard]] std::span<const std::uint8_t> from(std::size_t left) const {
        return {reinterpret_cast<const std::uint8_t*>(bytes->data()) + 1 - left, size + left};
    }
};

class InflatePool;

// Of one input.
class InflateQueue {
  public:
    // For an input that reads so much at a time.
    static constexpr std::size_t kMaxPieces = 8;
    static constexpr std::size_t kMaxChunks = 28;  // of half as many bytes, inflated
    static constexpr std::size_t kMaxJobs = 12;    // runs
    [[nodiscard]] static constexpr std::uint64_t memory(std::size_t piece) {
        return kMaxPieces * piece + kMaxChunks * chunk(piece) + kMaxJobs * sizeof(Inflater);
    }

    InflateQueue(std::shared_ptr<InflatePool> inflate_pool, std::size_t piece);
    ~InflateQueue();
    InflateQueue(const InflateQueue&) = delete;
    InflateQueue& operator=(const InflateQueue&) = delete;

    // Whether it is of any use to look ahead.
    [[nodiscard]] bool has_threads() const;
    // Behind those that were put in before, or the first of all.
    void put(CompressedPiece piece);
    // The piece that begins there; those before it are not needed any more.
    [[nodiscard]] std::optional<CompressedPiece> piece_at(std::uint64_t at);
    [[nodiscard]] std::size_t pieces() const;
    // Runs that threads have begun with and nobody has met.
    [[nodiscard]] std::size_t begun() const;
    // Of what lies before this nothing is needed any more.
    void discard_before(std::uint64_t at);
    // A member begins there: whether a run has begun with it, whose bytes are given next.
    bool attach_at(std::uint64_t at);

    [[nodiscard]] bool is_attached() const { return met_ != nullptr; }
    // Bytes of the run that was met; 0: no more of them are to come, and detach() is next.
    std::size_t read_inflated(std::span<std::byte> to);
    // Where the member begins of which the last byte given is.
    [[nodiscard]] std::uint64_t member() const { return member_; }
    struct DetachedInflater {
        std::unique_ptr<Inflater> inflater;  // null: nothing was given
        CompressedPiece piece;               // that its input is of
    };
    DetachedInflater detach();

  private:
    friend class InflatePool;

    [[nodiscard]] static constexpr std::size_t chunk(std::size_t piece) { return piece / 2; }

    struct Member {
        std::size_t first = 0;  // byte of the chunk
        std::uint64_t at = 0;
    };
    struct Chunk {
        std::shared_ptr<Bytes> bytes;
        std::size_t size = 0;
        std::vector<Member> members;  // that begin in it
    };
    struct InflateJob {
        std::uint64_t at = 0;
        std::unique_ptr<Inflater> inflater;
        CompressedPiece piece;
        Chunk filling;
        std::deque<Chunk> full;
        bool begun = false;
        bool busy = false;  // a thread is at it: inflater, piece and filling are its own
        bool wants_input = false;
        bool done = false;
        bool leave_requested = false;  // the thread is to leave it
        bool dropped = false;          // nobody is to meet it
    };
    // What threads look at, all of it under the mutex of InflatePool.
    struct Shared {
        explicit Shared(std::size_t chunk_bytes) : buffers(chunk_bytes) {}

        [[nodiscard]] const CompressedPiece* piece_at(std::uint64_t at) const;
        // Whether a run goes on from there.
        [[nodiscard]] bool has_job_at(std::uint64_t at) const;
        [[nodiscard]] std::shared_ptr<InflateJob> next() const;
        [[nodiscard]] std::size_t begun() const;
        [[nodiscard]] bool is_runnable(const InflateJob& run) const;
        // Its chunks.
        void forget(InflateJob& run);

        std::vector<CompressedPiece> pieces;
        std::deque<std::shared_ptr<InflateJob>> runs;  // not met yet, in order
        std::size_t chunks = 0;                        // in use
        BufferPool buffers;
    };

    void find_members(const CompressedPiece& piece);
    void drop_first();
    // What to give next; empty: nothing more.
    Chunk take_chunk();

    std::shared_ptr<InflatePool> inflaters_;
    std::shared_ptr<Shared> shared_;
    std::size_t apart_;           // runs' beginnings, in the file
    std::uint64_t next_run_ = 0;  // not before this
    std::shared_ptr<InflateJob> met_;
    Chunk giving_;
    std::size_t given_ = 0;  // of it
    std::uint64_t member_ = 0;
};

// The threads. Started when there is something to do for them; those that cannot be had are done
// without.
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
    // Whether there is what it needs by now.
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
