// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/stages.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "dedup/pipeline/bits.h"
#include "dedup/pipeline/repeats.h"
#include "filters/first_packets.h"

namespace unecho::pipeline {
namespace {

// Collect the digests of the packets for the filter, side by side. Return how many.
unsigned compact(const Burst& burst, std::array<Digest, kMaxBurst>& digests,
                 std::array<Nanoseconds, kMaxBurst>* times) noexcept {
    unsigned n = 0;
    for_each_bit(burst.filtered(), [&](unsigned i) {
        digests[n] = burst.digests[i];
        if (times != nullptr) {
            (*times)[n] = burst.times[i];
        }
        ++n;
    });
    return n;
}

template <typename Test>
void judge(Burst& burst, const FilterContext& context, std::span<const Digest> digests,
           Test test) noexcept {
    burst.echoes = 0;
    burst.doubts = 0;
    if (digests.empty()) {
        return;
    }
    filter::Answers answers;
    if (context.confidence == nullptr) {
        answers = test(digests, nullptr);
    } else {
        if (context.confidence->needs_chance()) {
            context.confidence->set_chance(context.ops->chance(context.filter, digests.front()));
        }
        std::array<float, kMaxBurst> each;
        const filter::ChanceLimits limits = context.confidence->limits(burst, each);
        answers = test(digests, &limits);
        context.confidence->learn(answers.echoes | answers.doubts,
                                  static_cast<unsigned>(digests.size()));
    }
    const bool all = digests.size() == burst.count;
    // planted: rare-miss, rare-false-drop
    burst.echoes = all ? answers.echoes : deposit_bits(answers.echoes, burst.filtered());
    burst.doubts = all || answers.doubts == 0 ? answers.doubts
                                              : deposit_bits(answers.doubts, burst.filtered());
}

// Test a filter in warm-up packet by packet: each answer depends on what both filters hold.
filter::Answers test_with_predecessor(const FilterContext& context, std::span<const Digest> digests,
                                      filter::TimerSnapshot published,
                                      const filter::ChanceLimits* limits) noexcept {
    const FilterContext& before = *context.before;
    filter::Answers answers;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        PredecessorResult beside;
        beside.known_slots = before.ops->known_slots(before.filter, digests[i], context.first);
        beside.limit = limits != nullptr ? limits->at(i) : context.bound;
        beside.chance = limits != nullptr ? before.planned_chance : 0;
        if (beside.limit && before.ops->chance != nullptr) {
            beside.chance = before.ops->chance(
                before.filter, filter::first_slot(digests[i], context.first - 1, context.first));
        }
        const filter::Answers one = context.ops->test_with_predecessor(
            context.filter, *context.ageing, digests[i], published, context.first, beside);
        answers.echoes |= one.echoes << i;
        answers.doubts |= one.doubts << i;
    }
    return answers;
}

// Apply the union rule after the filter, if repeats are kept. While a filter is warmed, its
// predecessor's rule decides, and its own rule learns from the same packets.
template <typename Time>
void apply_union_rule(Burst& burst, const FilterContext& context, Time time) noexcept {
    if (context.repeats == nullptr) {
        return;
    }
    const std::uint64_t identified = burst.echoes;
    const bool learns = context.before != nullptr && context.before->repeats != nullptr;
    decide_repeats(burst, *context.repeats, time, learns ? nullptr : context.answers);
    // planted: rule-warm-up-skips-predecessor
    if (learns) [[unlikely]] {
        burst.echoes = identified;
        decide_repeats(burst, *context.before->repeats, time, context.answers);
    }
}

// No default: the compiler then reports a missing reason.
inline std::uint64_t packets_of(Reason reason, const Burst& burst, EchoAction on_echo) noexcept {
    switch (reason) {
        case Reason::kNew:
            return burst.keys.keyed & ~burst.echoes & ~burst.doubts;
        case Reason::kDoubt:
            return burst.doubts;
        case Reason::kNonIp:
            return burst.link == packet::LinkType::kUnknown ? 0 : burst.keys.non_ip;
        case Reason::kUnparsed:
            return burst.link == packet::LinkType::kUnknown ? burst.keys.non_ip : 0;
        case Reason::kMalformed:
            return burst.keys.malformed;
        case Reason::kTooLong:
            return burst.too_long;
        case Reason::kEchoPassed:
            return on_echo == EchoAction::kPass ? burst.echoes : 0;
        case Reason::kEchoDiverted:
            return on_echo == EchoAction::kDivert ? burst.echoes : 0;
        case Reason::kEcho:
            return on_echo == EchoAction::kDrop ? burst.echoes : 0;
        case Reason::kOverload:
        case Reason::kTxLost:
        case Reason::kStopped:
            break;  // given elsewhere
    }
    return 0;
}

void digest_keys(Burst& burst, packet::KeyMode mode, packet::Tenant tenant,
                 packet::Checksums checksums, const hash::Secret& secret) noexcept {
    burst.unidentified = 0;  // may be left from earlier packets of this burst
    burst.keys = packet::digest_burst(mode, {burst.frames.data(), burst.count}, burst.parsed,
                                      secret, burst.digests.data());
    if (burst.too_long != 0) [[unlikely]] {  // no byte can be read
        burst.keys.keyed &= ~burst.too_long;
        burst.keys.malformed &= ~burst.too_long;
    }
    if (checksums == packet::Checksums::kFill && mode == packet::KeyMode::kPacket) {
        packet::fill_checksums({burst.frames.data(), burst.count}, burst.parsed, burst.keys.keyed,
                               secret, burst.digests.data());
    }
    if (tenant == packet::Tenant::kMatch && burst.opened.opened != 0) {
        packet::add_tenants(mode, burst.opened, burst.keys.keyed, secret, burst.digests.data());
    }
}

void find_places(Burst& burst, const packet::KeySpec& key, std::uint64_t packets,
                 const hash::Secret& secret) noexcept {
    const bool ethernet = burst.link == packet::LinkType::kEthernet;
    for_each_bit(packets, [&](unsigned i) {
        const packet::Frame& frame = burst.frames[i];
        packet::ObservationPoint& place = burst.places[i];
        if ((burst.opened.opened >> i & 1) != 0) [[unlikely]] {
            place = packet::observation_point_inside(key.tunnels, burst.link, frame,
                                                     burst.parsed.at(i), secret);
        } else if (ethernet && frame.length >= packet::kMacAddresses) [[likely]] {
            place = packet::observation_point_in_ethernet(frame, burst.parsed.at(i), secret);
        } else {
            place = packet::observation_point_of(burst.link, frame, burst.parsed.at(i), secret);
        }
        if (key.point == packet::Point::kPort) {  // planted: rule-ignores-point
            place.link = 0;
        } else if (key.point == packet::Point::kLinkTtl) [[unlikely]] {
            place.link = remix(place.link, place.ttl);
        }
        if (key.tags == packet::Tags::kPoint) {
            place.link = remix(place.link, place.tags);
        }
    });
}

}  // namespace

