// SPDX-License-Identifier: BSD-3-Clause
// Members of gzip files inflated ahead of who reads them, by threads that all inputs share. Private
// to capture.
//
// Who reads a file puts the pieces that it has read ahead into a PackedAhead. In each piece places
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

#include "capture/buffers.h"
#include "capture/inflater.h"

namespace unecho::capture {

// Compressed bytes as they were read. In front of them stands the last byte of the piece before.
struct PackedPiece {
    std::shared_ptr<Bytes> bytes;
    std::uint64_t at = 0;  // in the file
    std::size_t size = 0;

    [[nodiscard]] std::uint64_t end() const { return at + size; }
    // With so many of the bytes in front, 0 or 1.
    [[nodiscard]] std::span<const std::uint8_t> from(std::size_t left) const {
        return {reinterpret_cast<const std::uint8_t*>(bytes->data()) + 1 - left, size + left};
    }
};

class Inflaters;

// Of one input.
class PackedAhead {
  public:
    // For an input that reads so much at a time.
    static constexpr std::size_t kMostPieces = 8;
    static constexpr std::size_t kMostChunks = 28;  // of half as many bytes, inflated
    static constexpr std::size_t kMostBegun = 12;   // runs
    [[nodiscard]] static constexpr std::uint64_t memory(std::size_t piece) {
        return kMostPieces * piece + kMostChunks * chunk(piece) + kMostBegun * sizeof(Inflater);
    }

    PackedAhead(std::shared_ptr<Inflaters> inflaters, std::size_t piece);
    ~PackedAhead();
    PackedAhead(const PackedAhead&) = delete;
    PackedAhead& operator=(const PackedAhead&) = delete;

    // Whether it is of any use to look ahead.
    [[nodiscard]] bool has_threads() const;
    // Behind those that were put in before, or the first of all.
    void put(PackedPiece piece);
    // The piece that begins there; those before it are not needed any more.
    [[nodiscard]] std::optional<PackedPiece> piece_at(std::uint64_t at);
    [[nodiscard]] std::size_t pieces() const;
    // Runs that threads have begun with and nobody has met.
    [[nodiscard]] std::size_t begun() const;
    // Of what lies before this nothing is needed any more.
    void passed(std::uint64_t at);
    // A member begins there: whether a run has begun with it, whose bytes are given next.
    bool meet(std::uint64_t at);

    [[nodiscard]] bool gives() const { return met_ != nullptr; }
    // Bytes of the run that was met; 0: no more of them are to come, and take_over() is next.
    std::size_t give(std::span<std::byte> to);
    // Where the member begins of which the last byte given is.
    [[nodiscard]] std::uint64_t member() const { return member_; }
    struct Taken {
        std::unique_ptr<Inflater> inflater;  // null: nothing was given
        PackedPiece piece;                   // that its input is of
    };
    Taken take_over();

  private:
    friend class Inflaters;

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
    struct Run {
        std::uint64_t at = 0;
        std::unique_ptr<Inflater> inflater;
        PackedPiece piece;
        Chunk filling;
        std::deque<Chunk> full;
        bool begun = false;
        bool busy = false;  // a thread is at it: inflater, piece and filling are its own
        bool wants_input = false;
        bool done = false;
        bool to_leave = false;  // the thread is to leave it
        bool dropped = false;   // nobody is to meet it
    };
    // What threads look at, all of it under the mutex of Inflaters.
    struct Shared {
        explicit Shared(std::size_t chunk_bytes) : buffers(chunk_bytes) {}

        [[nodiscard]] const PackedPiece* piece_at(std::uint64_t at) const;
        // Whether a run goes on from there.
        [[nodiscard]] bool is_taken(std::uint64_t at) const;
        [[nodiscard]] std::shared_ptr<Run> next() const;
        [[nodiscard]] std::size_t begun() const;
        [[nodiscard]] bool can_go_on(const Run& run) const;
        // Its chunks.
        void forget(Run& run);

        std::vector<PackedPiece> pieces;
        std::deque<std::shared_ptr<Run>> runs;  // not met yet, in order
        std::size_t chunks = 0;                 // in use
        Buffers buffers;
    };

    void seek_members(const PackedPiece& piece);
    void drop_first();
    // What to give next; empty: nothing more.
    Chunk take_chunk();

    std::shared_ptr<Inflaters> inflaters_;
    std::shared_ptr<Shared> shared_;
    std::size_t apart_;           // runs' beginnings, in the file
    std::uint64_t next_run_ = 0;  // not before this
    std::shared_ptr<Run> met_;
    Chunk giving_;
    std::size_t given_ = 0;  // of it
    std::uint64_t member_ = 0;
};

// The threads. Started when there is something to do for them; those that cannot be had are done
// without.
class Inflaters {
  public:
    explicit Inflaters(unsigned threads) : wanted_(threads) {}
    ~Inflaters();
    Inflaters(const Inflaters&) = delete;
    Inflaters& operator=(const Inflaters&) = delete;

  private:
    friend class PackedAhead;
    using Lock = std::unique_lock<std::mutex>;
    using Run = PackedAhead::Run;
    using Shared = PackedAhead::Shared;

    void start();
    void work();
    void go_on(Lock& lock, Shared& input, Run& run);
    // Whether there is what it needs by now.
    bool provide(Lock& lock, Shared& input, Run& run);
    static std::optional<Inflater::Stop> fill(Run& run);

    std::mutex mutex_;
    std::condition_variable to_do_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<Shared>> inputs_;
    unsigned wanted_;
    bool stopped_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace unecho::capture
