// SPDX-License-Identifier: BSD-3-Clause
// ChainedRing: nodes in order of time, with a hash chain per bucket, newest first. A new node
// follows the last one in the ring and becomes the head of its chain. Nothing is ever unlinked: the
// oldest nodes are dropped at the other end, and a link to a dropped node ends its chain.
//
// Nodes are named by 32-bit sequence numbers, which stay distinct as long as fewer than 2^32 nodes
// lie between two. A head that was not written for that long may lead into the chain of another
// bucket. That does no harm: no node there has the digest that is looked up.
//
// Cost: a look-up reads the head and the live nodes of the chain; an insertion writes the head and
//   the next node. Memory for each entry: a node and eight heads of 4 bytes.
//
// After a restart a node exists if `written` covers it; the chains are rebuilt.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/prefetch.h"
#include "filters/hash/digest.h"
#include "filters/storage.h"

namespace unecho::filter {

// Node: a trivial type with a `Digest digest` and a `std::uint32_t older`.
template <typename Node>
class ChainedRing {
  public:
    using Sequence = std::uint32_t;

    static constexpr std::uint64_t kMaxNodes = std::uint64_t{1} << 30;
    static constexpr unsigned kHeadsPerNode = 8;  // so that few chains mix buckets' nodes

    // nodes: a power of two. The memory is line-aligned and zeroed.
    [[nodiscard]] static std::uint64_t bytes(std::uint64_t nodes) noexcept {
        return kStateBytes + heads_bytes(nodes) + align_to_line(nodes * sizeof(Node));
    }

    // grows: start with a small ring and double it when it is full, up to the whole memory, so that
    // memory is not touched before it is needed. Not for the packet path: doubling moves nodes.
    ChainedRing(std::uint64_t nodes, bool grows, std::span<std::byte> memory,
                Contents contents) noexcept
        : most_(static_cast<Sequence>(nodes)),
          state_(carve<State>(memory, 0, 1)),
          heads_(carve<Sequence>(memory, kStateBytes, nodes * kHeadsPerNode)),
          nodes_(carve<Node>(memory, kStateBytes + heads_bytes(nodes), nodes)) {
        UNECHO_ASSERT(std::has_single_bit(nodes) && nodes <= kMaxNodes);
        if (contents == Contents::kZero) {       // planted: rule-restart-forgets
            state_->written = state_->tail = 1;  // no node has number 0: a head of 0 ends its chain
            state_->size = grows ? std::min(most_, kMinNodes) : most_;
        }
        set_size();
        if (contents == Contents::kRestored) {
            chain_anew();
        }
    }
    // Return true if a ring of this many nodes can have left this memory.
    [[nodiscard]] static bool is_consistent(std::uint64_t nodes,
                                            std::span<std::byte> memory) noexcept {
        const State& state = *carve<State>(memory, 0, 1);
        return state.size != 0 && std::has_single_bit(state.size) && state.size <= nodes &&
               state.written - state.tail <= state.size;
    }

    void prefetch(Digest digest) const noexcept { prefetch_line(&head_of(digest)); }
    // Prefetch the first node of the chain, if it is live. The head must have arrived.
    void prefetch_node(Digest digest) const noexcept {
        const Sequence head = head_of(digest);
        if (is_live(head)) {
            prefetch_line(&(*this)[head]);
        }
    }

    // Return the newest node of the digest's bucket. Follow older() while is_live().
    [[nodiscard]] Sequence head(Digest digest) const noexcept { return head_of(digest); }
    [[nodiscard]] bool is_live(Sequence sequence) const noexcept {
        return sequence - state_->tail < live();
    }
    [[nodiscard]] Node& operator[](Sequence sequence) const noexcept {
        return nodes_[sequence & mask_];
    }

    [[nodiscard]] Sequence live() const noexcept { return state_->written - state_->tail; }
    // The oldest node; there must be one.
    [[nodiscard]] Sequence tail() const noexcept { return state_->tail; }
    void drop_tail() noexcept { ++state_->tail; }

    // Return true if the next push() drops the oldest node.
    [[nodiscard]] bool is_full() const noexcept { return live() == most_; }

    // Append a node. Drop the oldest one if there is no room.
    Sequence push(Node node) noexcept {
        if (live() == state_->size) {
            if (state_->size < most_) {
                grow();
            } else {
                drop_tail();  // planted: rule-forgets-newest(--state_->written;)
            }
        }
        const Sequence sequence = state_->written;
        Sequence& head = head_of(node.digest);
        node.older = is_live(head) ? head : sequence;  // its own number ends the chain
        (*this)[sequence] = node;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        head = sequence;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        ++state_->written;
        return sequence;
    }
    // Return the next node of a chain, or a number that is not live at its end.
    [[nodiscard]] Sequence older(Sequence sequence) const noexcept {
        const Sequence next = (*this)[sequence].older;
        return sequence - next - 1 < sequence - state_->tail ? next : state_->tail - 1;
    }

  private:
    static constexpr Sequence kMinNodes = 1U << 12;

    struct State {
        Sequence written;
        Sequence tail;
        Sequence size;  // of the ring, a power of two; there are kHeadsPerNode times as many heads
    };
    static constexpr std::size_t kStateBytes = kCacheLine;

    [[nodiscard]] static std::uint64_t heads_bytes(std::uint64_t nodes) noexcept {
        return align_to_line(nodes * kHeadsPerNode * sizeof(Sequence));
    }
    void set_size() noexcept {
        mask_ = state_->size - 1;
        shift_ = 64 - static_cast<unsigned>(std::countr_zero(state_->size * kHeadsPerNode));
    }
    // Uses the product's high bits, as Exact does: all digests of a worker may share some bits.
    [[nodiscard]] Sequence& head_of(Digest digest) const noexcept {
        return heads_[digest * 0x9E3779B97F4A7C15ULL >> shift_];
    }

    void grow() noexcept {
        const Sequence was = state_->size;
        for (Sequence i = 0; i < live(); ++i) {
            const Sequence sequence = state_->tail + i;
            if ((sequence & was) != 0) {
                nodes_[sequence & (2 * was - 1)] = nodes_[sequence & (was - 1)];
            }
        }
        state_->size = 2 * was;
        set_size();
        chain_anew();
    }

    void chain_anew() noexcept {
        std::fill_n(heads_, std::uint64_t{state_->size} * kHeadsPerNode, state_->tail - 1);
        for (Sequence i = 0; i < live(); ++i) {
            const Sequence sequence = state_->tail + i;
            Node& node = (*this)[sequence];
            Sequence& head = head_of(node.digest);
            node.older = head == state_->tail - 1 ? sequence : head;
            head = sequence;
        }
    }

    Sequence most_;
    State* state_;
    Sequence* heads_;
    Node* nodes_;
    Sequence mask_ = 0;
    unsigned shift_ = 0;
};

}  // namespace unecho::filter