void parse(Burst& burst, const packet::KeySpec& key) noexcept {
    const std::span<const packet::Frame> frames(burst.frames.data(), burst.count);
    if (key.tunnels.any()) {
        packet::parse_innermost(key.tunnels, burst.link, frames, burst.parsed, burst.opened);
    } else {
        packet::parse_burst(burst.link, frames, burst.parsed);
        burst.opened.clear();  // packets of another filter may have been in this burst
    }
    if (key.bytes != 0) {
        packet::cut_packets(burst.parsed, key.bytes);
    }
}

void digest(Burst& burst, const packet::KeySpec& key, const hash::Secret& secret) noexcept {
    digest_keys(burst, key.mode, key.tenant, key.checksums, secret);
    if (key.non_ip == packet::NonIp::kFrame && burst.keys.non_ip != 0) [[unlikely]] {
        packet::digest_non_ip(burst.link, {burst.frames.data(), burst.count}, secret,
                              burst.digests.data(), burst.keys);
    }
    packet::add_tags(key, burst.link, {burst.frames.data(), burst.count}, burst.parsed,
                     burst.opened, burst.keys.keyed, secret, burst.digests.data());
    if (key.repeats == packet::Repeats::kKeep) {
        burst.unidentified = burst.keys.keyed & ~packet::identified(burst.parsed);
        find_places(burst, key, key.evidence ? burst.keys.keyed : burst.unidentified, secret);
    }
}

