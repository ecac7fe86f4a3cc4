// SPDX-License-Identifier: BSD-3-Clause
// StageSet that blocks go through, one behind the other, on several threads. Each stage takes the
// blocks in their order, one at a time; a thread takes whatever stage has a block to take. So what
// comes of it is the same on any number of threads, and the work spreads by itself: a stage that
// takes long has the other threads do what else there is.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace unecho::analyze {

struct StageSet {
    // The first one, with the place of a block that nobody is at: false if there is no block more.
    std::function<bool(std::size_t place)> begin;
    // Whether one may begin while others are on their way.
    std::function<bool()> can_begin;
    std::vector<std::function<void(std::size_t place)>> others;
    // Which of the others, by its number there, only takes a block for which alone() says so when
    // every block before it has gone through all stages. alone(): asked when it is the next one.
    std::size_t exclusive_stage = 0;
    std::function<bool(std::size_t place)> is_exclusive;
};

// places: of blocks that are on their way at a time. More threads than stages have nothing to do
// and are not started; those that cannot be had are done without.
// What a stage throws on the calling thread is thrown; on another one it ends the process.
void run_stages(const StageSet& stages, unsigned threads, std::size_t places);

}  // namespace unecho::analyze
