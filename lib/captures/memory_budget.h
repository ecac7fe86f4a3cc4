// SPDX-License-Identifier: BSD-3-Clause
// The memory that inputs take, counted, and how much of --memory they may. Each is counted with two
// pieces of its file, what decompresses it, its state, and for a while with a record larger than a
// piece. Inputs that are one behind the other in time are open one after the other; so many get
// what all of them would not.
//
// Only the thread that opens and reads inputs may touch it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace unecho::capture {

// A piece of a file is what is read at a time, and what a batch lies in: two of the largest fit the
// second-level cache, which 1 MiB does not (28 against 34 ns for a packet of IMIX).
inline constexpr std::size_t kMaxPiece = std::size_t{512} << 10U;
inline constexpr std::size_t kMinPiece = std::size_t{16} << 10U;

class MemoryBudget {
  public:
    // memory: that of the command. beside: what it needs at the least for all else.
    MemoryBudget(std::uint64_t memory, std::uint64_t beside) : memory_(memory), beside_(beside) {}

    // The least memory that so many inputs may be begun with.
    [[nodiscard]] std::uint64_t least_memory(std::size_t inputs) const noexcept;

    // As long as nothing is reserved everything that `beside` leaves may be taken.
    [[nodiscard]] bool take(std::uint64_t bytes) noexcept;
    void give_back(std::uint64_t bytes) noexcept { taken_ -= bytes; }
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }
    // Whether so much more fits into what the process does not use of the memory by now: for
    // what is there for a moment, and more than all that is set aside for inputs.
    [[nodiscard]] bool fits_now(std::uint64_t bytes) const;
    // Inputs that have taken some.
    void count_in() noexcept { ++holders_; }
    void count_out() noexcept { --holders_; }

    // More than that and inputs wait, closed, for their time.
    [[nodiscard]] std::uint64_t share() const noexcept;

    // When all inputs were opened once, and some of them closed again.
    struct Needs {
        std::size_t inputs = 0;
        std::size_t closed = 0;
        std::uint64_t packed = 0;   // what all of them need to decompress
        std::uint64_t largest = 0;  // of a closed one, all in all
        std::uint64_t ahead = 0;    // beside what is usual, for what is inflated ahead
    };
    // The inputs have this much and no more from here on. It may be more than there is.
    std::uint64_t reserve(const Needs& needs) noexcept;
    [[nodiscard]] std::uint64_t reserved() const noexcept { return reserved_; }
    [[nodiscard]] std::uint64_t beside() const noexcept { return beside_; }

    // How large pieces may be so that all inputs can be open at once; the least if they cannot.
    [[nodiscard]] std::size_t piece_for(std::size_t inputs,
                                        std::uint64_t packed = 0) const noexcept;

    // Why an input called so cannot have so much more; or for a record or block of so many bytes.
    [[nodiscard]] Error refusal(const std::string& name, std::uint64_t bytes) const;
    [[nodiscard]] Error refusal_of_record(const std::string& name, std::uint64_t bytes) const;

  private:
    static constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
    static constexpr std::uint64_t kShare = 4;       // the inputs' part of the memory: a quarter
    static constexpr std::uint64_t kFew = 4 * kMiB;  // set aside for each of a few inputs
    static constexpr std::uint64_t kCommon = kMiB;   // buffers that wait to be used again

    [[nodiscard]] std::uint64_t limit() const noexcept;
    // The memory that lets all inputs be open at once.
    [[nodiscard]] std::uint64_t memory_for_all() const noexcept;

    std::uint64_t memory_;
    std::uint64_t beside_;
    std::uint64_t taken_ = 0;
    std::uint64_t reserved_ = 0;  // 0: nothing yet
    std::size_t holders_ = 0;
    Needs needs_;
};

// The memory of an input that is open with such pieces, but for what decompresses it.
[[nodiscard]] constexpr std::uint64_t bytes_of_input(std::size_t piece) noexcept {
    constexpr std::uint64_t kState = 8U << 10U;  // its objects, names, kinds of trouble
    return 2 * piece + kState;
}

}  // namespace unecho::capture
