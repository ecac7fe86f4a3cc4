// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/stages.h"

#include <cstring>

#include "dataplane/bits.h"

namespace unecho::dataplane {
namespace {

// Frames are a few cache lines long and arrive from the device's memory: the headers of packets
// ahead are fetched while this one is looked at.
constexpr unsigned kHeaderPrefetch = 4;

// The digests that have keys, side by side, for the filter; how many.
unsigned compact(const Burst& burst, std::array<Digest, kMaxBurst>& digests,
                 std::array<Nanoseconds, kMaxBurst>* times) noexcept {
    unsigned n = 0;
    for_each_bit(burst.keys.keyed, [&](unsigned i) {
        digests[n] = burst.digests[i];
        if (times != nullptr) {
            (*times)[n] = burst.times[i];
        }
        ++n;
    });
    return n;
}

// echoes and doubts by test(digests, limits), where digests are those of the keyed packets.
template <typename Test>
void judge(Burst& burst, const Lane& lane, std::span<const Digest> digests, Test test) noexcept {
    burst.echoes = 0;
    burst.doubts = 0;
    if (digests.empty()) {
        return;
    }
    filter::Answers answers;
    if (lane.judge == nullptr) {
        answers = test(digests, nullptr);
    } else {
        if (lane.judge->wants_chance()) {
            lane.judge->tell_chance(lane.ops->chance(lane.filter, digests.front()));
        }
        std::array<float, kMaxBurst> each;
        const filter::ChanceLimits limits = lane.judge->limits(burst, each);
        answers = test(digests, &limits);
        lane.judge->learn(answers.echoes | answers.doubts, static_cast<unsigned>(digests.size()));
    }
    const bool all = digests.size() == burst.count;
    burst.echoes = all ? answers.echoes : deposit_bits(answers.echoes, burst.keys.keyed);
    burst.doubts = all || answers.doubts == 0 ? answers.doubts
                                              : deposit_bits(answers.doubts, burst.keys.keyed);
}

}  // namespace

void view(Burst& burst) noexcept {
    burst.chained = 0;
    burst.bytes = 0;
    for (unsigned i = 0; i < burst.count; ++i) {
        if (i + kHeaderPrefetch < burst.count) {
            __builtin_prefetch(rte_pktmbuf_mtod(burst.mbufs[i + kHeaderPrefetch], const void*));
        }
        const rte_mbuf& mbuf = *burst.mbufs[i];
        const bool chained = mbuf.nb_segs > 1;
        burst.frames[i] = {rte_pktmbuf_mtod(&mbuf, const std::uint8_t*),
                           chained ? 0U : mbuf.data_len};
        burst.chained |= std::uint64_t{chained} << i;
        burst.lengths[i] = mbuf.pkt_len;
        burst.bytes += mbuf.pkt_len;
    }
}

packet::Frame contiguous(const rte_mbuf& mbuf, std::span<std::uint8_t> scratch) noexcept {
    if (mbuf.nb_segs == 1) {
        return {rte_pktmbuf_mtod(&mbuf, const std::uint8_t*), mbuf.data_len};
    }
    if (mbuf.pkt_len > scratch.size()) {
        return {scratch.data(), 0};
    }
    std::uint32_t length = 0;
    for (const rte_mbuf* segment = &mbuf; segment != nullptr; segment = segment->next) {
        std::memcpy(scratch.data() + length, rte_pktmbuf_mtod(segment, const std::uint8_t*),
                    segment->data_len);
        length += segment->data_len;
    }
    return {scratch.data(), length};
}

void digest(Burst& burst, packet::KeyMode mode, const hash::Secret& secret,
            std::span<std::uint8_t> scratch, packet::NonIp non_ip) noexcept {
    const std::span<const packet::Frame> frames(burst.frames.data(), burst.count);
    burst.keys = packet::digest_burst(mode, burst.link, frames, secret, burst.digests.data());
    burst.too_long = 0;
    const bool all = non_ip == packet::NonIp::kFrame;
    if (all && burst.keys.non_ip != 0) [[unlikely]] {
        packet::digest_non_ip(burst.link, frames, secret, burst.digests.data(), burst.keys);
    }
    // Rare: the scratch space holds one frame at a time.
    for_each_bit(burst.chained, [&](unsigned i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        const packet::Frame frame = contiguous(*burst.mbufs[i], scratch);
        packet::KeyMasks one;
        if (frame.length != 0) {
            one = packet::digest_burst(mode, burst.link, {&frame, 1}, secret, &burst.digests[i]);
            if (all) {
                packet::digest_non_ip(burst.link, {&frame, 1}, secret, &burst.digests[i], one);
            }
        } else {
            burst.too_long |= bit;
        }
        burst.keys.keyed = (burst.keys.keyed & ~bit) | one.keyed << i;
        burst.keys.non_ip = (burst.keys.non_ip & ~bit) | one.non_ip << i;
        burst.keys.malformed = (burst.keys.malformed & ~bit) | one.malformed << i;
    });
}

void report_flows(const Burst& burst, filter::TapReport& report,
                  std::span<const filter::SetOfTwo> tap_of, bool timed) noexcept {
    for_each_bit(burst.keys.keyed, [&](unsigned i) { report.prefetch(burst.digests[i]); });
    for_each_bit(burst.keys.keyed, [&](unsigned i) {
        if (timed) {
            report.advance(burst.times[i]);
        }
        report.add(burst.digests[i], tap_of[burst.mbufs[i]->port]);
    });
}

void decide(Burst& burst, const Lane& lane, filter::Moment moment) noexcept {
    const auto test = [&](std::span<const Digest> digests, const filter::ChanceLimits* limits) {
        return lane.ops->test(lane.filter, *lane.ageing, digests, moment, lane.first, limits);
    };
    if (burst.keys.keyed == first_bits(burst.count)) {
        judge(burst, lane, {burst.digests.data(), burst.count}, test);
        return;
    }
    std::array<Digest, kMaxBurst> digests;
    const unsigned n = compact(burst, digests, nullptr);
    judge(burst, lane, {digests.data(), n}, test);
}

void decide_timed(Burst& burst, const Lane& lane) noexcept {
    std::array<Digest, kMaxBurst> digests;
    std::array<Nanoseconds, kMaxBurst> times;
    const unsigned n = compact(burst, digests, &times);
    judge(burst, lane, {digests.data(), n},
          [&](std::span<const Digest> all, const filter::ChanceLimits* limits) {
              return lane.ops->test_timed(lane.filter, *lane.ageing, all, times.data(), lane.first,
                                          limits);
          });
}

}  // namespace unecho::dataplane
