// SPDX-License-Identifier: BSD-3-Clause
// The traffic: packets and copies of any age, and transmissions as taps see them. These may be
// repeated, lost at a tap, mirrored twice, routed past the same tap, or caught in a loop.
#include <algorithm>
#include <cstring>

#include "life.h"
#include "support/packet_builder.h"

namespace unecho::test {
namespace {

constexpr std::uint64_t kFrames = std::uint64_t{1} << 40;  // first key of frames without IP
constexpr unsigned kFrameKeys = 8;
constexpr std::uint8_t kRouted = 4;  // added to the index of a MAC pair behind a router

Bytes bytes_of(const Sent& sent) {
    if (sent.kind == Kind::kFrame) {
        const auto body = static_cast<std::uint8_t>(sent.key == 0 ? 1 : 1 + sent.key % kFrameKeys);
        return build_ethernet(0x0806, Bytes(46, body), PacketSpec{});
    }
    PacketSpec spec;
    spec.version = sent.kind == Kind::kIpv6 ? 6 : 4;
    spec.source = 0x0A000000U + (sent.flow & 0xFFFF);
    spec.source_mac[5] = static_cast<std::uint8_t>(1 + sent.pair);
    spec.ttl = sent.ttl;
    spec.id = sent.kind == Kind::kId0   ? std::uint16_t{0}
              : sent.kind == Kind::kId1 ? std::uint16_t{1}
                                        : static_cast<std::uint16_t>(2 + sent.key % 65000);
    if (sent.tags != 0) {
        spec.tags = {{0x8100, sent.tags}};
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        spec.payload.push_back(static_cast<std::uint8_t>(sent.key >> shift));
    }
    return build(spec);
}

}  // namespace

void World::choose_traffic() {
    Chance& chance = chance_[kRepeats];
    Traffic& t = traffic_;
    t.unidentified_percent = chance.one_of({0U, 30U, 60U, 100U});
    t.planned_percent = chance.one_of({0U, 50U, 90U});
    t.loss_percent = chance.one_of({0U, 0U, 1U, 20U});
    t.routed_percent = chance.one_of({0U, 0U, 50U});
    for (unsigned p = 0; p < 2; ++p) {
        t.mirrored_percent[p] = chance.one_of({0U, 50U, 100U});
        t.delay[p] = chance.one_of({Nanoseconds{0}, 3 * kMicrosecond, shape_.window / 10});
    }
    t.tags = static_cast<unsigned>(chance.below(3));
    t.views = chance.one_of({2U, 2U, 2U, 4U});
}

void World::bring_packets() {
    Chance& chance = chance_[kTraffic];
    while (!planned_.empty() && planned_.begin()->first <= now_) {
        const Sent sent = planned_.begin()->second;
        planned_.erase(planned_.begin());
        bring_packet(sent, now_);
    }
    if (now_ >= next_fresh_) {
        const std::uint64_t n = chance.between(1, burst_of_traffic_);
        const std::size_t waiting = planned_.size();
        for (std::uint64_t i = 0; i < n; ++i) {
            bring_fresh_packet();
        }
        const std::uint64_t came = n + planned_.size() - waiting;
        next_fresh_ = now_ + came * between_packets_ / 2 + chance.gap(came * between_packets_ / 2);
        if (chance.once_in(500)) {
            next_fresh_ += chance.below(10 * shape_.window);  // a silence
        }
    }
    next_traffic_ = planned_.empty() ? next_fresh_ : std::min(next_fresh_, planned_.begin()->first);
}

// Make a new packet. Frames without IP come from a small set and repeat often.
void World::make_new(Sent& sent, bool has_key) {
    Chance& repeats = chance_[kRepeats];
    if (!has_key) {
        sent.kind = Kind::kFrame;
        sent.flow = ~0U;
        if (shape_.compares_frames) {
            const std::uint64_t number = repeats.below(kFrameKeys);
            sent.key = kFrames + number;
            sent.flow -= static_cast<std::uint32_t>(number);
        }
        return;
    }
    sent.key = next_key_++;
    sent.flow = static_cast<std::uint32_t>(chance_[kTraffic].below(flows_));
    if (traffic_.unidentified_percent != 0 && repeats.below(100) < traffic_.unidentified_percent) {
        sent.kind = repeats.one_of({Kind::kIpv6, Kind::kIpv6, Kind::kId0, Kind::kId1});
        sent.flow |= sent.kind == Kind::kIpv6 ? 1U << 20 : 0;
    }
    sent.pair = static_cast<std::uint8_t>(has(Fault::kRepeats) ? sent.flow % 3 : 0);
    sent.ttl = static_cast<std::uint8_t>(64 - sent.port);
    set_tags(sent);
}

void World::set_tags(Sent& sent) {
    if (sent.kind == Kind::kFrame || traffic_.tags == 0) {
        sent.tags = 0;
    } else if (traffic_.tags == 1) {
        sent.tags = static_cast<std::uint8_t>(7 * sent.port);
    } else {
        sent.tags = chance_[kRepeats].one_of({std::uint8_t{0}, std::uint8_t{5}, std::uint8_t{6}});
    }
}

// Bring a new packet, or a copy of one that is mostly young; or plan repeats of a new one.
void World::bring_fresh_packet() {
    Chance& chance = chance_[kTraffic];
    Sent sent;
    sent.port = static_cast<std::uint8_t>(chance.below(2));
    const bool copy = !originals_.empty() && chance.below(100) < echo_percent_;
    const bool has_key = !chance.once_in(40);
    if (has(Fault::kRepeats) && chance_[kRepeats].below(100) < traffic_.planned_percent) {
        make_new(sent, has_key);
        plan_transmissions(sent);
        return;
    }
    if (copy) {
        const Nanoseconds age = chance.one_of({shape_.window / 50, shape_.window / 2, shape_.window,
                                               2 * shape_.window, 5 * shape_.window});
        const Nanoseconds from = now_ - std::min<Nanoseconds>(now_, chance.below(age + 1));
        auto at = std::lower_bound(
            originals_.begin(), originals_.end(), from,
            [](const Original& original, Nanoseconds time) { return original.at < time; });
        at -= at == originals_.end() ? 1 : 0;
        const std::uint8_t port = sent.port;
        sent = at->sent;
        sent.port = port;
        sent.ttl = static_cast<std::uint8_t>(sent.ttl == 0 ? 0 : 64 - port);
        set_tags(sent);
    } else {
        make_new(sent, has_key);
        if (sent.key != 0) {
            originals_.push_back({sent, now_});
        }
    }
    bring_packet(sent, now_);
}

// Plan one or several transmissions of a packet, as both taps see them.
void World::plan_transmissions(const Sent& packet) {
    Chance& chance = chance_[kRepeats];
    if (packet.key != 0) {
        originals_.push_back({packet, now_});
    }
    const unsigned times = chance.one_of({1U, 1U, 1U, 2U, 3U, 8U});
    const Nanoseconds apart =
        chance.one_of({2 * kMicrosecond, 10 * kMicrosecond, shape_.window / 50, shape_.window / 8,
                       shape_.window / 2});
    const bool cycles = chance.once_in(2);
    const bool loops = packet.ttl > 32 && chance.once_in(20);
    const Nanoseconds soon = std::max<Nanoseconds>(shape_.same_port / 2, 2 * kMicrosecond);
    Nanoseconds at = now_;
    for (unsigned i = 0; i < times; ++i) {
        for (std::uint8_t port = 0; port < 2; ++port) {
            if (chance.below(100) < traffic_.loss_percent) {
                continue;
            }
            Sent look = packet;
            look.port = port;
            look.ttl = static_cast<std::uint8_t>(look.ttl - (loops ? 2 * i : 0));
            set_tags(look);
            const Nanoseconds seen = at + traffic_.delay[port] + chance.below(kMicrosecond);
            planned_.emplace(seen, look);
            if (chance.below(100) < traffic_.mirrored_percent[port]) {
                for (unsigned more = 1; more < traffic_.views; ++more) {
                    planned_.emplace(seen + 1 + chance.below(soon), look);
                }
            }
            if (look.kind != Kind::kFrame && chance.below(100) < traffic_.routed_percent) {
                look.pair += kRouted;
                --look.ttl;
                planned_.emplace(seen + chance.below(20 * kMicrosecond), look);
            }
        }
        at += apart + (cycles ? 0 : chance.gap(apart));
    }
}

void World::bring_packet(const Sent& sent, Nanoseconds due) {
    ++brought_;
    if (now_ < buffers_back_) {
        return;
    }
    const Bytes bytes = bytes_of(sent);
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(packet_pool());
    require(mbuf != nullptr, "the pool is empty: buffers leak");
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size())), bytes.data(),
                bytes.size());
    const auto id = static_cast<std::uint32_t>(packets_.size());
    number_.of(mbuf) = id;
    if (!devices_[sent.port]->offer(mbuf, due)) {
        rte_pktmbuf_free(mbuf);
        return;
    }
    Packet packet;
    packet.sent = sent;
    packets_.push_back(packet);
    live_.push_back(id);
}

}  // namespace unecho::test
