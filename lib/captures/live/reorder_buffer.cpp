// SPDX-License-Identifier: BSD-3-Clause
#include "captures/live/reorder_buffer.h"

#include <algorithm>
#include <cstring>

#include "captures/memory_budget.h"

namespace unecho::capture {

ReorderBuffer::ReorderBuffer(std::size_t interfaces) : queues_(interfaces), pieces_(kMaxPiece) {}

void ReorderBuffer::add(Record record, TimePoint read_at) {
    Queue& queue = queues_[record.interface];
    if (!queue.memory || queue.memory->size() - queue.used < record.length) {
        queue.memory = pieces_.take(record.length);
        queue.used = 0;
    }
    if (queue.chunks.empty() || queue.chunks.back().read_at != read_at ||
        queue.chunks.back().memory != queue.memory) {
        queue.chunks.push_back({.memory = queue.memory, .records = {}, .read_at = read_at});
    }
    std::byte* const at = queue.memory->data() + queue.used;
    if (record.length != 0) {
        std::memcpy(at, record.data, record.length);
    }
    queue.used += record.length;
    record.data = reinterpret_cast<const std::uint8_t*>(at);
    record.number = ++queue.count;
    queue.newest = std::max(queue.newest, record.time);
    waiting_bytes_ += bytes_of(record);
    queue.chunks.back().records.push_back(record);
}

std::size_t ReorderBuffer::earliest() const {
    std::size_t first = queues_.size();
    for (std::size_t i = 0; i < queues_.size(); ++i) {
        const Record* const one = queues_[i].first();
        if (one != nullptr &&
            (first == queues_.size() || one->time < queues_[first].first()->time)) {
            first = i;
        }
    }
    return first;
}

bool ReorderBuffer::is_releasable(std::size_t index, TimePoint now) const {
    const Chunk& chunk = queues_[index].chunks.front();
    if (now - chunk.read_at >= std::chrono::nanoseconds(kMaxReorderDelay) || is_full()) {
        return true;
    }
    const Nanoseconds time = chunk.records[chunk.next].time;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
        if (i != index && !queues_[i].ended && queues_[i].newest < time) {
            return false;
        }
    }
    return true;
}

void ReorderBuffer::take_first(Queue& queue, Batch& batch) {
    Chunk& chunk = queue.chunks.front();
    if (std::find(batch.memory.rbegin(), batch.memory.rend(), chunk.memory) ==
        batch.memory.rend()) {
        batch.memory.push_back(chunk.memory);
    }
    const Record& record = batch.records.emplace_back(chunk.records[chunk.next++]);
    late_ += record.time < last_ && record.interface != last_interface_ ? 1 : 0;
    last_ = record.time;
    last_interface_ = record.interface;
    waiting_bytes_ -= bytes_of(record);
    if (chunk.next == chunk.records.size()) {
        queue.chunks.pop_front();
    }
}

std::uint64_t ReorderBuffer::release(Batch& batch, TimePoint now, bool all, std::uint64_t most) {
    std::uint64_t released = 0;
    while (released < most && batch.records.size() < kMaxBatch) {
        const std::size_t first = earliest();
        if (first == queues_.size() || (!all && !is_releasable(first, now))) {
            break;
        }
        take_first(queues_[first], batch);
        ++released;
    }
    return released;
}

}  // namespace unecho::capture
