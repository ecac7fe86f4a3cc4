// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/filter_stage.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "dedup/pipeline/bits.h"
#include "filters/first_packets.h"

namespace unecho::dataplane {
namespace {

using pipeline::FilterContext;

// Polls between two exchanges. Zeroed segments come back from the control thread once a generation,
// so this is soon enough and costs nothing.
constexpr std::uint64_t kExchangeInterval = 256;

// The shortest window decides how long an absence is too long.
StallTolerantClockSpec clock_spec_of(const FilterStageSetup& setup, unsigned polls) noexcept {
    Nanoseconds window = ~Nanoseconds{0};
    for (unsigned i = 0; i < setup.count; ++i) {
        if (setup.contexts[i].ops != nullptr) {
            window = std::min(window, setup.contexts[i].window);
        }
    }
    return {StallTolerantClock::limit_for(window), window, polls};
}

}  // namespace

FilterStage::FilterStage(const FilterStageSetup& setup, unsigned polls,
                         const WorkerParameters& common, Counters& counters) noexcept
    : setup_(setup),
      common_(common),
      counters_(counters),
      judged_time_(clock_spec_of(setup, polls)) {
    for (unsigned i = 0; common.capture_clock && i < setup.count; ++i) {
        packet_clocks_[i] = PacketClock::for_window(setup.contexts[i].window);
    }
    for (unsigned i = 0; i < setup.count; ++i) {
        if (setup.audits[i] != nullptr) {
            samples_[i] = setup.audits[i]->sample();
        }
    }
    link_predecessors();
    start_points({});
}

void FilterStage::start_points(const FilterStageSetup& before) noexcept {
    for (unsigned i = 0; i < setup_.count; ++i) {
        if (notes_points(i) && setup_.audits[i] != before.audits[i]) {
            setup_.contexts[i].ops->start_points(setup_.contexts[i].filter);
        }
    }
}

void FilterStage::link_predecessors() noexcept {
    for (unsigned i = 0; i < setup_.count; ++i) {
        const FilterIndex before = setup_.before[i];
        // planted: warm-up-skips-predecessor
        setup_.contexts[i].before =
            before == FilterStageSetup::kNoFilter ? nullptr : &setup_.contexts[before];
        // Evidence that the predecessor's rule needs is found once for both.
        if (before != FilterStageSetup::kNoFilter) {
            setup_.contexts[i].key.evidence |= setup_.contexts[before].key.evidence;
        }
    }
}

filter::FilterCounters FilterStage::counted(unsigned context) const noexcept {
    filter::FilterCounters sum = counted_before_[context];
    if (setup_.contexts[context].ops != nullptr) {
        fold(filter::kFilterCounters,
             setup_.contexts[context].ops->counters(setup_.contexts[context].filter), sum);
    }
    return sum;
}

filter::RepeatCounters FilterStage::repeats_counted(unsigned context) const noexcept {
    filter::RepeatCounters sum = repeats_before_[context];
    if (setup_.contexts[context].repeats != nullptr) {
        fold(filter::kRepeatCounters, setup_.contexts[context].repeats->counters(), sum);
    }
    return sum;
}

// Return the achieved window of the filter, or that of the union rule if it is shorter.
filter::WindowState FilterStage::window_of(const FilterContext& context,
                                           Nanoseconds now) const noexcept {
    filter::WindowState state = context.ops->window(context.filter, *context.ageing, now);
    if (context.repeats != nullptr) {
        filter::shorten(state, context.repeats->kept(), now);
    }
    return state;
}

// A filter may have moved to another index: its turns move with it.
void FilterStage::apply_config(const FilterStageSetup& setup, unsigned polls) noexcept {
    const StallTolerantClock presence = judged_time_;
    const auto exchanged = exchanged_;
    for (unsigned i = 0; i < kMaxFilters; ++i) {
        const void* const filter = setup.contexts[i].filter;
        const bool same = filter == setup_.contexts[i].filter;
        if ((setup.keep_counters_mask >> i & 1) == 0) {
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
        StallTolerantClock::Turns turns;
        exchanged_[i] = 0;
        for (unsigned was = 0; filter != nullptr && was < setup_.count; ++was) {
            if (setup_.contexts[was].filter == filter) {
                turns = presence.turns_of(was);
                exchanged_[i] = exchanged[was];
            }
        }
        judged_time_.set_turns(i, turns);
        samples_[i] =
            setup.audits[i] == nullptr ? filter::AuditSample{} : setup.audits[i]->sample();
    }
    const FilterStageSetup before = setup_;
    setup_ = setup;
    start_points(before);
    judged_time_.apply_config(clock_spec_of(setup_, polls));
    link_predecessors();
}

std::uint64_t FilterStage::turns(unsigned filter) noexcept {
    return judged_time_.turns(filter,
                              setup_.filters[filter]->turns.load(std::memory_order_acquire));
}

void FilterStage::maintain() noexcept {
    if (setup_.worker_time != nullptr) [[unlikely]] {
        setup_.worker_time->store(judged_time_.time(), std::memory_order_relaxed);
    }
    const bool inspect = counters_.polls % kExchangeInterval == 0;
    for (unsigned i = 0; i < setup_.count; ++i) {
        const FilterContext& context = setup_.contexts[i];
        if (context.ops == nullptr) [[unlikely]] {
            continue;
        }
        if (context.ops->maintain != nullptr) {
            context.ops->maintain(context.filter);
        }
        const std::uint64_t published = turns(i);
        if (!common_.capture_clock && context.ageing->has_pending_turn(published)) {
            context.ops->advance(context.filter, *context.ageing, {judged_time_.time(), published});
        }
        if (setup_.roots[i] != nullptr) [[unlikely]] {
            learn(i, {judged_time_.time(), published});
        }
        if (inspect && setup_.audits[i] != nullptr && !common_.capture_clock) {
            setup_.audits[i]->maintain(judged_time_.time());
            if (notes_points(i)) {  // what expires while no packet comes is counted, too
                context.ops->advance(context.filter, *context.ageing,
                                     {judged_time_.time(), published});
            }
        }
        if (inspect || context.ageing->generation() != exchanged_[i]) {
            exchanged_[i] = context.ageing->generation();
            exchange_segments(i);
        }
    }
}

void FilterStage::exchange_segments(unsigned context) noexcept {
    filter::SegmentRing* segments =
        setup_.contexts[context].ops->segments(setup_.contexts[context].filter);
    if (segments == nullptr) {
        return;
    }
    WorkerFilterShared& shared = *setup_.shared[context];
    shared.early_turns.store(setup_.contexts[context].ageing->early_turns(),
                             std::memory_order_relaxed);
    while (const auto retired = segments->take_retired()) {
        // Always fits: kSegments is larger than k + l + spares.
        [[maybe_unused]] const bool pushed = shared.retired.push(*retired);
        UNECHO_ASSERT(pushed);
    }
    std::uint16_t id = 0;
    while (shared.zeroed.pop(id)) {
        segments->supply_zeroed(id);
    }
}

void FilterStage::map_timestamps(Burst& burst, FilterIndex filter, PortIndex from) noexcept {
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

void FilterStage::decide(Burst& burst, FilterIndex filter) noexcept {
    const FilterContext& context = setup_.contexts[filter];
    note_ports(burst, context);
    if (common_.capture_clock) {
        decide_timed(burst, context);
        note_points(burst, filter);
        audit(burst, filter, {});
        return;
    }
    const ArrivalTime now = arrival_time(filter);
    if (context.before != nullptr) [[unlikely]] {
        const FilterContext& before = *context.before;
        before.ops->advance(before.filter, *before.ageing,
                            {now.published.now, turns(setup_.before[filter])});
    }
    if (setup_.roots[filter] != nullptr) [[unlikely]] {
        const std::uint64_t unseen = this->unseen(burst, filter, now);
        pipeline::decide(burst, context, now.published);
        close(burst, filter, now);
        ask(burst, filter, unseen);
        return;
    }
    pipeline::decide(burst, context, now.published);
    close(burst, filter, now);
}

// --- the shared flow store ---------------------------------------------------------------------

// A filter that is being warmed has seen a flow if its predecessor has.
std::uint64_t FilterStage::unseen(const Burst& burst, FilterIndex filter,
                                  const ArrivalTime& arrival_time) noexcept {
    const FilterContext& context = setup_.contexts[filter];
    context.ops->advance(context.filter, *context.ageing, arrival_time.published);
    const auto holds = [](const FilterContext& one, Digest digest) noexcept {
        return one.ops->known_slots(one.filter, filter::first_slot(digest, 0, one.first), 1) != 0;
    };
    std::uint64_t out = 0;
    pipeline::for_each_bit(burst.keys.keyed, [&](unsigned i) {
        const Digest digest = burst.digests[i];
        const bool seen =
            holds(context, digest) || (context.before != nullptr && holds(*context.before, digest));
        out |= std::uint64_t{!seen} << i;
    });
    return out;
}

// Query a flow once, even if the burst begins with several of its packets: otherwise the store
// would know the second by the first.
void FilterStage::ask(const Burst& burst, FilterIndex filter, std::uint64_t unseen) noexcept {
    if (unseen == 0) {
        return;
    }
    std::array<Digest, kMaxBurst> shared;
    digest_with_secret(burst, setup_.contexts[filter].key, *setup_.root_secrets[filter], shared);
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

// Insert all slots of each flow that is known elsewhere, as if its first packets had been seen
// here.
void FilterStage::learn(FilterIndex filter, filter::TimerSnapshot published) noexcept {
    constexpr unsigned kAtOnce = 32;
    const FilterContext& context = setup_.contexts[filter];
    Digest flow = 0;
    for (unsigned n = 0; n < kAtOnce && setup_.roots[filter]->known.pop(flow); ++n) {
        context.ops->advance(context.filter, *context.ageing, published);
        const auto passed = static_cast<unsigned>(
            std::popcount(context.ops->known_slots(context.filter, flow, context.first)));
        counters_.roots[filter].learned++;
        counters_.roots[filter].late += passed;
        for (unsigned slot = passed; slot < context.first; ++slot) {
            context.ops->test(context.filter, *context.ageing, {&flow, 1}, published, context.first,
                              nullptr);
        }
        if (setup_.audits[filter] != nullptr) {
            setup_.audits[filter]->audit().learn(flow, published.now);
        }
    }
}

void FilterStage::decide_prepared(Burst& burst, FilterIndex filter, const ArrivalTime& arrival_time,
                                  const pipeline::PrefetchedBurst& ahead,
                                  pipeline::PrefetchedBurst* next) noexcept {
    const FilterContext& context = setup_.contexts[filter];
    note_ports(burst, context);
    pipeline::decide_prepared(burst, context, arrival_time.published, ahead, next);
    close(burst, filter, arrival_time);
}

void FilterStage::close(const Burst& burst, FilterIndex filter,
                        const ArrivalTime& arrival_time) noexcept {
    if (arrival_time.late) [[unlikely]] {
        counters_.late_echoes += static_cast<unsigned>(std::popcount(burst.echoes));
    }
    note_points(burst, filter);
    audit(burst, filter, arrival_time);
    // Upkeep grows with the packets, and one poll may take several bursts.
    const FilterContext& context = setup_.contexts[filter];
    if (context.ops->maintain != nullptr) {
        context.ops->maintain(context.filter);
    }
}

void FilterStage::note_points(const Burst& burst, FilterIndex filter) const noexcept {
    if (!notes_points(filter)) [[likely]] {
        return;
    }
    const pipeline::PathTable& paths = *setup_.audits[filter]->paths();
    std::array<Digest, kMaxBurst> digests;
    std::array<std::uint8_t, kMaxBurst> points;
    unsigned n = 0;
    pipeline::for_each_bit(burst.filtered(), [&](unsigned i) {
        digests[n] = burst.digests[i];
        points[n++] = paths.bit_of(port_of(burst, i));
    });
    const FilterContext& context = setup_.contexts[filter];
    context.ops->note_points(context.filter, {digests.data(), n}, {points.data(), n});
}

// A packet that another worker received may have waited there, too.
void FilterStage::inspect(const Burst& burst, FilterIndex filter, std::uint64_t sampled,
                          const ArrivalTime& arrival) noexcept {
    constexpr Nanoseconds kMostHandOver = kMillisecond;
    const Nanoseconds now = arrival.published.now;
    pipeline::ArrivalInterval interval{arrival.earliest, arrival.clock};
    if (burst.handed_in) {
        interval.earliest =
            std::min(interval.earliest, interval.latest - std::min(interval.latest, kMostHandOver));
    }
    const FilterContext& context = setup_.contexts[filter];
    std::array<PortIndex, kMaxBurst> ports;
    pipeline::for_each_bit(sampled, [&](unsigned i) { ports[i] = port_of(burst, i); });
    filter::AuditState state;
    state.first = common_.capture_clock ? burst.times[0] : now;
    state.last = common_.capture_clock ? burst.times[burst.count - 1] : state.first;
    state.window = window_of(context, state.last);
    state.counters = context.ops->counters(context.filter);
    state.stalls = judged_time_.counted();
    state.stall = judged_time_.counted_gap();
    setup_.audits[filter]->inspect(burst, sampled, ports, state, common_.capture_clock, interval);
    samples_[filter] = setup_.audits[filter]->sample();
}

void FilterStage::report(WorkerShared& shared) noexcept {
    counters_.longest_gap = judged_time_.longest_gap();
    counters_.gaps = judged_time_.gaps();  // planted: report-resets-counter
    for (unsigned i = 0; i < setup_.count; ++i) {
        const FilterContext& context = setup_.contexts[i];
        if (context.ops == nullptr) {
            continue;
        }
        const PacketClock& clock = packet_clocks_[i];
        const Nanoseconds now = common_.capture_clock ? clock.now() : judged_time_.time();
        shared.filters[i] = counted(i);
        shared.repeats[i] = repeats_counted(i);  // planted: rule-report-skips-counters
        filter::WindowState& window = shared.windows[i];
        window = window_of(context, now);
        const Nanoseconds start = common_.capture_clock ? clock.start() : begun_;
        window.shortest_at -= std::min(start, window.shortest_at);
        shared.fills[i] = context.ops->fill(context.filter, *context.ageing);
        if (setup_.audits[i] != nullptr) {
            shared.audits[i] = setup_.audits[i]->totals();
        }
        if (notes_points(i)) {
            setup_.audits[i]->paths()->set_all(context.ops->forgotten(context.filter));
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
