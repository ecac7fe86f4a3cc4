// SPDX-License-Identifier: BSD-3-Clause
// What a filter, an audit or a report of two taps has on one worker: memory of the process, or one
// that outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "control/kept_state.h"
#include "eal/huge_memory.h"
#include "filter/storage.h"

namespace unecho::control {

class WorkerMemory {
  public:
    WorkerMemory(eal::HugeMemory memory) : memory_(std::move(memory)) {}  // NOLINT: either is one
    WorkerMemory(KeptMemory memory) : memory_(std::move(memory)) {}       // NOLINT

    [[nodiscard]] std::span<std::byte> bytes() const {
        return std::visit([](const auto& memory) { return memory.bytes(); }, memory_);
    }
    [[nodiscard]] std::uint64_t page_bytes() const {
        return std::visit([](const auto& memory) -> std::uint64_t { return memory.page_bytes(); },
                          memory_);
    }
    [[nodiscard]] filter::Contents contents() const {
        const auto* const kept = std::get_if<KeptMemory>(&memory_);
        return kept == nullptr ? filter::Contents::kZero : kept->contents();
    }
    // As KeptMemory::keep(), if it is one.
    void keep(bool on) noexcept {
        if (auto* const kept = std::get_if<KeptMemory>(&memory_)) {
            kept->keep(on);
        }
    }
    // Null: it is the process's.
    [[nodiscard]] const KeptMemory* kept() const { return std::get_if<KeptMemory>(&memory_); }

  private:
    std::variant<eal::HugeMemory, KeptMemory> memory_;
};

}  // namespace unecho::control
