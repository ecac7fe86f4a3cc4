// SPDX-License-Identifier: BSD-3-Clause
#include "captures/memory_budget.h"

#include <algorithm>
#include <fstream>

#include <fmt/core.h>
#include <unistd.h>

#include "base/option_names.h"
#include "base/units.h"

namespace unecho::capture {
namespace {

// Return 0 if the kernel does not report it.
std::uint64_t resident_bytes() {
    std::uint64_t whole = 0;
    std::uint64_t resident = 0;
    std::ifstream("/proc/self/statm") >> whole >> resident;
    return resident * static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
}

// Round up to MiB, so that the size is not less when it is read back from the text.
std::string text_of(std::uint64_t bytes) {
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
    return size_literal((bytes + kMiB - 1) / kMiB * kMiB);
}

}  // namespace

std::uint64_t MemoryBudget::least_memory(std::size_t inputs) const noexcept {
    const std::uint64_t few = beside_ + kFew * inputs;
    const std::uint64_t many = (kShare * beside_ + kShare - 2) / (kShare - 1);
    return std::min(few, many);
}

std::uint64_t MemoryBudget::share() const noexcept {
    return std::max(memory_ / kShare, kCommon + kFew / 2) - kCommon;
}

std::uint64_t MemoryBudget::limit() const noexcept {
    const std::uint64_t all = reserved_ != 0 ? reserved_ : memory_ - std::min(memory_, beside_);
    return all - std::min(all, kCommon);
}

bool MemoryBudget::fits_now(std::uint64_t bytes) const {
    const std::uint64_t used = resident_bytes();
    return used != 0 && bytes <= memory_ - std::min(memory_, used);
}

bool MemoryBudget::take(std::uint64_t bytes) noexcept {
    if (bytes > limit() - std::min(limit(), taken_)) {
        return false;
    }
    taken_ += bytes;
    return true;
}

std::uint64_t MemoryBudget::reserve(const Needs& needs) noexcept {
    needs_ = needs;
    const std::uint64_t share = memory_ / kShare;
    const std::uint64_t usual =
        needs.closed != 0 ? share : std::min(kFew * needs.inputs, std::max(share, kFew));
    reserved_ = std::max(usual + needs.ahead, kCommon + taken_ + needs.largest);
    return reserved_;
}

std::size_t MemoryBudget::piece_for(std::size_t inputs, std::uint64_t packed) const noexcept {
    std::size_t piece = kMaxPiece;
    const std::uint64_t room = share() - std::min(share(), packed);
    while (piece > kMinPiece && inputs * bytes_of_input(piece) > room) {
        piece /= 2;
    }
    return piece;
}

std::uint64_t MemoryBudget::memory_for_all() const noexcept {
    return kShare * (kCommon + needs_.inputs * bytes_of_input(kMinPiece) + needs_.packed);
}

Error MemoryBudget::refusal(const std::string& name, std::uint64_t bytes) const {
    if (reserved_ != 0 && needs_.closed != 0) {
        return {Errc::kNoMemory,
                fmt::format("{}: {} inputs have packets of the same time, and there is no memory "
                            "to read one more of them; {} {} is enough for all {}",
                            name, format_count(holders_), option::kMemory,
                            text_of(memory_for_all()), format_count(needs_.inputs))};
    }
    return {Errc::kConfig,
            fmt::format("{}: needs {} of memory to be read, beside {} of other inputs; allowed "
                        "here: {} {} or more",
                        name, format_size(bytes), format_size(taken_), option::kMemory,
                        text_of(beside_ + kCommon + taken_ + bytes))};
}

Error MemoryBudget::refusal_of_record(const std::string& name, std::uint64_t bytes) const {
    return {Errc::kNoMemory,
            fmt::format(
                "{}: a record or block of {} is more than {} {} has room for by now; more may do",
                name, format_size(bytes), option::kMemory, size_literal(memory_))};
}

}  // namespace unecho::capture
