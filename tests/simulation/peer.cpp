// SPDX-License-Identifier: BSD-3-Clause
#include "peer.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <rte_mbuf_dyn.h>

#include "checks.h"
#include "support/packet_builder.h"

namespace unecho::test {
namespace {

// Offsets in an Ethernet frame with IPv4 and UDP.
constexpr unsigned kSourceMacEnd = 11;
constexpr unsigned kTtl = 14 + 8;
constexpr unsigned kSourceEnd = 14 + 15;
constexpr unsigned kKey = 14 + 20 + 8;
constexpr unsigned kFrameBytes = 60;

// duration of a refused transmit
constexpr Nanoseconds kRefusal = 300;

Bytes blank_frame() {
    PacketSpec spec;
    spec.payload = Bytes(kFrameBytes - kKey, 0);
    return build(spec);
}

int number_field() {
    const rte_mbuf_dynfield field{"peer_number", sizeof(std::uint64_t), alignof(std::uint64_t), 0};
    const int offset = rte_mbuf_dynfield_register(&field);
    if (offset < 0) {
        wrong("a field of packet buffers: " + std::to_string(offset));
    }
    return offset;
}

}  // namespace

Peer::Peer(const Ground& ground, unsigned tx_queues)
    : pool_(ground.pool()),
      buffers_(rte_mempool_avail_count(ground.pool())),
      offset_(number_field()),
      frame_(blank_frame()) {
    require_equal(frame_.size(), kFrameBytes, "bytes of a frame");
    const char* const names[kPorts] = {"peer_a", "peer_b", "peer_tool", "peer_spare"};
    for (unsigned i = 0; i < kPorts; ++i) {
        wires_[i].peer = this;
        wires_[i].number = static_cast<std::uint8_t>(i);
        wires_[i].port = std::make_unique<OwnPort>(
            names[i], OwnPort::Spec{tx_queues, 512, pool_, receive, transmit, &wires_[i]});
    }
    std::vector<rte_mbuf*> all(buffers_);
    require(rte_pktmbuf_alloc_bulk(pool_, all.data(), buffers_) == 0, "no packet buffers");
    for (rte_mbuf* mbuf : all) {
        std::memcpy(rte_pktmbuf_mtod(mbuf, void*), frame_.data(), kFrameBytes);
        number_of(*mbuf) = 0;
    }
    rte_pktmbuf_free_bulk(all.data(), buffers_);
}

std::vector<PortId> Peer::ports() const {
    std::vector<PortId> out;
    for (const Wire& wire : wires_) {
        out.push_back(wire.port->id());
    }
    return out;
}

void Peer::begin(Nanoseconds& clock, std::uint64_t seed) {
    clock_ = &clock;
    chance_ = FastChance(seed);
    refuse_one_in_ = 0;
}

// --- into the appliance ------------------------------------------------------------------------

std::span<Handed> Peer::next_round(unsigned packets) {
    packets_ = packets;
    require(rte_pktmbuf_alloc_bulk(pool_, mbufs_.data(), packets) == 0,
            "the pool is empty: buffers leak");
    for (unsigned i = 0; i < packets; ++i) {
        if (number_of(*mbufs_[i]) != 0) [[unlikely]] {
            wrong("a packet buffer is free while it holds packet " +
                  std::to_string(number_of(*mbufs_[i])));
        }
        number_of(*mbufs_[i]) = first_ + i;
        round_[i] = {};
        round_[i].mbuf = mbufs_[i];
    }
    return {round_.data(), packets};
}

// Copies have another TTL and another MAC address.
void Peer::write(const Handed& packet) const {
    rte_mbuf& mbuf = *packet.mbuf;
    mbuf.data_len = kFrameBytes;
    mbuf.pkt_len = kFrameBytes;
    auto* const data = rte_pktmbuf_mtod(&mbuf, std::uint8_t*);
    data[kSourceMacEnd] = packet.copy ? 3 : 2;
    data[kTtl] = packet.copy ? 63 : 64;
    data[kSourceEnd] = static_cast<std::uint8_t>(packet.key % kPeerFlows);
    std::memcpy(data + kKey, &packet.key, sizeof packet.key);
}

void Peer::offer(bool two_ports) {
    for (Wire& wire : wires_) {
        wire.next = wire.end = 0;
    }
    for (unsigned i = 0; i < packets_; ++i) {
        write(round_[i]);
        handed_.add(first_ + i);
        Wire& wire = wires_[two_ports ? round_[i].key % 2 : 0];
        wire.mbufs[wire.end++] = round_[i].mbuf;
    }
}

unsigned Peer::waiting() const {
    return wires_[0].end - wires_[0].next + wires_[1].end - wires_[1].next;
}

std::uint16_t Peer::receive(void* queue, rte_mbuf** mbufs, std::uint16_t n) {
    Wire& wire = *static_cast<Wire*>(queue);
    const unsigned given = std::min<unsigned>(n, wire.end - wire.next);
    std::copy_n(wire.mbufs.begin() + wire.next, given, mbufs);
    wire.next += given;
    return static_cast<std::uint16_t>(given);
}

// --- out of the appliance ----------------------------------------------------------------------

std::uint16_t Peer::transmit(void* queue, rte_mbuf** mbufs, std::uint16_t n) {
    const Wire& wire = *static_cast<Wire*>(queue);
    return wire.peer->take(wire, mbufs, n);
}

Handed& Peer::handed_of(const rte_mbuf& mbuf) {
    const std::uint64_t number = number_of(mbuf);
    if (number - first_ >= packets_) [[unlikely]] {
        wrong(number == 0 ? "a packet comes out that was not handed in, or twice"
                          : "packet " + std::to_string(number) + " comes out of another round");
    }
    Handed& packet = round_[number - first_];
    require(packet.mbuf == &mbuf, "a packet comes out in another buffer");
    return packet;
}

void Peer::take_one(const Wire& wire, const rte_mbuf& mbuf) {
    Handed& packet = handed_of(mbuf);
    const std::uint64_t number = number_of(mbuf);
    const auto* const data = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
    std::uint64_t key = 0;
    std::memcpy(&key, data + kKey, sizeof key);
    if (key != packet.key || mbuf.data_len != kFrameBytes || mbuf.pkt_len != kFrameBytes ||
        data[kTtl] != (packet.copy ? 63 : 64) || mbuf.nb_segs != 1 || mbuf.next != nullptr ||
        rte_mbuf_refcnt_read(&mbuf) != 1) [[unlikely]] {
        wrong("packet " + std::to_string(number) + " comes out changed");
    }
    std::uint64_t& last = last_of_flow_[key % kPeerFlows];
    if (wire.number == kTool) {
        if (number <= last) [[unlikely]] {
            wrong("packet " + std::to_string(number) + " comes out behind " + std::to_string(last) +
                  " of its flow");
        }
        last = number;
    }
    packet.out = wire.number;
    sent_.add(number);
    number_of(mbuf) = 0;
}

unsigned Peer::room_for(unsigned n) {
    if (refuse_one_in_ == 0 || !chance_.once_in(refuse_one_in_)) {
        return n;
    }
    *clock_ += kRefusal;
    return static_cast<unsigned>(chance_.below(n));
}

// Called inside a worker, which is noexcept: errors are kept for check().
std::uint16_t Peer::take(const Wire& wire, rte_mbuf** mbufs, std::uint16_t n) {
    const unsigned room = room_for(n);
    try {
        for (unsigned i = 0; i < room; ++i) {
            take_one(wire, *mbufs[i]);
        }
        for (unsigned i = room; i < n; ++i) {
            handed_of(*mbufs[i]).refused = wire.number;
        }
    } catch (const std::exception& error) {
        wrong_ = wrong_.empty() ? error.what() : wrong_;
    }
    if (room != 0) {
        rte_mempool_put_bulk(pool_, reinterpret_cast<void* const*>(mbufs), room);
    }
    return static_cast<std::uint16_t>(room);
}

void Peer::check() const {
    if (!wrong_.empty()) [[unlikely]] {
        wrong(wrong_);
    }
}

// --- where packets and buffers are -------------------------------------------------------------

void Peer::settle() {
    require_equal(waiting(), 0, "packets that nobody received");
    for (unsigned i = 0; i < packets_; ++i) {
        if (round_[i].gone()) {
            require_equal(number_of(*round_[i].mbuf), first_ + i, "a packet that was dropped");
            number_of(*round_[i].mbuf) = 0;
            dropped_.add(first_ + i);
        }
    }
    first_ += packets_;
    packets_ = 0;
}

void Peer::look_at_all() {
    require_equal(rte_mempool_avail_count(pool_), buffers_, "packet buffers that are back");
    std::vector<rte_mbuf*> all(buffers_);
    require(rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(all.data()), buffers_) == 0,
            "packet buffers that are not there");
    for (rte_mbuf* mbuf : all) {
        require_equal(number_of(*mbuf), 0, "a packet in a free buffer");
        number_of(*mbuf) = 1;  // a buffer found again with this mark is in the pool twice
        require(mbuf->pool == pool_ && mbuf->next == nullptr && mbuf->nb_segs == 1 &&
                    rte_mbuf_refcnt_read(mbuf) == 1,
                "a free buffer is not whole");
        auto* const data = static_cast<std::uint8_t*>(mbuf->buf_addr) + RTE_PKTMBUF_HEADROOM;
        data[kSourceMacEnd] = frame_[kSourceMacEnd];
        data[kTtl] = frame_[kTtl];
        data[kSourceEnd] = frame_[kSourceEnd];
        std::memset(data + kKey, 0, sizeof(std::uint64_t));
        require(std::memcmp(data, frame_.data(), kFrameBytes) == 0, "a packet was written to");
    }
    for (rte_mbuf* mbuf : all) {
        number_of(*mbuf) = 0;
    }
    rte_mempool_put_bulk(pool_, reinterpret_cast<void* const*>(all.data()), buffers_);
    Account both = sent_;
    both.add(dropped_);
    require(both == handed_, "packets that came out and were dropped are not those handed in");
}

}  // namespace unecho::test
