// SPDX-License-Identifier: BSD-3-Clause
// The memory of a filter, an audit or a tap report on one worker: private to the process, or in a
// file that outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "appliance/eal/huge_memory.h"
#include "appliance/state/warm_restart_store.h"
#include "filters/storage.h"

namespace unecho::appliance {

class WorkerMemory {
  public:
    WorkerMemory(eal::HugeMemory memory) : memory_(std::move(memory)) {}    // NOLINT: either is one
    WorkerMemory(WarmRestartMemory memory) : memory_(std::move(memory)) {}  // NOLINT

    [[nodiscard]] std::span<std::byte> bytes() const {
        return std::visit([](const auto& memory) { return memory.bytes(); }, memory_);
    }
    [[nodiscard]] std::uint64_t page_bytes() const {
        return std::visit([](const auto& memory) -> std::uint64_t { return memory.page_bytes(); },
                          memory_);
    }
    [[nodiscard]] filter::Contents contents() const {
        const auto* const kept = std::get_if<WarmRestartMemory>(&memory_);
        return kept == nullptr ? filter::Contents::kZero : kept->contents();
    }
    // Call WarmRestartMemory::keep() if the memory outlives the process.
    void keep(bool on) noexcept {
        if (auto* const kept = std::get_if<WarmRestartMemory>(&memory_)) {
            kept->keep(on);
        }
    }
    // Return null if the memory is private to the process.
    [[nodiscard]] const WarmRestartMemory* kept() const {
        return std::get_if<WarmRestartMemory>(&memory_);
    }

  private:
    std::variant<eal::HugeMemory, WarmRestartMemory> memory_;
};

}  // namespace unecho::appliance
