// SPDX-License-Identifier: BSD-3-Clause
// The memory that inputs take, and how much of --memory they may take. An input counts two pieces
// of its file, its decompressor, its state, and for a while a record larger than a piece. Inputs
// whose times do not overlap are open one after the other, so more of them fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace unecho::capture {

// A piece is what is read from a file at a time, and the memory that a batch lies in. Two pieces of
// 512 KiB fit the second-level cache, and of 1 MiB do not (28 against 34 ns for a packet of IMIX).
inline constexpr std::size_t kMaxPiece = std::size_t{512} << 10U;
inline constexpr std::size_t kMinPiece = std::size_t{16} << 10U;

class MemoryBudget {
  public:
    // memory: the command's --memory. beside: what everything else needs at least.
    MemoryBudget(std::uint64_t memory, std::uint64_t beside) : memory_(memory), beside_(beside) {}

    // Return the least memory with which so many inputs can be started.
    [[nodiscard]] std::uint64_t least_memory(std::size_t inputs) const noexcept;

    // Return false if the limit forbids it. Until reserve(), it is all that `beside` leaves.
    [[nodiscard]] bool take(std::uint64_t bytes) noexcept;
    void give_back(std::uint64_t bytes) noexcept { taken_ -= bytes; }
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }
    // Return true if so much more fits into the memory that the process does not use now. For
    // short-lived buffers that exceed all that is reserved for inputs.
    [[nodiscard]] bool fits_now(std::uint64_t bytes) const;
    // Count the inputs that hold memory.
    void count_in() noexcept { ++holders_; }
    void count_out() noexcept { --holders_; }

    // Memory for open inputs. If they need more, inputs are closed until their time comes.
    [[nodiscard]] std::uint64_t share() const noexcept;

    // Known when every input has been opened once, and some have been closed again.
    struct Needs {
        std::size_t inputs = 0;
        std::size_t closed = 0;
        std::uint64_t packed = 0;   // to decompress all inputs
        std::uint64_t largest = 0;  // largest total of an input that can be closed
        std::uint64_t ahead = 0;    // for inflating ahead, above the usual amount
    };
    // Fix the memory of the inputs from now on, and return it. It may exceed the command's memory.
    std::uint64_t reserve(const Needs& needs) noexcept;
    [[nodiscard]] std::uint64_t reserved() const noexcept { return reserved_; }
    [[nodiscard]] std::uint64_t beside() const noexcept { return beside_; }

    // Return the largest piece with which all inputs can be open at once, else kMinPiece.
    [[nodiscard]] std::size_t piece_for(std::size_t inputs,
                                        std::uint64_t packed = 0) const noexcept;

    // The error if an input cannot take so much more, or not for a record or block of that size.
    [[nodiscard]] Error refusal(const std::string& name, std::uint64_t bytes) const;
    [[nodiscard]] Error refusal_of_record(const std::string& name, std::uint64_t bytes) const;

  private:
    static constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
    static constexpr std::uint64_t kShare = 4;       // inputs may take a quarter of the memory
    static constexpr std::uint64_t kFew = 4 * kMiB;  // set aside for each input if they are few
    static constexpr std::uint64_t kCommon = kMiB;   // buffers that wait to be used again

    [[nodiscard]] std::uint64_t limit() const noexcept;
    // Return the memory with which all inputs can be open at once.
    [[nodiscard]] std::uint64_t memory_for_all() const noexcept;

    std::uint64_t memory_;
    std::uint64_t beside_;
    std::uint64_t taken_ = 0;
    std::uint64_t reserved_ = 0;  // 0: nothing reserved yet
    std::size_t holders_ = 0;
    Needs needs_;
};

// Memory of an open input with pieces of this size, without its decompressor.
[[nodiscard]] constexpr std::uint64_t bytes_of_input(std::size_t piece) noexcept {
    constexpr std::uint64_t kState = 8U << 10U;  // its objects, names, distinct warnings
    return 2 * piece + kState;
}

}  // namespace unecho::capture
