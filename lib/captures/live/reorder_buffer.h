// SPDX-License-Identifier: BSD-3-Clause
// A buffer that sorts packets of several interfaces by time while they arrive. It holds a packet
// until every other interface has delivered one at least as late, but no longer than
// kMaxReorderDelay and not while more than kMaxReorderBytes are held. Private to captures.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "captures/formats/buffer_pool.h"
#include "captures/source.h"

namespace unecho::capture {

inline constexpr Nanoseconds kMaxReorderDelay = 200 * kMillisecond;
// Bound of the packets held.
inline constexpr std::uint64_t kMaxReorderBytes = std::uint64_t{32} << 20;

class ReorderBuffer {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;

    explicit ReorderBuffer(std::size_t interfaces);

    // Add a packet read at that moment: copy its data, and number it within its interface, from 1.
    void add(Record record, TimePoint read_at);

    // Declare that no more packets come, so that none of another interface waits for them.
    void end(std::uint32_t interface) { queues_[interface].ended = true; }

    // Append up to `most` packets that may be released, or with `all` any packets. Return how many.
    std::uint64_t release(Batch& batch, TimePoint now, bool all, std::uint64_t most);

    [[nodiscard]] bool empty() const { return waiting_bytes_ == 0; }
    [[nodiscard]] bool is_full() const { return waiting_bytes_ > kMaxReorderBytes; }

    // Packets released after a later one of another interface.
    [[nodiscard]] std::uint64_t late() const { return late_; }

  private:
    // Packets read at one moment, and the buffer that they lie in, which chunks may share.
    struct Chunk {
        std::shared_ptr<Bytes> memory;
        std::vector<Record> records;
        std::size_t next = 0;
        TimePoint read_at;
    };

    struct Queue {
        std::deque<Chunk> chunks;
        std::shared_ptr<Bytes> memory;  // of the last chunk
        std::size_t used = 0;           // bytes of it
        std::uint64_t count = 0;
        Nanoseconds newest = 0;  // the latest time so far
        bool ended = false;

        [[nodiscard]] const Record* first() const {
            return chunks.empty() ? nullptr : &chunks.front().records[chunks.front().next];
        }
    };

    // Bytes that a waiting packet counts, even an empty one.
    static std::uint64_t bytes_of(const Record& record) { return record.length + sizeof(Record); }

    // Return the queue with the earliest packet, or queues_.size() if all are empty.
    [[nodiscard]] std::size_t earliest() const;
    [[nodiscard]] bool is_releasable(std::size_t index, TimePoint now) const;
    void take_first(Queue& queue, Batch& batch);

    std::vector<Queue> queues_;
    BufferPool pieces_;
    std::uint64_t waiting_bytes_ = 0;
    Nanoseconds last_ = 0;  // time of the packet released last
    std::uint32_t last_interface_ = 0;
    std::uint64_t late_ = 0;
};

}  // namespace unecho::capture
