// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/stages.h"

#include "pipeline/bits.h"

namespace unecho::pipeline {
namespace {

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

void parse(Burst& burst) noexcept {
    packet::parse_burst(burst.link, {burst.frames.data(), burst.count}, burst.parsed);
}

void digest(Burst& burst, packet::KeyMode mode, const hash::Secret& secret,
            packet::NonIp non_ip) noexcept {
    const std::span<const packet::Frame> frames(burst.frames.data(), burst.count);
    burst.keys = packet::digest_burst(mode, frames, burst.parsed, secret, burst.digests.data());
    if (burst.too_long != 0) [[unlikely]] {  // of them nothing can be read
        burst.keys.keyed &= ~burst.too_long;
        burst.keys.malformed &= ~burst.too_long;
    }
    if (non_ip == packet::NonIp::kFrame && burst.keys.non_ip != 0) [[unlikely]] {
        packet::digest_non_ip(burst.link, frames, secret, burst.digests.data(), burst.keys);
    }
}

void report_flows(const Burst& burst, filter::TapReport& report, bool timed) noexcept {
    for_each_bit(burst.keys.keyed, [&](unsigned i) { report.prefetch(burst.digests[i]); });
    for_each_bit(burst.keys.keyed, [&](unsigned i) {
        if (timed) {
            report.advance(burst.times[i]);
        }
        report.add(burst.digests[i], burst.taps[i]);
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

Settlement settle(const Burst& burst, EchoAction on_echo) noexcept {
    const bool pass = on_echo == EchoAction::kPass;
    return {
        .forward{{
            {Reason::kNew, burst.keys.keyed & ~burst.echoes & ~burst.doubts},
            {Reason::kDoubt, burst.doubts},
            {Reason::kNonIp, burst.keys.non_ip},
            {Reason::kMalformed, burst.keys.malformed},
            {Reason::kTooLong, burst.too_long},
            {Reason::kEchoPassed, pass ? burst.echoes : 0},
        }},
        .away{on_echo == EchoAction::kDivert ? Reason::kEchoDiverted : Reason::kEcho,
              pass ? 0 : burst.echoes},
    };
}

}  // namespace unecho::pipeline
