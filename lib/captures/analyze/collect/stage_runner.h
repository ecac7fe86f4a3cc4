// SPDX-License-Identifier: BSD-3-Clause
// Stages that blocks pass one after the other, on several threads. Each stage takes blocks in
// order, one at a time; a thread runs any stage that has a block. So the result does not depend on
// the number of threads. The load balances itself: while one stage takes long, the other threads do
// the rest.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace unecho::analyze {

struct StageSet {
    // The first stage puts a block into a free place; false if there are no more blocks.
    std::function<bool(std::size_t place)> begin;
    // Return true if a block may begin while others are in progress.
    std::function<bool()> can_begin;
    std::vector<std::function<void(std::size_t place)>> others;
    // exclusive_stage, an index of `others`, waits until all earlier blocks have passed all stages
    // if is_exclusive() is true for its next block.
    std::size_t exclusive_stage = 0;
    std::function<bool(std::size_t place)> is_exclusive;
};

// Run until there are no more blocks. places: limit of blocks in progress. At most one thread per
// stage is started; if one cannot be started, the others do its work. An exception of a stage on
// the calling thread is passed on; on another thread it ends the process.
void run_stages(const StageSet& stages, unsigned threads, std::size_t places);

}  // namespace unecho::analyze
