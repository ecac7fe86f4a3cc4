// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/worker.h"

#include <algorithm>
#include <bit>

#include <rte_cycles.h>
#include <rte_mbuf_dyn.h>

#include "base/assert.h"
#include "pipeline/bits.h"

namespace unecho::dataplane {
namespace {

using pipeline::deposit_bits;
using pipeline::first_bits;
using pipeline::for_each_bit;
using pipeline::Lane;
using pipeline::Outcome;
using pipeline::Reason;

// Zeroed segments come back from the control thread once a generation; looking for them every few
// hundred polls is soon enough and costs nothing.
constexpr std::uint64_t kExchangeInterval = 256;

TxTag* tag_of(rte_mbuf* mbuf, int offset) noexcept {
    return RTE_MBUF_DYNFIELD(mbuf, offset, TxTag*);
}

rte_mbuf_timestamp_t& timestamp_of(rte_mbuf* mbuf, int offset) noexcept {
    return *RTE_MBUF_DYNFIELD(mbuf, offset, rte_mbuf_timestamp_t*);
}

// Captures wait: nothing else presses, and what is not taken now is still in the file.
bool all_have_room(std::span<rte_ring* const> rings, unsigned packets) noexcept {
    return std::all_of(rings.begin(), rings.end(), [&](rte_ring* ring) {
        return ring == nullptr || rte_ring_free_count(ring) >= packets;
    });
}

// The shortest window says when the worker was away too long, the longest queue when all that
// waited is through.
PresenceSpec presence_of(const WorkerSetup& setup) noexcept {
    Nanoseconds window = ~Nanoseconds{0};
    for (unsigned i = 0; i < setup.filters; ++i) {
        window = std::min(window, setup.lanes[i].window);
    }
    unsigned most = 1;
    for (const RxSource& source : setup.sources) {
        most = std::max(most, source.descriptors);
    }
    for (const auto* rings : {&setup.steer_in, &setup.tx_in}) {
        for (const rte_ring* ring : *rings) {
            most = ring == nullptr ? most : std::max(most, rte_ring_get_capacity(ring));
        }
    }
    return {Presence::limit_for(window), window, (most + setup.burst - 1) / setup.burst};
}

unsigned gather(const Burst& burst, std::uint64_t mask,
                std::array<rte_mbuf*, kMaxBurst>& out) noexcept {
    unsigned n = 0;
    for_each_bit(mask, [&](unsigned i) { out[n++] = burst.mbufs[i]; });
    return n;
}

SteeringSetup steering_of(const WorkerSetup& setup) noexcept {
    return {.by_ring = setup.steer_by_ring,
            .card = setup.card,
            .workers = setup.workers,
            .self = setup.self,
            .sheds = !setup.capture_clock,
            .out = setup.steer_out,
            .secret = setup.secret};
}

}  // namespace

Worker::Worker(const WorkerSetup& setup) noexcept
    : setup_(setup), steering_(steering_of(setup)), presence_(presence_of(setup)) {
    UNECHO_ASSERT(setup.burst >= 1 && setup.burst <= kMaxBurst);
    UNECHO_ASSERT(setup.shared != nullptr && setup.secret != nullptr);
    UNECHO_ASSERT(!steering_.applies() || setup.staging.size() == setup.sources.size());
    if (setup.capture_clock) {
        for (unsigned i = 0; i < setup.filters; ++i) {
            packet_clocks_[i] = PacketClock::for_window(setup.lanes[i].window);
        }
        for (std::size_t i = 0; setup.sources.size() > 1 && i < setup.sources.size(); ++i) {
            const RouteContext& route = setup.routes[setup.route_of[setup.sources[i].port]];
            setup.staging[i].clock = MergeClock(epoch_jump(setup.lanes[route.filter].window));
        }
    }
}

void Worker::run() noexcept {
    presence_.begin(setup_.clock.now());
    while (setup_.shared->phase.load(std::memory_order_acquire) != Phase::kStopped) {
        poll_once();
    }
    answer_snapshot();
}

unsigned Worker::poll_once() noexcept {
    const bool running = setup_.shared->phase.load(std::memory_order_acquire) == Phase::kRunning;
    if (!setup_.capture_clock) {
        presence_.begin_poll(setup_.clock.now());
    }
    full_ = false;
    keep_house();
    unsigned taken = 0;
    const bool wait = setup_.capture_clock && !room_downstream();
    if (setup_.capture_clock && !wait) {
        taken += receive_merged(running);
    } else if (!setup_.capture_clock) {
        taken += receive_live(running);
    }
    if (setup_.workers > 1) {
        taken += wait ? 0 : take_steered();
        taken += take_transmits();
    }
    presence_.end_poll(taken, !full_);
    counters_.polls++;
    counters_.empty_polls += taken == 0 ? 1 : 0;
    answer_snapshot();
    return taken;
}

bool Worker::room_downstream() const noexcept {
    if (setup_.workers == 1) {
        return true;
    }
    // A burst may go through any one ring, and steered packets of every other worker behind it.
    const unsigned most = setup_.burst * setup_.workers;
    return all_have_room(setup_.steer_out, most) &&
           std::all_of(setup_.tx.begin(), setup_.tx.end(), [&](const TxTarget& target) {
               return target.ring == nullptr || rte_ring_free_count(target.ring) >= most;
           });
}

// --- receive ---------------------------------------------------------------------------------

// What a full ring refused goes first: until it is gone, the source keeps what it has.
unsigned Worker::receive_live(bool refill) noexcept {
    unsigned taken = 0;
    Burst burst;
    Staging none;
    for (std::size_t i = 0; i < setup_.sources.size(); ++i) {
        const RxSource& source = setup_.sources[i];
        Staging& held = setup_.staging.empty() ? none : setup_.staging[i];
        burst.count = held.count - held.next;
        if (burst.count != 0) {
            // The queue itself is not looked at, so it counts as one with more in it.
            full_ = true;
            std::copy_n(held.mbufs.begin() + held.next, burst.count, burst.mbufs.begin());
            held.next = held.count = 0;
        } else if (refill) {
            burst.count = rte_eth_rx_burst(source.port, source.queue, burst.mbufs.data(),
                                           static_cast<std::uint16_t>(setup_.burst));
            full_ |= burst.count == setup_.burst;
        }
        if (burst.count != 0) {
            taken += begin(burst, source, held);
        }
    }
    return taken;
}

// Reads more of a source, as much as there is room for; false: there is no more.
bool Worker::stage(std::size_t source) noexcept {
    Staging& s = setup_.staging[source];
    std::copy(s.mbufs.begin() + s.next, s.mbufs.begin() + s.count, s.mbufs.begin());
    s.count -= s.next;
    s.next = 0;
    const unsigned most = std::min(setup_.burst, kMaxBurst - s.count);
    const unsigned got =
        rte_eth_rx_burst(setup_.sources[source].port, setup_.sources[source].queue,
                         s.mbufs.data() + s.count, static_cast<std::uint16_t>(most));
    s.count += got;
    return got != 0;
}

// When a source's next packet is due. The driver counts microseconds.
std::optional<Nanoseconds> Worker::due(std::size_t source, bool refill) noexcept {
    Staging& s = setup_.staging[source];
    const auto stamp = [&](unsigned i) {
        return timestamp_of(s.mbufs[s.next + i], setup_.timestamp_offset) * kMicrosecond;
    };
    if (s.next == s.count && !(refill && stage(source))) {
        return std::nullopt;
    }
    if (!s.due) {
        s.due = s.clock.due(stamp(0), [&](unsigned i) {
            while (s.next + i >= s.count) {
                if (!refill || !stage(source)) {
                    return std::optional<Nanoseconds>();
                }
            }
            return std::optional<Nanoseconds>(stamp(i));
        });
    }
    return s.due;
}

// Captures: the source whose next packet is due first gives packets until another one's is. Of
// equal times the first source goes first. A source that has nothing left is not waited for.
Worker::Turn Worker::next_turn(bool refill) noexcept {
    Turn turn;
    Nanoseconds first = ~Nanoseconds{0};
    for (std::size_t i = 0; i < setup_.sources.size(); ++i) {
        const std::optional<Nanoseconds> time = due(i, refill);
        if (!time) {
            continue;
        }
        if (!turn.source || *time < first) {
            if (turn.source) {
                turn.limit = first;
                turn.limit_first = true;
            }
            turn.source = i;
            first = *time;
        } else if (*time < turn.limit) {
            turn.limit = *time;
            turn.limit_first = false;
        }
    }
    return turn;
}

// From the packet's stamp to its filter's time, which goes on with steps back.
Nanoseconds Worker::packet_time(const RxSource& source, Nanoseconds stamp) noexcept {
    PacketClock& clock = packet_clocks_[setup_.routes[setup_.route_of[source.port]].filter];
    const std::uint64_t epochs = clock.epochs();
    const Nanoseconds now = clock.at(stamp);
    ++packets_timed_;
    if (clock.epochs() != epochs) [[unlikely]] {
        if (counters_.epochs++ == 0) {
            counters_.first_epoch = {packets_timed_, clock.last_step(), source.index};
        }
    }
    return now;
}

unsigned Worker::receive_merged(bool refill) noexcept {
    const Turn turn = next_turn(refill);
    if (!turn.source) {
        return 0;
    }
    const RxSource& source = setup_.sources[*turn.source];
    Staging& s = setup_.staging[*turn.source];
    Burst burst;
    while (s.next < s.count && burst.count < setup_.burst) {
        const Nanoseconds time = *due(*turn.source, refill);
        if (burst.count != 0 && (time > turn.limit || (time == turn.limit && turn.limit_first))) {
            break;
        }
        rte_mbuf* mbuf = s.mbufs[s.next++];
        s.due.reset();
        // From here on it is the pipeline's time.
        rte_mbuf_timestamp_t& stamp = timestamp_of(mbuf, setup_.timestamp_offset);
        stamp = packet_time(source, stamp * kMicrosecond);
        burst.times[burst.count] = stamp;
        burst.mbufs[burst.count++] = mbuf;
    }
    Staging none;
    const unsigned taken = begin(burst, source, none);
    UNECHO_ASSERT(none.count == 0);  // there is room downstream
    return taken;
}

// A burst from each ring, to handle(entries).
template <typename Rings, typename Handle>
unsigned Worker::take(const Rings& rings, Handle handle) noexcept {
    unsigned taken = 0;
    std::array<void*, kMaxBurst> entries;
    for (unsigned other = 0; other < setup_.workers; ++other) {
        if (rte_ring* ring = rings[other]) {
            const unsigned n =
                rte_ring_sc_dequeue_burst(ring, entries.data(), setup_.burst, nullptr);
            counters_.handed_in += n;
            taken += n;
            full_ |= n == setup_.burst;
            handle(std::span<void* const>(entries.data(), n));
        }
    }
    return taken;
}

// A ring mixes routes, and packets to filter with others; a burst is of one kind.
unsigned Worker::take_steered() noexcept {
    return take(setup_.steer_in, [this](std::span<void* const> entries) {
        for (std::size_t next = 0; next < entries.size();) {
            const Handed first = Handed::of(entries[next]);
            Burst burst;
            burst.route = setup_.route_of[first.mbuf->port];
            for (; next < entries.size(); ++next) {
                const Handed handed = Handed::of(entries[next]);
                if (setup_.route_of[handed.mbuf->port] != burst.route ||
                    handed.unfiltered != first.unfiltered) {
                    break;
                }
                if (setup_.capture_clock) {
                    burst.times[burst.count] = timestamp_of(handed.mbuf, setup_.timestamp_offset);
                }
                burst.mbufs[burst.count++] = handed.mbuf;
            }
            view_in_parts(burst, setup_.scratch, [&](Burst& part) {
                if (first.unfiltered) {
                    send_unfiltered(part);
                } else {
                    process(part);
                }
            });
        }
    });
}

// A ring mixes ports, too.
unsigned Worker::take_transmits() noexcept {
    return take(setup_.tx_in, [this](std::span<void* const> entries) {
        const auto mbuf_at = [&](std::size_t i) { return static_cast<rte_mbuf*>(entries[i]); };
        const auto tag_at = [&](std::size_t i) { return *tag_of(mbuf_at(i), setup_.tag_offset); };
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

void Worker::transmit_tagged(Burst& burst, std::span<const TxTag> tags, PortIndex to) noexcept {
    const Sent sent = send(burst, setup_.tx[to], first_bits(burst.count));
    for (unsigned i = 0; i < burst.count; ++i) {
        const bool lost = (sent.lost >> i & 1) != 0;
        const auto reason = lost ? Reason::kTxLost : static_cast<Reason>(tags[i].reason);
        counters_.routes[tags[i].route][static_cast<unsigned>(reason)].add(1, burst.lengths[i]);
        if (!lost) {
            counters_.tx[to].add(1, burst.lengths[i]);
        }
    }
}

// --- the life of a burst -----------------------------------------------------------------------

// How many packets went on; the others are in held, in order, and not counted yet.
unsigned Worker::begin(Burst& burst, const RxSource& source, Staging& held) noexcept {
    burst.route = setup_.route_of[source.port];
    if (steering_.applies() || setup_.reports != 0) {
        for (unsigned i = 0; i < burst.count; ++i) {
            burst.mbufs[i]->port = source.port;  // not every driver sets it
        }
    }
    unsigned begun = 0;
    view_in_parts(burst, setup_.scratch,
                  [&](Burst& part) { begun += begin_viewed(part, source, held); });
    counters_.bursts += begun != 0 ? 1 : 0;
    return begun;
}

unsigned Worker::begin_viewed(Burst& burst, const RxSource& source, Staging& held) noexcept {
    PacketBytes begun{burst.count, burst.bytes};
    if (steering_.applies()) {
        const PacketBytes refused = steer(burst, held);
        begun.packets -= refused.packets;
        begun.bytes -= refused.bytes;
    }
    counters_.rx[source.index].add(begun.packets, begun.bytes);
    if (burst.count != 0) {
        process(burst);
    }
    return static_cast<unsigned>(begun.packets);
}

// Leaves this worker's packets in the burst, and in held those that their owners' full rings
// refused; what these are together.
PacketBytes Worker::steer(Burst& burst, Staging& held) noexcept {
    // Behind what a part of the burst before had refused nothing may pass.
    const Steering::Split split = held.count == 0
                                      ? steering_.split(burst)
                                      : Steering::Split{.refused = first_bits(burst.count)};
    counters_.handed_out += static_cast<unsigned>(std::popcount(split.handed));
    PacketBytes refused;
    for_each_bit(split.refused, [&](unsigned i) {
        held.mbufs[held.count++] = burst.mbufs[i];
        refused.add(1, burst.lengths[i]);
    });
    keep(burst, split.mine);
    return refused;
}

void Worker::process(Burst& burst) noexcept {
    const RouteContext& route = setup_.routes[burst.route];
    const Lane& lane = setup_.lanes[route.filter];
    if (route.taps != nullptr) {
        for (unsigned i = 0; i < burst.count; ++i) {
            burst.taps[i] = setup_.tap_of[burst.mbufs[i]->port];
        }
        digest(burst, packet::KeyMode::kFlowBidir, *setup_.secret);
        report_flows(burst, *route.taps, setup_.capture_clock);
    }
    const bool flows_only =
        lane.key == packet::KeyMode::kFlowBidir && lane.non_ip == packet::NonIp::kPass;
    if (route.taps == nullptr || !flows_only) {
        digest(burst, lane.key, *setup_.secret, lane.non_ip);
    }
    if (setup_.capture_clock) {
        decide_timed(burst, lane);
    } else {
        decide(burst, lane, moment(route.filter));
        if (presence_.late(lane.remembered)) [[unlikely]] {
            counters_.late_echoes += static_cast<unsigned>(std::popcount(burst.echoes));
        }
    }
    settle(burst);
}

// Every packet of the burst to its fate, with exactly one reason each.
void Worker::settle(Burst& burst) noexcept {
    const RouteContext& route = setup_.routes[burst.route];
    const pipeline::Settlement settled = pipeline::settle(burst, route.on_echo);
    const std::uint64_t forward = first_bits(burst.count) & ~settled.away.mask;
    if (forward != 0) {
        deliver(burst, route.to, forward, settled.forward);
    }
    if (settled.away.mask == 0) {
        return;
    }
    if (settled.away.reason == Reason::kEchoDiverted) {
        deliver(burst, route.divert_to, settled.away.mask, {&settled.away, 1});
    } else {
        drop(burst, settled.away.mask);
        tally(burst, settled.away.reason, settled.away.mask);
    }
}

// What its receiver marked so, because this worker is behind.
void Worker::send_unfiltered(Burst& burst) noexcept {
    const std::uint64_t all = first_bits(burst.count);
    const std::array<Outcome, 1> overload{{{Reason::kOverload, all}}};
    deliver(burst, setup_.routes[burst.route].to, all, overload);
}

// The outcomes cover the mask; they are counted by who owns the tx queue.
void Worker::deliver(const Burst& burst, PortIndex to, std::uint64_t mask,
                     std::span<const Outcome> outcomes) noexcept {
    const TxTarget& target = setup_.tx[to];
    if (target.ring != nullptr) {
        for (const Outcome& outcome : outcomes) {
            tag(burst, to, outcome.mask, outcome.reason);
        }
    }
    const Sent sent = send(burst, target, mask);
    tally(burst, Reason::kTxLost, sent.lost);
    if (target.ring == nullptr) {
        for (const Outcome& outcome : outcomes) {
            tally(burst, outcome.reason, outcome.mask & sent.out);
        }
        for_each_bit(sent.out, [&](unsigned i) { counters_.tx[to].add(1, burst.lengths[i]); });
    }
}

// --- transmit ----------------------------------------------------------------------------------

Worker::Sent Worker::send(const Burst& burst, const TxTarget& target, std::uint64_t mask) noexcept {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    const unsigned n = gather(burst, mask, mbufs);
    unsigned sent = 0;
    if (target.ring == nullptr) {
        sent = transmit(target, mbufs.data(), n);
    } else {
        sent = enqueue(target.ring, mbufs.data(), n);
        counters_.handed_out += sent;
    }
    if (sent == n) {
        return {mask, 0};
    }
    rte_pktmbuf_free_bulk(mbufs.data() + sent, n - sent);
    const std::uint64_t out = deposit_bits(first_bits(sent), mask);
    return {out, mask & ~out};
}

// A full queue is tried again for a bounded time: a kept packet that is lost here would have its
// copy dropped as an echo.
unsigned Worker::transmit(const TxTarget& target, rte_mbuf** mbufs, unsigned n) noexcept {
    unsigned sent =
        rte_eth_tx_burst(target.port, target.queue, mbufs, static_cast<std::uint16_t>(n));
    if (sent == n) {
        return n;
    }
    const std::uint64_t start = rte_rdtsc();
    do {
        counters_.tx_retries++;
        sent += rte_eth_tx_burst(target.port, target.queue, mbufs + sent,
                                 static_cast<std::uint16_t>(n - sent));
    } while (sent < n && rte_rdtsc() - start < setup_.tx_retry_cycles);
    return sent;
}

unsigned Worker::enqueue(rte_ring* ring, rte_mbuf** mbufs, unsigned n) noexcept {
    unsigned sent = rte_ring_sp_enqueue_burst(ring, reinterpret_cast<void**>(mbufs), n, nullptr);
    if (sent == n) {
        return n;
    }
    const std::uint64_t start = rte_rdtsc();
    do {
        counters_.tx_retries++;
        sent += rte_ring_sp_enqueue_burst(ring, reinterpret_cast<void**>(mbufs + sent), n - sent,
                                          nullptr);
    } while (sent < n && rte_rdtsc() - start < setup_.tx_retry_cycles);
    return sent;
}

void Worker::tag(const Burst& burst, PortIndex to, std::uint64_t mask, Reason reason) noexcept {
    if (setup_.tag_offset < 0) {
        return;
    }
    const TxTag value{to, static_cast<std::uint8_t>(burst.route),
                      static_cast<std::uint8_t>(reason)};
    for_each_bit(mask, [&](unsigned i) { *tag_of(burst.mbufs[i], setup_.tag_offset) = value; });
}

void Worker::drop(const Burst& burst, std::uint64_t mask) noexcept {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    const unsigned n = gather(burst, mask, mbufs);
    rte_pktmbuf_free_bulk(mbufs.data(), n);
}

void Worker::tally(const Burst& burst, Reason reason, std::uint64_t mask) noexcept {
    if (mask == 0) {
        return;
    }
    std::uint64_t bytes = 0;
    for_each_bit(mask, [&](unsigned i) { bytes += burst.lengths[i]; });
    counters_.routes[burst.route][static_cast<unsigned>(reason)].add(
        static_cast<unsigned>(std::popcount(mask)), bytes);
}

// --- time and control --------------------------------------------------------------------------

filter::Moment Worker::moment(FilterIndex filter) noexcept {
    const Nanoseconds now = presence_.at(setup_.clock.now());
    return {now, presence_.word(filter, setup_.filter_shared[filter]->generation.load(
                                            std::memory_order_acquire))};
}

// Windows of reports end by this worker's own clock; those of captures by the packets' times.
void Worker::keep_reports() noexcept {
    if (setup_.reports == 0 || setup_.capture_clock) {
        return;
    }
    const Nanoseconds now = setup_.clock.now();
    for (unsigned i = 0; i < setup_.reports; ++i) {
        setup_.routes[setup_.reporting[i]].taps->keep(now);
    }
}

void Worker::keep_house() noexcept {
    keep_reports();
    const bool look = counters_.polls % kExchangeInterval == 0;
    for (unsigned i = 0; i < setup_.filters; ++i) {
        const Lane& lane = setup_.lanes[i];
        if (lane.ops->maintain != nullptr) {
            lane.ops->maintain(lane.filter);
        }
        const std::uint64_t word =
            presence_.word(i, setup_.filter_shared[i]->generation.load(std::memory_order_acquire));
        if (!setup_.capture_clock && lane.ageing->owes(word)) {
            lane.ops->advance(lane.filter, *lane.ageing, {presence_.time(), word});
        }
        if (look || lane.ageing->generation() != exchanged_[i]) {
            exchanged_[i] = lane.ageing->generation();
            exchange_segments(i);
        }
    }
}

void Worker::exchange_segments(unsigned lane) noexcept {
    filter::SegmentRing* segments = setup_.lanes[lane].ops->segments(setup_.lanes[lane].filter);
    if (segments == nullptr) {
        return;
    }
    LaneShared& shared = *setup_.lane_shared[lane];
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

void Worker::answer_snapshot() noexcept {
    WorkerShared& shared = *setup_.shared;
    shared.busy.store(counters_.polls - counters_.empty_polls, std::memory_order_relaxed);
    shared.heartbeat.store(counters_.polls, std::memory_order_release);
    const std::uint64_t wanted = shared.snapshot_wanted.load(std::memory_order_acquire);
    if (wanted != shared.snapshot_taken.load(std::memory_order_relaxed)) {
        take_snapshot(wanted);
    }
}

void Worker::take_snapshot(std::uint64_t wanted) noexcept {
    WorkerShared& shared = *setup_.shared;
    counters_.longest_gap = presence_.longest_gap();
    counters_.gaps = presence_.gaps();
    shared.snapshot = counters_;
    for (unsigned i = 0; i < setup_.filters; ++i) {
        const Lane& lane = setup_.lanes[i];
        const PacketClock& clock = packet_clocks_[i];  // stands at 0 but for captures
        const Nanoseconds now = setup_.capture_clock ? clock.now() : presence_.time();
        shared.filters[i] = lane.ops->counters(lane.filter);
        filter::WindowState& window = shared.windows[i];
        window = lane.ops->window(lane.filter, *lane.ageing, now);
        window.shortest_at -= std::min(clock.start(), window.shortest_at);
    }
    for (unsigned i = 0; i < setup_.reports; ++i) {
        const RouteIndex route = setup_.reporting[i];
        shared.taps[route] = setup_.routes[route].taps->summary();
    }
    shared.snapshot_taken.store(wanted, std::memory_order_release);
}

void Worker::settle_leftovers() noexcept {
    const auto settle_one = [&](rte_mbuf* mbuf, RouteIndex route) {
        counters_.routes[route][static_cast<unsigned>(Reason::kStopped)].add(1, mbuf->pkt_len);
        rte_pktmbuf_free(mbuf);
    };
    const auto empty = [&](rte_ring* ring, auto route_of) {
        void* object = nullptr;
        while (ring != nullptr && rte_ring_sc_dequeue(ring, &object) == 0) {
            rte_mbuf* mbuf = Handed::of(object).mbuf;
            counters_.handed_in++;
            settle_one(mbuf, route_of(mbuf));
        }
    };
    for (unsigned other = 0; other < setup_.workers; ++other) {
        empty(setup_.steer_in[other],
              [&](const rte_mbuf* mbuf) { return setup_.route_of[mbuf->port]; });
        empty(setup_.tx_in[other],
              [&](rte_mbuf* mbuf) -> RouteIndex { return tag_of(mbuf, setup_.tag_offset)->route; });
    }
    for (std::size_t i = 0; i < setup_.staging.size(); ++i) {
        Staging& s = setup_.staging[i];
        for (; s.next < s.count; ++s.next) {
            const RxSource& source = setup_.sources[i];
            counters_.rx[source.index].add(1, s.mbufs[s.next]->pkt_len);
            settle_one(s.mbufs[s.next], setup_.route_of[source.port]);
        }
    }
    take_snapshot(setup_.shared->snapshot_wanted.load(std::memory_order_acquire));
}

}  // namespace unecho::dataplane
