// SPDX-License-Identifier: BSD-3-Clause
// A bounded queue between one producer thread and one consumer thread. It needs two indices and no
// atomic read-modify-write. (model: tests/models/spsc_queue.pml)
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace unecho::dataplane {

template <typename T, unsigned Capacity>
class SpscQueue {
    static_assert((Capacity & (Capacity - 1)) == 0, "a power of two");
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

  public:
    // For the producer. Return false if the queue is full.
    bool push(T value) noexcept {
        const std::uint32_t head = head_.load(std::memory_order_relaxed);
        if (head - tail_.load(std::memory_order_acquire) == Capacity) {
            return false;
        }
        items_[head % Capacity] = value;
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

    // For the consumer. Return false if the queue is empty.
    bool pop(T& value) noexcept {
        const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
        if (tail == head_.load(std::memory_order_acquire)) {
            return false;
        }
        value = items_[tail % Capacity];
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }

  private:
    alignas(64) std::atomic<std::uint32_t> head_{0};
    alignas(64) std::atomic<std::uint32_t> tail_{0};
    alignas(64) std::array<T, Capacity> items_{};
};

}  // namespace unecho::dataplane
