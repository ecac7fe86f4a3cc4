// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/transmit.h"

#include <algorithm>
#include <bit>

#include <rte_ethdev.h>

#include "appliance/dataplane/steering/ring_counts.h"
#include "dedup/pipeline/bits.h"

namespace unecho::dataplane {
namespace {

using pipeline::deposit_bits;
using pipeline::first_bits;
using pipeline::for_each_bit;
using pipeline::Reason;
using pipeline::ReasonMask;

// Sum the lengths of the packets of a mask. Without branches, so that compilers can vectorise the
// loop.
std::uint32_t sum_of(const std::uint32_t* lengths, unsigned n, std::uint32_t mask) noexcept {
    std::uint32_t sum = 0;
    for (unsigned i = 0; i < n; ++i) {
        sum += lengths[i] & (0 - (mask >> i & 1));
    }
    return sum;
}

std::uint64_t bytes_of(const Burst& burst, std::uint64_t mask) noexcept {
    constexpr unsigned kHalf = 32;
    if (mask == first_bits(burst.count)) {
        return burst.bytes;
    }
    if (burst.bytes >> kHalf != 0) [[unlikely]] {
        std::uint64_t bytes = 0;
        for_each_bit(mask, [&](unsigned i) { bytes += burst.lengths[i]; });
        return bytes;
    }
    const unsigned low = std::min(burst.count, kHalf);
    return sum_of(burst.lengths.data(), low, static_cast<std::uint32_t>(mask)) +
           sum_of(burst.lengths.data() + low, burst.count - low,
                  static_cast<std::uint32_t>(mask >> kHalf));
}

// Return 0 if an mbuf can go back to its pool as it is: one reference, one mbuf segment, in its own
// pool's memory. Its next pointer, in a second cache line, then needs no reset.
std::uint64_t oddities(const rte_mbuf& mbuf, const rte_mempool* pool) noexcept {
    constexpr std::uint64_t kOthersMemory = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
    const auto other_pool =
        reinterpret_cast<std::uintptr_t>(mbuf.pool) ^ reinterpret_cast<std::uintptr_t>(pool);
    return (mbuf.ol_flags & kOthersMemory) | (rte_mbuf_refcnt_read(&mbuf) ^ 1U) |
           (mbuf.nb_segs ^ 1U) | other_pool;
}

void free_packets(std::span<rte_mbuf*> mbufs) noexcept {
    const auto n = static_cast<unsigned>(mbufs.size());
    rte_mempool* const pool = mbufs[0]->pool;
    std::uint64_t odd = 0;
    for (const rte_mbuf* mbuf : mbufs) {
        odd |= oddities(*mbuf, pool);
    }
    if (odd == 0) [[likely]] {
        rte_mempool_put_bulk(pool, reinterpret_cast<void**>(mbufs.data()), n);
    } else {
        rte_pktmbuf_free_bulk(mbufs.data(), n);
    }
}

}  // namespace

Transmitter::Transmitter(const TransmitSetup& setup, const WorkerParameters& common,
                         Counters& counters) noexcept
    : setup_(setup),
      clock_(common.clock),
      in_(setup.in, common.burst, counters),
      counters_(counters) {}

void Transmitter::deliver(const Burst& burst, std::span<rte_mbuf*> mbufs, PortIndex to,
                          std::uint64_t mask, std::span<const ReasonMask> outcomes) noexcept {
    const TxTarget& target = setup_.targets[to];
    if (target.ring != nullptr) {
        for (const ReasonMask& outcome : outcomes) {
            const TxTag tag{to, static_cast<std::uint8_t>(burst.route),
                            static_cast<std::uint8_t>(outcome.reason)};
            for_each_bit(outcome.mask,
                         [&](unsigned i) { TxTag::of(burst.mbufs[i], setup_.tag_offset) = tag; });
        }
    }
    const Sent sent = send(mbufs, target, mask);
    tally(burst, Reason::kTxLost, sent.lost);
    if (target.ring == nullptr) {
        PacketBytes out;
        for (const ReasonMask& outcome : outcomes) {
            // planted: rare-miscount
            const PacketBytes some = tally(burst, outcome.reason, outcome.mask & sent.out);
            out.add(some.packets, some.bytes);
        }
        counters_.tx[to].add(out.packets, out.bytes);
    }
}

void Transmitter::drop(const Burst& burst, std::span<rte_mbuf*> mbufs,
                       const ReasonMask& outcome) noexcept {
    free_packets(mbufs);  // planted: dropped-duplicate-leaks, rare-leak
    tally(burst, outcome.reason, outcome.mask);
}

// A ring mixes ports; a burst has one.
PollResult Transmitter::dequeue() noexcept {
    in_.prefetch();
    return in_.dequeue([this](std::span<void* const> entries) {
        const auto mbuf_at = [&](std::size_t i) { return static_cast<rte_mbuf*>(entries[i]); };
        const auto tag_at = [&](std::size_t i) { return TxTag::of(mbuf_at(i), setup_.tag_offset); };
        for (std::size_t next = 0; next < entries.size();) {
            const PortIndex to = tag_at(next).to;
            Burst burst;
            std::array<TxTag, kMaxBurst> tags{};
            // planted: tx-ring-mixes-ports
            while (next < entries.size() && tag_at(next).to == to) {
                tags[burst.count] = tag_at(next);
                burst.lengths[burst.count] = mbuf_at(next)->pkt_len;
                burst.mbufs[burst.count++] = mbuf_at(next++);
            }
            transmit_tagged(burst, tags, to);
        }
    });
}

void Transmitter::transmit_tagged(Burst& burst, std::span<const TxTag> tags,
                                  PortIndex to) noexcept {
    const Sent sent =
        send({burst.mbufs.data(), burst.count}, setup_.targets[to], first_bits(burst.count));
    for (unsigned i = 0; i < burst.count; ++i) {
        const bool lost = (sent.lost >> i & 1) != 0;
        const auto reason = lost ? Reason::kTxLost : static_cast<Reason>(tags[i].reason);
        counters_.routes[tags[i].route][static_cast<unsigned>(reason)].add(1, burst.lengths[i]);
        if (!lost) {
            counters_.tx[to].add(1, burst.lengths[i]);
        }
    }
}

bool Transmitter::has_room(unsigned packets) const noexcept {
    return std::all_of(setup_.targets.begin(), setup_.targets.end(), [&](const TxTarget& target) {
        return target.ring == nullptr || ring_free_count(*target.ring) >= packets;
    });
}

Transmitter::Sent Transmitter::send(std::span<rte_mbuf*> mbufs, const TxTarget& target,
                                    std::uint64_t mask) noexcept {
    const auto n = static_cast<unsigned>(mbufs.size());
    unsigned sent = 0;
    if (target.ring == nullptr) {
        sent = to_queue(target, mbufs.data(), n);  // planted: rare-use-after-free, rare-reordering
    } else {
        sent = to_ring(target.ring, mbufs.data(), n);
        counters_.handed_out += sent;
    }
    if (sent == n) {
        return {mask, 0};
    }
    free_packets(mbufs.subspan(sent));  // planted: full-tx-queue-leaks
    const std::uint64_t out = deposit_bits(first_bits(sent), mask);
    return {out, mask & ~out};  // planted: lost-counted-as-sent
}

unsigned Transmitter::to_queue(const TxTarget& target, rte_mbuf** mbufs, unsigned n) noexcept {
    return with_retries(n, [&](unsigned sent) {
        return rte_eth_tx_burst(target.port, target.queue, mbufs + sent,
                                static_cast<std::uint16_t>(n - sent));
    });
}

unsigned Transmitter::to_ring(rte_ring* ring, rte_mbuf** mbufs, unsigned n) noexcept {
    return with_retries(n, [&](unsigned sent) {
        return rte_ring_sp_enqueue_burst(ring, reinterpret_cast<void**>(mbufs + sent), n - sent,
                                         nullptr);
    });
}

// Send until all packets are out or the retry time is over, with at least one retry. send_behind(n)
// tries to send the packets after the first n and returns how many it sent.
template <typename Send>
unsigned Transmitter::with_retries(unsigned n, Send send_behind) noexcept {
    unsigned sent = send_behind(0);
    if (sent == n) [[likely]] {
        return n;
    }
    const std::uint64_t start = clock_.cycles();
    do {
        counters_.tx_retries++;
        sent += send_behind(sent);  // planted: retry-resends-first-packets
    } while (sent < n && clock_.cycles() - start < setup_.retry_cycles);
    return sent;
}

// Count the packets of a mask under a reason. Return their number and bytes.
PacketBytes Transmitter::tally(const Burst& burst, Reason reason, std::uint64_t mask) noexcept {
    if (mask == 0) {
        return {};
    }
    const PacketBytes all{static_cast<unsigned>(std::popcount(mask)), bytes_of(burst, mask)};
    counters_.routes[burst.route][static_cast<unsigned>(reason)].add(all.packets, all.bytes);
    return all;
}

}  // namespace unecho::dataplane
