// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/recent.h"

#include "base/mapped_memory.h"

namespace unecho::analyze {

LazyMemory::LazyMemory(std::size_t bytes) {
    const std::size_t lines = (bytes + sizeof(Line) - 1) / sizeof(Line);
    if (lines != 0) {
        lines_ = std::make_unique_for_overwrite<Line[]>(lines);
        advise_huge_pages(lines_.get(), bytes);
    }
}

}  // namespace unecho::analyze
