// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/transmit.h"

#include <algorithm>
#include <bit>

#include <rte_ethdev.h>

#include "dataplane/ring_room.h"
#include "pipeline/bits.h"

namespace unecho::dataplane {
namespace {

using pipeline::deposit_bits;
using pipeline::first_bits;
using pipeline::for_each_bit;
using pipeline::Outcome;
using pipeline::Reason;

// The packets of a mask side by side: the burst's own list where they are all of it, else in room.
std::span<rte_mbuf*> gather(Burst& burst, std::uint64_t mask,
                            std::array<rte_mbuf*, kMaxBurst>& room) noexcept {
    if (mask == first_bits(burst.count)) {
        return {burst.mbufs.data(), burst.count};
    }
    unsigned n = 0;
    for_each_bit(mask, [&](unsigned i) { room[n++] = burst.mbufs[i]; });
    return {room.data(), n};
}

// By adding up the fewer: those of the mask, or the others.
std::uint64_t bytes_of(const Burst& burst, std::uint64_t mask) noexcept {
    const std::uint64_t others = first_bits(burst.count) & ~mask;
    const bool most = std::popcount(others) < std::popcount(mask);
    std::uint64_t bytes = 0;
    for_each_bit(most ? others : mask, [&](unsigned i) { bytes += burst.lengths[i]; });
    return most ? burst.bytes - bytes : bytes;
}

}  // namespace

Transmitter::Transmitter(const TransmitSetup& setup, const WorkerCommon& common,
                         Counters& counters) noexcept
    : setup_(setup),
      clock_(common.clock),
      in_(setup.in, common.burst, counters),
      counters_(counters) {}

void Transmitter::deliver(Burst& burst, PortIndex to, std::uint64_t mask,
                          std::span<const Outcome> outcomes) noexcept {
    const TxTarget& target = setup_.targets[to];
    if (target.ring != nullptr) {
        for (const Outcome& outcome : outcomes) {
            const TxTag tag{to, static_cast<std::uint8_t>(burst.route),
                            static_cast<std::uint8_t>(outcome.reason)};
            for_each_bit(outcome.mask,
                         [&](unsigned i) { TxTag::of(burst.mbufs[i], setup_.tag_offset) = tag; });
        }
    }
    const Sent sent = send(burst, target, mask);
    tally(burst, Reason::kTxLost, sent.lost);
    if (target.ring == nullptr) {
        for (const Outcome& outcome : outcomes) {
            const PacketBytes out = tally(burst, outcome.reason, outcome.mask & sent.out);
            counters_.tx[to].add(out.packets, out.bytes);
        }
    }
}

void Transmitter::drop(Burst& burst, const Outcome& outcome) noexcept {
    std::array<rte_mbuf*, kMaxBurst> room;
    const std::span<rte_mbuf*> mbufs = gather(burst, outcome.mask, room);
    rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(mbufs.size()));
    tally(burst, outcome.reason, outcome.mask);
}

// A ring mixes ports; a burst goes to one.
Taken Transmitter::take() noexcept {
    return in_.take([this](std::span<void* const> entries) {
        const auto mbuf_at = [&](std::size_t i) { return static_cast<rte_mbuf*>(entries[i]); };
        const auto tag_at = [&](std::size_t i) { return TxTag::of(mbuf_at(i), setup_.tag_offset); };
        for (std::size_t next = 0; next < entries.size();) {
            const PortIndex to = tag_at(next).to;
            Burst burst;
            std::array<TxTag, kMaxBurst> tags{};
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
    const Sent sent = send(burst, setup_.targets[to], first_bits(burst.count));
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
        return target.ring == nullptr || ring_room(*target.ring) >= packets;
    });
}

Transmitter::Sent Transmitter::send(Burst& burst, const TxTarget& target,
                                    std::uint64_t mask) noexcept {
    std::array<rte_mbuf*, kMaxBurst> room;
    const std::span<rte_mbuf*> mbufs = gather(burst, mask, room);
    const auto n = static_cast<unsigned>(mbufs.size());
    unsigned sent = 0;
    if (target.ring == nullptr) {
        sent = to_queue(target, mbufs.data(), n);
    } else {
        sent = to_ring(target.ring, mbufs.data(), n);
        counters_.handed_out += sent;
    }
    if (sent == n) {
        return {mask, 0};
    }
    rte_pktmbuf_free_bulk(mbufs.data() + sent, n - sent);
    const std::uint64_t out = deposit_bits(first_bits(sent), mask);
    return {out, mask & ~out};
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

// send_behind(n): tries to send what stands behind the first n; how many went. Again for a bounded
// time, at least once.
template <typename Send>
unsigned Transmitter::with_retries(unsigned n, Send send_behind) noexcept {
    unsigned sent = send_behind(0);
    if (sent == n) [[likely]] {
        return n;
    }
    const std::uint64_t start = clock_.cycles();
    do {
        counters_.tx_retries++;
        sent += send_behind(sent);
    } while (sent < n && clock_.cycles() - start < setup_.retry_cycles);
    return sent;
}

// Counts the packets of a mask under a reason; how many, and their bytes.
PacketBytes Transmitter::tally(const Burst& burst, Reason reason, std::uint64_t mask) noexcept {
    if (mask == 0) {
        return {};
    }
    const PacketBytes all{static_cast<unsigned>(std::popcount(mask)), bytes_of(burst, mask)};
    counters_.routes[burst.route][static_cast<unsigned>(reason)].add(all.packets, all.bytes);
    return all;
}

}  // namespace unecho::dataplane
