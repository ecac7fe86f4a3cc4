// SPDX-License-Identifier: BSD-3-Clause
// Memory for remembered packets, within --memory.
#pragma once

#include <cstdint>

#include "base/option_names.h"
#include "base/os/mapped_memory.h"
#include "base/result.h"
#include "base/units.h"

namespace unecho::dedup {

// Errc::kNoMemory.
inline Result<MappedMemory> allocate_packet_memory(std::uint64_t bytes) {
    auto memory = MappedMemory::make(bytes, MappedMemory::Touch::kLater);
    return memory
               ? std::move(memory)
               : Result<MappedMemory>(fail(
                     Errc::kNoMemory, format_size(bytes) + " to remember packets: " +
                                          memory.error().context + "; lower " + option::kMemory));
}

}  // namespace unecho::dedup
