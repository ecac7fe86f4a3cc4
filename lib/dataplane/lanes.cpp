// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/lanes.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "filter/first.h"
#include "pipeline/bits.h"

namespace unecho::dataplane {
namespace {

using pipeline::Lane;

// Zeroed segments come back from the control thread once a generation; looking for them every few
// hundred polls is soon enough and costs nothing.
constexpr std::uint64_t kExchangeInterval = 256;

// The shortest window says when the worker was away too long.
PresenceSpec presence_of(const LanesSetup& setup, unsigned polls) noexcept {
    Nanoseconds window = ~Nanoseconds{0};
    for (unsigned i = 0; i < setup.count; ++i) {
        if (setup.lanes[i].ops != nullptr) {
            window = std::min(window, setup.lanes[i].window);
        }
    }
    return {Presence::limit_for(window), window, polls};
}

}  // namespace

Lanes::Lanes(const LanesSetup& setup, unsigned polls, const WorkerCommon& common,
             Counters& counters) noexcept
    : setup_(setup), common_(common), counters_(counters), presence_(presence_of(setup, polls)) {
    for (unsigned i = 0; common.capture_clock && i < setup.count; ++i) {
        packet_clocks_[i] = PacketClock::for_window(setup.lanes[i].window);
    }
    for (unsigned i = 0; i < setup.count; ++i) {
        if (setup.audits[i] != nullptr) {
            samples_[i] = setup.audits[i]->sample();
        }
    }
    point_to_those_before();
}

void Lanes::point_to_those_before() noexcept {
    for (unsigned i = 0; i < setup_.count; ++i) {
        const FilterIndex before = setup_.before[i];
        // planted: warm-up-skips-predecessor
        setup_.lanes[i].before = before == LanesSetup::kNoFilter ? nullptr : &setup_.lanes[before];
        // What the rule of the one before asks of packets is found for both.
        if (before != LanesSetup::kNoFilter) {
            setup_.lanes[i].key.evidence |= setup_.lanes[before].key.evidence;
        }
    }
}

filter::FilterCounters Lanes::counted(unsigned lane) const noexcept {
    filter::FilterCounters sum = counted_before_[lane];
    if (setup_.lanes[lane].ops != nullptr) {
        fold(filter::kFilterCounters, setup_.lanes[lane].ops->counters(setup_.lanes[lane].filter),
             sum);
    }
    return sum;
}

filter::RepeatCounters Lanes::repeats_counted(unsigned lane) const noexcept {
    filter::RepeatCounters sum = repeats_before_[lane];
    if (setup_.lanes[lane].repeats != nullptr) {
        fold(filter::kRepeatCounters, setup_.lanes[lane].repeats->counters(), sum);
    }
    return sum;
}

// What the filter has kept, or if that is less the union rule.
filter::WindowState Lanes::window_of(const Lane& lane, Nanoseconds now) const noexcept {
    filter::WindowState state = lane.ops->window(lane.filter, *lane.ageing, now);
    if (lane.repeats != nullptr) {
        filter::shorten(state, lane.repeats->kept(), now);
    }
    return state;
}

// A filter may have changed its place: its turns go with it.
void Lanes::adopt(const LanesSetup& setup, unsigned polls) noexcept {
    const Presence presence = presence_;
    const auto exchanged = exchanged_;
    for (unsigned i = 0; i < kMaxFilters; ++i) {
        const void* const filter = setup.lanes[i].filter;
        const bool same = filter == setup_.lanes[i].filter;
        if ((setup.goes_on >> i & 1) == 0) {
            if (!same) {
                counted_before_[i] = {};
                repeats_before_[i] = {};
                counters_.tunnels[i] = {};
                counters_.roots[i] = {};
            }
        } else if (!same) {
            counted_before_[i] = counted(i);          // planted: reload-resets-counter
            repeats_before_[i] = repeats_counted(i);  // planted: rule-reload-resets-counters
        }
        Presence::Turns turns;
        exchanged_[i] = 0;
        for (unsigned was = 0; filter != nullptr && was < setup_.count; ++was) {
            if (setup_.lanes[was].filter == filter) {
                turns = presence.turns_of(was);
                exchanged_[i] = exchanged[was];
            }
        }
        presence_.set_turns(i, turns);
        samples_[i] =
            setup.audits[i] == nullptr ? filter::AuditSample{} : setup.audits[i]->sample();
    }
    setup_ = setup;
    presence_.adopt(presence_of(setup_, polls));
    point_to_those_before();
}

std::uint64_t Lanes::turns(unsigned filter) noexcept {
    return presence_.turns(filter, setup_.filters[filter]->turns.load(std::memory_order_acquire));
}

void Lanes::maintain() noexcept {
    if (setup_.worker_time != nullptr) [[unlikely]] {
        setup_.worker_time->store(presence_.time(), std::memory_order_relaxed);
    }
    const bool look = counters_.polls % kExchangeInterval == 0;
    for (unsigned i = 0; i < setup_.count; ++i) {
        const Lane& lane = setup_.lanes[i];
        if (lane.ops == nullptr) [[unlikely]] {
            continue;
        }
        if (lane.ops->maintain != nullptr) {
            lane.ops->maintain(lane.filter);
        }
        const std::uint64_t published = turns(i);
        if (!common_.capture_clock && lane.ageing->owes(published)) {
            lane.ops->advance(lane.filter, *lane.ageing, {presence_.time(), published});
        }
        if (setup_.roots[i] != nullptr) [[unlikely]] {
            learn(i, {presence_.time(), published});
        }
        if (look || lane.ageing->generation() != exchanged_[i]) {
            exchanged_[i] = lane.ageing->generation();
            exchange_segments(i);
        }
    }
}

void Lanes::exchange_segments(unsigned lane) noexcept {
    filter::SegmentRing* segments = setup_.lanes[lane].ops->segments(setup_.lanes[lane].filter);
    if (segments == nullptr) {
        return;
    }
    LaneShared& shared = *setup_.shared[lane];
    shared.early_turns.store(setup_.lanes[lane].ageing->early_turns(), std::memory_order_relaxed);
    while (const auto retired = segments->take_retired()) {
        // Room for every segment there is: kSegments is above k + l + spares.
        [[maybe_unused]] const bool pushed = shared.retired.push(*retired);
        UNECHO_ASSERT(pushed);
    }
    std::uint16_t id = 0;
    while (shared.zeroed.pop(id)) {
        segments->supply_zeroed(id);
    }
}

void Lanes::tell_time(Burst& burst, FilterIndex filter, PortIndex from) noexcept {
    PacketClock& clock = packet_clocks_[filter];
    for (unsigned i = 0; i < burst.count; ++i) {
        const std::uint64_t epochs = clock.epochs();
        burst.times[i] = clock.at(burst.times[i]);
        ++packets_timed_;
        if (clock.epochs() != epochs && counters_.epochs++ == 0) [[unlikely]] {
            counters_.first_epoch = {packets_timed_, clock.last_step(), from};
        }
    }
}

void Lanes::decide(Burst& burst, FilterIndex filter) noexcept {
    const Lane& lane = setup_.lanes[filter];
    note_ports(burst, lane);
    if (common_.capture_clock) {
        decide_timed(burst, lane);
        audit(burst, filter, 0);
        return;
    }
    const Receipt now = receipt(filter);
    if (lane.before != nullptr) [[unlikely]] {
        const Lane& before = *lane.before;
        before.ops->advance(before.filter, *before.ageing,
                            {now.published.now, turns(setup_.before[filter])});
    }
    if (setup_.roots[filter] != nullptr) [[unlikely]] {
        const std::uint64_t unseen = this->unseen(burst, filter, now);
        pipeline::decide(burst, lane, now.published);
        close(burst, filter, now);
        ask(burst, filter, unseen);
        return;
    }
    pipeline::decide(burst, lane, now.published);
    close(burst, filter, now);
}

// --- a root that sites share -------------------------------------------------------------------

// A filter that is being warmed knows a flow when the one before it does.
std::uint64_t Lanes::unseen(const Burst& burst, FilterIndex filter,
                            const Receipt& receipt) noexcept {
    const Lane& lane = setup_.lanes[filter];
    lane.ops->advance(lane.filter, *lane.ageing, receipt.published);
    const auto holds = [](const Lane& one, Digest digest) noexcept {
        return one.ops->held(one.filter, filter::first_slot(digest, 0, one.first), 1) != 0;
    };
    std::uint64_t out = 0;
    pipeline::for_each_bit(burst.keys.keyed, [&](unsigned i) {
        const Digest digest = burst.digests[i];
        const bool seen =
            holds(lane, digest) || (lane.before != nullptr && holds(*lane.before, digest));
        out |= std::uint64_t{!seen} << i;
    });
    return out;
}

// Once for a flow, also where a burst begins with several of its packets: the root would know the
// second by the first.
void Lanes::ask(const Burst& burst, FilterIndex filter, std::uint64_t unseen) noexcept {
    if (unseen == 0) {
        return;
    }
    std::array<Digest, kMaxBurst> shared;
    digest_elsewhere(burst, setup_.lanes[filter].key, *setup_.root_secrets[filter], shared);
    std::array<Digest, kMaxBurst> flows;
    std::size_t n = 0;
    pipeline::for_each_bit(unseen, [&](unsigned i) {
        const Digest flow = burst.digests[i];
        if (std::find(flows.begin(), flows.begin() + n, flow) != flows.begin() + n) {
            return;
        }
        flows[n++] = flow;
        const bool asked = setup_.roots[filter]->asks.push({flow, shared[i]});
        ++(asked ? counters_.roots[filter].asked : counters_.roots[filter].not_asked);
    });
}

// All slots of a flow that is known elsewhere are taken, as if its first packets had been seen
// here.
void Lanes::learn(FilterIndex filter, filter::Published published) noexcept {
    constexpr unsigned kAtOnce = 32;
    const Lane& lane = setup_.lanes[filter];
    Digest flow = 0;
    for (unsigned n = 0; n < kAtOnce && setup_.roots[filter]->known.pop(flow); ++n) {
        lane.ops->advance(lane.filter, *lane.ageing, published);
        const auto passed =
            static_cast<unsigned>(std::popcount(lane.ops->held(lane.filter, flow, lane.first)));
        counters_.roots[filter].learned++;
        counters_.roots[filter].late += passed;
        for (unsigned slot = passed; slot < lane.first; ++slot) {
            lane.ops->test(lane.filter, *lane.ageing, {&flow, 1}, published, lane.first, nullptr);
        }
        if (setup_.audits[filter] != nullptr) {
            setup_.audits[filter]->audit().learn(flow, published.now);
        }
    }
}

void Lanes::decide_prepared(Burst& burst, FilterIndex filter, const Receipt& receipt,
                            const pipeline::Ahead& ahead, pipeline::Ahead* next) noexcept {
    const Lane& lane = setup_.lanes[filter];
    note_ports(burst, lane);
    pipeline::decide_prepared(burst, lane, receipt.published, ahead, next);
    close(burst, filter, receipt);
}

void Lanes::close(const Burst& burst, FilterIndex filter, const Receipt& receipt) noexcept {
    if (receipt.late) [[unlikely]] {
        counters_.late_echoes += static_cast<unsigned>(std::popcount(burst.echoes));
    }
    audit(burst, filter, receipt.published.now);
    // What a filter has to visit grows with its packets, of which a poll may take several bursts.
    const Lane& lane = setup_.lanes[filter];
    if (lane.ops->maintain != nullptr) {
        lane.ops->maintain(lane.filter);
    }
}

// Of few bursts.
void Lanes::look(const Burst& burst, FilterIndex filter, std::uint64_t sampled,
                 Nanoseconds now) noexcept {
    const Lane& lane = setup_.lanes[filter];
    std::array<PortIndex, kMaxBurst> ports;
    pipeline::for_each_bit(sampled, [&](unsigned i) { ports[i] = port_of(burst, i); });
    filter::AuditState state;
    state.first = common_.capture_clock ? burst.times[0] : now;
    state.last = common_.capture_clock ? burst.times[burst.count - 1] : state.first;
    state.window = window_of(lane, state.last);
    state.counters = lane.ops->counters(lane.filter);
    state.stalls = presence_.counted();
    state.stall = presence_.counted_gap();
    setup_.audits[filter]->look(burst, sampled, ports, state, common_.capture_clock);
    samples_[filter] = setup_.audits[filter]->sample();
}

void Lanes::report(WorkerShared& shared) noexcept {
    counters_.longest_gap = presence_.longest_gap();
    counters_.gaps = presence_.gaps();  // planted: report-resets-counter
    for (unsigned i = 0; i < setup_.count; ++i) {
        const Lane& lane = setup_.lanes[i];
        if (lane.ops == nullptr) {
            continue;
        }
        const PacketClock& clock = packet_clocks_[i];
        const Nanoseconds now = common_.capture_clock ? clock.now() : presence_.time();
        shared.filters[i] = counted(i);
        shared.repeats[i] = repeats_counted(i);  // planted: rule-report-skips-counters
        filter::WindowState& window = shared.windows[i];
        window = window_of(lane, now);
        const Nanoseconds start = common_.capture_clock ? clock.start() : begun_;
        window.shortest_at -= std::min(start, window.shortest_at);
        shared.fills[i] = lane.ops->fill(lane.filter, *lane.ageing);
        if (setup_.audits[i] != nullptr) {
            shared.audits[i] = setup_.audits[i]->totals();
        }
    }
    if (setup_.crossings != nullptr) {
        shared.crossings = *setup_.crossings;
    }
    if (setup_.answers != nullptr) {
        shared.answers = *setup_.answers;
    }
}

}  // namespace unecho::dataplane