void digest_flows(Burst& burst, packet::Tenant tenant, const hash::Secret& secret) noexcept {
    digest_keys(burst, packet::KeyMode::kFlowBidir, tenant, packet::Checksums::kAsTheyAre, secret);
}

void digest_with_secret(const Burst& burst, const packet::KeySpec& key, const hash::Secret& secret,
                        std::array<Digest, kMaxBurst>& digests) noexcept {
    const packet::KeyMasks keys = packet::digest_burst(key.mode, {burst.frames.data(), burst.count},
                                                       burst.parsed, secret, digests.data());
    if (key.tenant == packet::Tenant::kMatch && burst.opened.opened != 0) {
        packet::add_tenants(key.mode, burst.opened, keys.keyed, secret, digests.data());
    }
    packet::add_tags(key, burst.link, {burst.frames.data(), burst.count}, burst.parsed,
                     burst.opened, keys.keyed & ~burst.too_long, secret, digests.data());
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

void prepare(const Burst& burst, const FilterContext& context,
             PrefetchedBurst& prefetched) noexcept {
    unsigned n = burst.count;
    if (burst.filtered() == first_bits(n)) {
        std::copy_n(burst.digests.begin(), n, prefetched.digests.begin());
    } else {
        n = compact(burst, prefetched.digests, nullptr);
    }
    context.ops->prepare(context.filter, {prefetched.digests.data(), n}, prefetched.prepared);
    if (context.repeats != nullptr) {
        for_each_bit(burst.unidentified,
                     [&](unsigned i) { context.repeats->prefetch(burst.digests[i]); });
    }
}

void decide_prepared(Burst& burst, const FilterContext& context, filter::TimerSnapshot published,
                     const PrefetchedBurst& prefetched, PrefetchedBurst* next) noexcept {
    judge(burst, context, {prefetched.digests.data(), prefetched.prepared.count},
          [&](std::span<const Digest> digests, const filter::ChanceLimits* limits) {
              return context.ops->test_prepared(context.filter, *context.ageing, digests,
                                                prefetched.prepared, published, limits,
                                                next == nullptr ? nullptr : &next->prepared);
          });
    apply_union_rule(burst, context, [&](unsigned) { return published.now; });
}

void decide(Burst& burst, const FilterContext& context, filter::TimerSnapshot published) noexcept {
    const auto test = [&](std::span<const Digest> digests, const filter::ChanceLimits* limits) {
        if (context.before != nullptr) [[unlikely]] {
            return test_with_predecessor(context, digests, published, limits);
        }
        return context.ops->test(context.filter, *context.ageing, digests, published, context.first,
                                 limits);
    };
    if (burst.filtered() == first_bits(burst.count)) {
        judge(burst, context, {burst.digests.data(), burst.count}, test);
    } else {
        std::array<Digest, kMaxBurst> digests;
        const unsigned n = compact(burst, digests, nullptr);
        judge(burst, context, {digests.data(), n}, test);
    }
    apply_union_rule(burst, context, [&](unsigned) { return published.now; });
}

void decide_timed(Burst& burst, const FilterContext& context) noexcept {
    std::array<Digest, kMaxBurst> digests;
    std::array<Nanoseconds, kMaxBurst> times;
    const unsigned n = compact(burst, digests, &times);
    judge(burst, context, {digests.data(), n},
          [&](std::span<const Digest> all, const filter::ChanceLimits* limits) {
              return context.ops->test_timed(context.filter, *context.ageing, all, times.data(),
                                             context.first, limits);
          });
    apply_union_rule(burst, context, [&](unsigned i) { return burst.times[i]; });
}

Settlement settle(const Burst& burst, EchoAction on_echo) noexcept {
    const bool divert = on_echo == EchoAction::kDivert;
    const Reason away = divert ? Reason::kEchoDiverted : Reason::kEcho;
    Settlement settled{.forward = {}, .away = {away, packets_of(away, burst, on_echo)}};
    const auto fill = [&]<std::size_t... I>(std::index_sequence<I...>) noexcept {
        ((settled.forward[I] = {kForwardedBySettle[I],
                                packets_of(kForwardedBySettle[I], burst, on_echo)}),
         ...);
    };
    fill(std::make_index_sequence<kForwardedBySettle.size()>{});
    UNECHO_ASSERT(is_partition(settled, first_bits(burst.count)));
    return settled;
}

}  // namespace unecho::pipeline
