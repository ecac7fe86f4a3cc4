// SPDX-License-Identifier: BSD-3-Clause
// Puts packets of several interfaces into the order of their times while they come: one waits until
// each other interface has given a packet that is as late or later, but no longer than
// kMaxReorderDelay, and not if more than kMaxReorderBytes wait. Private to capture.
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
// Of packets that wait for others.
inline constexpr std::uint64_t kMaxReorderBytes = std::uint64_t{32} << 20;

class ReorderBuffer {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;

    explicit ReorderBuffer(std::size_t interfaces);

    // Of an interface, read at that moment; what data points to is copied. record.number is set:
    // packets of an interface are counted from 1.
    void add(Record record, TimePoint read_at);

    // Nothing more comes of it, so nobody waits for it.
    void end(std::uint32_t interface) { queues_[interface].ended = true; }

    // Behind those that are in the batch: as many as may go now, or all that wait, but no more than
    // `most`. How many these were.
    std::uint64_t release(Batch& batch, TimePoint now, bool all, std::uint64_t most);

    [[nodiscard]] bool empty() const { return waiting_bytes_ == 0; }
    [[nodiscard]] bool is_full() const { return waiting_bytes_ > kMaxReorderBytes; }

    // That came behind a later one of another interface.
    [[nodiscard]] std::uint64_t late() const { return late_; }

  private:
    // Packets that were read at once, and the buffer that they lie in, which others may share.
    struct Chunk {
        std::shared_ptr<Bytes> memory;
        std::vector<Record> records;
        std::size_t next = 0;
        TimePoint read_at;
    };

    struct Queue {
        std::deque<Chunk> chunks;
        std::shared_ptr<Bytes> memory;  // of the last chunk
        std::size_t used = 0;           // of it
        std::uint64_t count = 0;
        Nanoseconds newest = 0;  // the latest time so far
        bool ended = false;

        [[nodiscard]] const Record* first() const {
            return chunks.empty() ? nullptr : &chunks.front().records[chunks.front().next];
        }
    };

    // What a packet that waits counts, an empty one, too.
    static std::uint64_t bytes_of(const Record& record) { return record.length + sizeof(Record); }

    // The queue with the earliest packet; none: past the last.
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
