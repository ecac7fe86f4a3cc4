// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/worker.h"

#include <algorithm>

#include "base/assert.h"
#include "dedup/pipeline/bits.h"

namespace unecho::dataplane {
namespace {

using pipeline::FilterContext;
using pipeline::first_bits;
using pipeline::Reason;
using pipeline::ReasonMask;

// Bursts that one poll takes, over all queues that return whole ones. Each queue may give one in
// any case.
constexpr unsigned kMaxBursts = 8;

// The number of digests of the pending burst that are prefetched at each of four points in the life
// of the next burst. Those that were prefetched while an earlier burst was decided are left out.
constexpr unsigned kAtOnce = 8;

// Return how many polls empty the longest queue or ring.
unsigned polls_to_empty(const WorkerSetup& setup) noexcept {
    unsigned most = 1;
    for (const RxQueue& source : setup.receive.sources) {
        most = std::max(most, source.descriptors);
    }
    for (const Rings* rings : {&setup.steering.in, &setup.transmit.in}) {
        for (const rte_ring* ring : *rings) {
            most = ring == nullptr ? most : std::max(most, rte_ring_get_capacity(ring));
        }
    }
    return (most + setup.common.burst - 1) / setup.common.burst;
}

}  // namespace

Worker::Worker(const WorkerSetup& setup) noexcept
    : common_(setup.common),
      routes_(setup.routes),
      scratch_(setup.scratch),
      shared_(*setup.report.shared),
      live_(setup.receive, common_),
      merged_(setup.receive, setup.merge, common_),
      steering_(setup.steering, common_, counters_),
      filters_(setup.filters, polls_to_empty(setup), common_, counters_),
      transmitter_(setup.transmit, common_, counters_),
      profiler_(setup.profiler, common_, counters_, shared_.stalls, shared_.stage),
      reporter_(setup.report, common_, counters_, filters_, profiler_),
      names_ports_(steering_.applies() || reporter_.reports_flows()),
      waits_for_room_(common_.capture_clock && setup.steering.workers > 1),
      most_at_once_(common_.burst * setup.steering.workers) {
    UNECHO_ASSERT(common_.burst >= 1 && common_.burst <= kMaxBurst && common_.secret != nullptr);
    UNECHO_ASSERT(common_.capture_clock || !steering_.applies() ||
                  setup.receive.backlog.size() >= setup.receive.sources.size());
    UNECHO_ASSERT(!common_.capture_clock ||
                  (setup.merge.ahead.size() == setup.receive.sources.size() &&
                   setup.merge.memory.size() == setup.receive.sources.size()));
}

void Worker::begin() noexcept {
    const Nanoseconds now = common_.clock.now();
    filters_.begin(now);
    profiler_.begin(now);
}

void Worker::run() noexcept {
    begin();
    while (shared_.phase.load(std::memory_order_acquire) != Phase::kStopped) {
        poll_once();
    }
    reporter_.answer();
}

unsigned Worker::poll_once() noexcept {
    const bool running = shared_.phase.load(std::memory_order_acquire) == Phase::kRunning;
    begin_poll();
    reporter_.end_windows();
    filters_.maintain();
    PollResult taken;
    if (has_room()) {
        steering_.prefetch();
        taken.add(receive(running));
        taken.add(take_steered());
        finish_pending();
    }
    profiler_.enter(Stage::kTransmit);
    taken.add(transmitter_.dequeue());
    profiler_.enter(Stage::kReport);
    profiler_.end_poll(taken);
    filters_.end_poll(taken);
    counters_.polls++;  // planted: worker-allocates, worker-takes-lock
    counters_.empty_polls += taken.packets == 0 ? 1 : 0;
    look_for_setup();
    reporter_.answer();
    return taken.packets;
}

// Do not time polls of captures: packets wait in the file, so no poll can come too late.
void Worker::begin_poll() noexcept {
    if (!common_.capture_clock) {
        const Nanoseconds now = common_.clock.now();
        filters_.begin_poll(now);
        profiler_.begin_poll(now);
    }
}

// --- another setup -----------------------------------------------------------------------------

// Each part keeps what it holds: counters, waiting packets, time, and the filters that both setups
// have. If the setup closes a source whose packets still wait, nothing is applied until they are
// gone. (model: tests/models/adopt.pml)
void Worker::apply_config(const WorkerSetup& setup) noexcept {
    if (!live_.can_apply_config(setup.receive)) {
        return;
    }
    routes_ = setup.routes;
    live_.apply_config(setup.receive);
    steering_.apply_config(setup.steering);
    filters_.apply_config(setup.filters, polls_to_empty(setup));
    transmitter_.apply_config(setup.transmit);
    profiler_.apply_config(setup.profiler);
    reporter_.apply_config(setup.report);
    names_ports_ = steering_.applies() || reporter_.reports_flows();
    applied_ = &setup;
    shared_.adopted.store(&setup, std::memory_order_release);
}

// --- receive -----------------------------------------------------------------------------------

PollResult Worker::receive(bool refill) noexcept {
    return common_.capture_clock ? receive_merged(refill) : receive_live(refill);
}

PollResult Worker::receive_live(bool refill) noexcept {
    PollResult taken;
    const std::size_t sources = live_.sources().size();
    // Rings to other workers hold one burst of each source and round.
    const std::size_t most = steering_.applies() || sources == 0 ? 1 : kMaxBursts / sources;
    for (std::size_t i = 0; i < sources; ++i) {
        Backlog* const backlog = live_.backlog(i);
        for (unsigned n = 1;; ++n) {
            profiler_.enter(Stage::kReceive);
            Burst& burst = next_->burst;
            const bool more = live_.receive(i, refill, burst);
            if (burst.count == 0) {
                break;
            }
            prefetch_pending();
            taken.packets += process_rx_burst(burst, live_.sources()[i], backlog);
            const bool refused = backlog != nullptr && backlog->count != 0;
            if (!more || refused || n >= most) {
                taken.more |= more || refused;
                break;
            }
        }
    }
    return taken;
}

PollResult Worker::receive_merged(bool refill) noexcept {
    Burst& burst = next_->burst;
    profiler_.enter(Stage::kReceive);
    const RxQueue* source = merged_.receive(refill, burst);
    if (source == nullptr) {
        return {};
    }
    filters_.map_timestamps(burst, routes_[source->route].filter, source->index);
    return {process_rx_burst(burst, *source, nullptr), false};
}

// Process the packets that other workers received and steered here. Forward those unfiltered that
// their receivers marked so.
PollResult Worker::take_steered() noexcept {
    const auto room = [this]() -> Burst& { return next_->burst; };
    return steering_.dequeue(room, [this](Burst& burst, bool unfiltered) {
        look_for_setup();  // the receiver may use a route that is new to this worker
        profiler_.enter(Stage::kParse);
        prefetch_pending();
        burst.handed_in = true;
        view(burst, [&](Burst& part) {
            if (unfiltered) {
                finish_pending();
                send_unfiltered(part);
            } else {
                parse(part);
                filter_burst(part);
            }
        });
    });
}

// With the capture clock, packets wait in the file, so nothing is lost by not polling. One ring may
// take the whole burst, and behind it the steered packets of every other worker.
bool Worker::has_room() const noexcept {
    return !waits_for_room_ ||
           (steering_.has_room(most_at_once_) && transmitter_.has_room(most_at_once_));
}

// --- the life of a burst -----------------------------------------------------------------------

// Call each() for every part: scratch memory may not hold all frames at once.
template <typename Each>
void Worker::view(Burst& burst, Each each) noexcept {
    view_in_parts(burst, scratch_, each);
}

// Steer received packets to their owners, and decide those that this worker owns. Return how many
// continued; the others are in the backlog and not counted yet.
unsigned Worker::process_rx_burst(Burst& burst, const RxQueue& source, Backlog* backlog) noexcept {
    burst.route = source.route;
    burst.port = source.index;
    burst.handed_in = false;
    for (unsigned i = 0; names_ports_ && i < burst.count; ++i) {
        burst.mbufs[i]->port = source.port;  // not every driver sets it
    }
    PacketBytes on;
    profiler_.enter(Stage::kParse);
    view(burst, [&](Burst& part) {
        on.add(part.count, part.bytes);
        prefetch_pending();
        parse(part);
        if (steering_.applies()) {
            profiler_.enter(Stage::kSteer);
            const PacketBytes refused = steering_.steer(part, backlog);
            on.packets -= refused.packets;  // planted: backlog-counted-twice
            on.bytes -= refused.bytes;
        }
        if (part.count != 0) {
            filter_burst(part);
        }
    });
    counters_.rx[source.index].add(on.packets, on.bytes);
    counters_.received[source.route] += on.packets;
    counters_.bursts += on.packets != 0 ? 1 : 0;
    counters_.full_bursts += on.packets == common_.burst ? 1 : 0;
    return static_cast<unsigned>(on.packets);
}

// Parse once on each worker. Skip it where nobody needs the result: frame keys cover all bytes.
void Worker::parse(Burst& burst) noexcept {
    if (steering_.applies() || reporter_.reports_flows(burst.route) ||
        pipeline::needs_parsing(context_of(burst))) {
        pipeline::parse(burst, context_of(burst).key);
    } else {
        burst.opened.clear();
    }
    prefetch_pending();
}

void Worker::filter_burst(Burst& burst) noexcept {
    const FilterIndex filter = routes_[burst.route].filter;
    if (burst.opened.any()) {
        packet::count(burst.opened, counters_.tunnels[filter]);
    }
    profiler_.enter(Stage::kDigest);
    digest(burst);
    if (may_wait(burst)) {
        PendingBurst& flight = *next_;
        flight.arrival_time = filters_.arrival_time(filter);
        pipeline::prepare(burst, filters_[filter], flight.prefetched);
        if (pending_ != nullptr) {
            finish(*pending_, &flight);
        }
        pending_ = &flight;
        next_ = &flight == flights_.data() ? flights_.data() + 1 : flights_.data();
        prefetch_pending();
        return;
    }
    finish_pending();
    profiler_.enter(Stage::kDecide);
    filters_.decide(burst, filter);
    profiler_.enter(Stage::kTransmit);
    settle(burst);
}

// --- two bursts at a time ----------------------------------------------------------------------

// Frames in scratch memory cannot wait: the next burst's copies may overwrite them.
bool Worker::may_wait(const Burst& burst) const noexcept {
    return !common_.capture_clock && !burst.in_scratch && pipeline::can_prefetch(context_of(burst));
}

void Worker::prefetch_pending() noexcept {
    if (pending_ != nullptr) {
        pipeline::prefetch_lines(context_of(pending_->burst), pending_->prefetched, kAtOnce);
    }
}

// next: the burst behind it, which will wait; or null.
void Worker::finish(PendingBurst& flight, PendingBurst* next) noexcept {
    const FilterIndex filter = routes_[flight.burst.route].filter;
    const bool same = next != nullptr && routes_[next->burst.route].filter == filter;
    profiler_.enter(Stage::kDecide);
    filters_.decide_prepared(flight.burst, filter, flight.arrival_time, flight.prefetched,
                             same ? &next->prefetched : nullptr);
    profiler_.enter(Stage::kTransmit);
    settle(flight.burst);
}

// Flows are digested first, where they are reported. If the filter's key is the flow in both
// directions and nothing more, its digests are the same: engines::key_of() gives both the same
// tenant.
void Worker::digest(Burst& burst) noexcept {
    const packet::KeySpec& key = context_of(burst).key;
    if (reporter_.reports_flows(burst.route)) {
        pipeline::digest_flows(burst, key.flow_tenant, *common_.secret);
        reporter_.add_flows(burst);
        if (key.mode == packet::KeyMode::kFlowBidir && key.non_ip == packet::NonIp::kPass &&
            key.tags != packet::Tags::kCompare) {
            return;
        }
    }
    pipeline::digest(burst, key, *common_.secret);
}

void Worker::settle(Burst& burst) noexcept {
    const RouteContext& route = routes_[burst.route];
    const pipeline::Settlement settled = pipeline::settle(burst, route.on_echo);
    const std::uint64_t all = first_bits(burst.count);
    const std::uint64_t away = settled.away.mask;
    if (away == 0) {
        deliver_all(burst, settled.forward);
        return;
    }
    std::array<rte_mbuf*, kMaxBurst> some;
    std::array<rte_mbuf*, kMaxBurst> others;
    const unsigned n = part(burst, away, some, others);
    if (away != all) {
        transmitter_.deliver(burst, {others.data(), burst.count - n}, route.to, all & ~away,
                             settled.forward);
    }
    if (settled.away.reason == Reason::kEchoDiverted) {
        transmitter_.deliver(burst, {some.data(), n}, route.divert_to, away, {&settled.away, 1});
    } else {
        transmitter_.drop(burst, {some.data(), n}, settled.away);
    }
}

void Worker::deliver_all(Burst& burst, std::span<const ReasonMask> outcomes) noexcept {
    if (burst.count != 0) {
        transmitter_.deliver(burst, {burst.mbufs.data(), burst.count}, routes_[burst.route].to,
                             first_bits(burst.count), outcomes);
    }
}

void Worker::send_unfiltered(Burst& burst) noexcept {
    const ReasonMask overload{Reason::kOverload, first_bits(burst.count)};
    filters_.pass_by(routes_[burst.route].filter, burst.count);
    deliver_all(burst, {&overload, 1});
}

// --- the end -----------------------------------------------------------------------------------

void Worker::settle_leftovers() noexcept {
    const auto stop = [this](rte_mbuf* mbuf, RouteIndex route) {
        counters_.routes[route][static_cast<unsigned>(Reason::kStopped)].add(1, mbuf->pkt_len);
        rte_pktmbuf_free(mbuf);  // planted: shutdown-leaks-packets
    };
    const auto stop_received = [&](rte_mbuf* mbuf, const RxQueue& source) {
        counters_.rx[source.index].add(1, mbuf->pkt_len);
        counters_.received[source.route]++;
        stop(mbuf, source.route);
    };
    steering_.empty(stop);
    transmitter_.empty(stop);
    live_.empty(stop_received);
    merged_.empty(stop_received);
    reporter_.take_last_snapshot();
}

}  // namespace unecho::dataplane
