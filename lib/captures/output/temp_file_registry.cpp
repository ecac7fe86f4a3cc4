// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/temp_file_registry.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>

#include <unistd.h>

namespace unecho::capture {
namespace {

// The path belongs to the thread that moved the slot out of kFree or kActive. The handler reads
// paths of kActive slots only, and moves them to kRemoving first.
enum class State : unsigned char { kFree, kFilling, kActive, kRemoving };

struct Slot {
    std::atomic<State> state{State::kFree};
    std::array<char, PATH_MAX> path{};
};

static_assert(std::atomic<State>::is_always_lock_free);

std::array<Slot, kMaxTempFiles> slots;

bool move(Slot& slot, State from, State to) noexcept {
    return slot.state.compare_exchange_strong(from, to);
}

}  // namespace

int register_temp_file(const std::string& path) noexcept {
    if (path.size() >= PATH_MAX) {
        return -1;
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (move(slots[i], State::kFree, State::kFilling)) {
            std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
            slots[i].state.store(State::kActive);
            return static_cast<int>(i);
        }
    }
    return -1;
}

void forget_temp_file(int slot) noexcept {
    if (slot >= 0) {
        move(slots[static_cast<std::size_t>(slot)], State::kActive, State::kFree);
    }
}

void remove_temp_files() noexcept {
    const int before = errno;
    for (Slot& slot : slots) {
        if (move(slot, State::kActive, State::kRemoving)) {
            ::unlink(slot.path.data());
            slot.state.store(State::kFree);
        }
    }
    errno = before;
}

}  // namespace unecho::capture
