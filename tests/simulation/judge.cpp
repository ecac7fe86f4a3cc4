// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "appliance/dataplane/stall_tolerant_clock.h"
#include "life.h"
#include "watched_calls.h"

namespace unecho::test {

// --- a worker's round --------------------------------------------------------------------------

void World::poll(std::size_t w) {
    dataplane::Worker& worker = topology_->worker(w);
    WorkerState& state = workers_[w];
    mark_waiting(w);
    receives_.clear();
    state.counters = worker.counters();
    const Nanoseconds begun = now_;
    sent_.clear();
    CallCount calls;
    {
        const WatchedCalls watched;
        worker.poll_once();
        calls = WatchedCalls::count();
    }
    require_equal(calls.allocations, 0, "allocations of a worker");
    require_equal(calls.locks, 0, "locks of a worker");
    const dataplane::WorkerSetup* const adopted =
        worker.adopted() == nullptr ? first_setups_[w].get() : worker.adopted();
    const bool another = adopted != state.setup;
    const ContextPair was = context_of(*state.setup);
    if (another) {
        note_adoption(was, context_of(*adopted));
    }
    state.longest_gap = std::max(state.longest_gap, now_ - state.begun);
    note_presence(w, state.counters, state.begun);
    state.begun = begun;
    look();
    state.setup = adopted;
    judge(w, state.counters, begun, another, false, was);
    check_books(w);
    check_totals();
    check_growth(state.counters, worker.counters());
}

// A replaced filter is queried as predecessor until its successor knows everything, unless it
// cannot estimate the chance of an accidental match: it may exceed the present bound.
void World::note_adoption(const ContextPair& was, const ContextPair& is) {
    if (is.now->filter == was.now->filter ||
        (is.before != nullptr && is.before->filter == was.now->filter)) {
        return;
    }
    const auto same_packets = [](const packet::KeySpec& one, const packet::KeySpec& other) {
        return one.repeats == other.repeats && one.point == other.point && one.tags == other.tags;
    };
    require(!same_packets(was.now->key, is.now->key) ||
                !engines::info_of(engine_of_.at(was.now->filter)).estimates_chance,
            "a filter is given up at once that could have been asked");
    for (const pipeline::FilterContext* one : {was.now, was.before}) {
        if (one != nullptr) {
            kept_[one->filter] = 0;
        }
    }
}

template <typename Each>
void World::each_entry(const rte_ring* ring, Each each) const {
    const auto* const slots = reinterpret_cast<void* const*>(ring + 1);
    for (std::uint32_t i = ring->cons.head; i != ring->prod.tail; ++i) {
        each(slots[i & ring->mask]);
    }
}

// Number the packets that a worker takes in its next round, except those it receives.
void World::mark_waiting(std::size_t w) {
    for (const dataplane::Backlog& held : topology_->setup(w).receive.backlog) {
        for (unsigned k = 0; k < held.count; ++k) {
            packets_.at(number_.of(held.mbufs[k])).order = ++ordered_;
        }
    }
    for (const rte_ring* ring : topology_->setup(w).steering.in) {
        if (ring != nullptr) {
            each_entry(ring, [&](void* entry) {
                const auto handed = dataplane::RingEntry::of(entry);
                Packet& packet = packets_.at(number_.of(handed.mbuf));
                packet.unfiltered = handed.unfiltered;
                packet.order = kSteered + ++ordered_;
            });
        }
    }
}

// Find the place of every packet buffer.
void World::look() {
    ++looks_;
    for (const auto& device : devices_) {
        for (const rte_mbuf* mbuf : device->waiting()) {
            look_at(mbuf, Place::kWaiting, 0);
        }
    }
    for (std::size_t i = 0; i < topology_->workers(); ++i) {
        const dataplane::WorkerSetup& setup = topology_->setup(i);
        for (const dataplane::Backlog& held : setup.receive.backlog) {
            for (unsigned k = 0; k < held.count; ++k) {
                look_at(held.mbufs[k], Place::kHeld, i);
            }
        }
        for (const rte_ring* ring : setup.steering.in) {
            if (ring != nullptr) {
                each_entry(ring, [&](void* entry) {
                    look_at(dataplane::RingEntry::of(entry).mbuf, Place::kSteering, i);
                });
            }
        }
        for (const rte_ring* ring : setup.transmit.in) {
            if (ring != nullptr) {
                each_entry(ring, [&](void* entry) {
                    auto* const mbuf = static_cast<rte_mbuf*>(entry);
                    packets_.at(number_.of(mbuf)).tag = static_cast<Reason>(
                        dataplane::TxTag::of(mbuf, setup.transmit.tag_offset).reason);
                    look_at(mbuf, Place::kSending, i);
                });
            }
        }
    }
}

// Record the present place only; judge() checks the change of place.
void World::look_at(const rte_mbuf* mbuf, Place place, std::size_t owner) {
    const std::uint32_t id = number_.of(const_cast<rte_mbuf*>(mbuf));
    if (id >= packets_.size()) {
        wrong("a packet buffer that holds no packet");
    }
    Packet& packet = packets_[id];
    if (packet.seen == looks_) {
        wrong("packet " + std::to_string(id) + " is in two places");
    }
    if (packet.place == Place::kSent || packet.place == Place::kGone) {
        wrong("packet " + std::to_string(id) + " comes back");
    }
    require_equal(rte_mbuf_refcnt_read(mbuf), 1, "references of a packet buffer");
    packet.seen = looks_;
    packet.next = place;
    packet.next_owner = static_cast<std::uint8_t>(owner);
}

// --- what the worker did -----------------------------------------------------------------------

namespace {

std::uint64_t count_of(const dataplane::Counters& counters, Reason reason) {
    std::uint64_t sum = 0;
    for (const auto& route : counters.routes) {
        sum += route[static_cast<unsigned>(reason)].packets;
    }
    return sum;
}

bool is_over(Place place) {
    return place == Place::kSent || place == Place::kGone;
}

bool is_diverted(const Packet& packet) {
    return packet.place == Place::kSent ? packet.out == kSpare
                                        : packet.tag == Reason::kEchoDiverted;
}

}  // namespace

// Check each packet from its former place to the present one, and what was counted for it.
void World::judge(std::size_t w, const dataplane::Counters& before, Nanoseconds begun, bool another,
                  bool stopping, const ContextPair& was) {
    const dataplane::Counters& after = topology_->worker(w).counters();
    const auto counted = [&](Reason reason) {
        return count_of(after, reason) - count_of(before, reason);
    };
    for (const std::uint32_t id : sent_) {
        require(id < packets_.size(), "a packet is sent that never came");
        Packet& packet = packets_[id];
        if (packet.seen == looks_ || is_over(packet.place)) {
            wrong("packet " + std::to_string(id) + " is sent twice, or sent and kept");
        }
        packet.seen = looks_;
        packet.next = Place::kSent;
        check_order(packet, id);
        require(packet.out == kTool || packet.out == kSpare, "sent to a port of no route");
    }
    std::vector<std::uint32_t> decided;
    std::array<std::uint64_t, pipeline::kReasons> expected{};
    std::uint64_t vanished = 0;
    std::uint64_t direct = 0;
    std::uint64_t tagged_doubts = 0;
    std::size_t kept = 0;
    for (const std::uint32_t id : live_) {
        Packet& packet = packets_[id];
        if (packet.seen != looks_) {
            packet.next = Place::kGone;
            packet.next_owner = static_cast<std::uint8_t>(w);
        }
        if (packet.next < packet.place) {
            wrong("packet " + std::to_string(id) + " goes back");
        }
        const bool was_decided = packet.place == Place::kSending;
        const bool is_decided = packet.next == Place::kSending || is_over(packet.next);
        if (packet.place == Place::kSteering && packet.next != Place::kSteering) {
            require_equal(packet.owner, w, "a worker takes a packet of another one");
        }
        if (is_decided && !was_decided && !stopping) {
            decided.push_back(id);
        }
        if (is_over(packet.next)) {
            vanished += packet.next == Place::kGone ? 1 : 0;
            if (packet.next == Place::kSent) {
                ++(packet.out == kTool ? to_tool_ : to_spare_);
                if (was_decided) {
                    ++expected[static_cast<unsigned>(packet.tag)];
                } else if (packet.out == kSpare) {
                    ++expected[static_cast<unsigned>(Reason::kEchoDiverted)];
                } else if (packet.unfiltered) {
                    ++expected[static_cast<unsigned>(Reason::kOverload)];
                } else if (packet.sent.key == 0) {
                    ++expected[static_cast<unsigned>(Reason::kNonIp)];
                } else {
                    ++direct;  // new or doubt
                }
            }
        } else {
            if (packet.next == Place::kSending && !was_decided) {
                tagged_doubts += packet.tag == Reason::kDoubt ? 1 : 0;
            }
            live_[kept++] = id;
        }
        packet.place = packet.next;
        packet.owner = packet.next_owner;
    }
    live_.resize(kept);
    const std::uint64_t echoes = counted(Reason::kEcho);
    const std::uint64_t lost = counted(Reason::kTxLost) + counted(Reason::kStopped);
    require_equal(echoes + lost, vanished, "packets dropped by reason, of those that are gone");
    for (const Reason reason : {Reason::kNonIp, Reason::kOverload, Reason::kEchoDiverted,
                                Reason::kMalformed, Reason::kTooLong, Reason::kEchoPassed}) {
        require_equal(counted(reason), expected[static_cast<unsigned>(reason)],
                      "packets counted as " + std::string(pipeline::info_of(reason).name));
    }
    const std::uint64_t tagged_out = expected[static_cast<unsigned>(Reason::kNew)] +
                                     expected[static_cast<unsigned>(Reason::kDoubt)];
    require_equal(counted(Reason::kNew) + counted(Reason::kDoubt), direct + tagged_out,
                  "packets counted as new or doubt");
    const std::uint64_t doubts =
        counted(Reason::kDoubt) -
        std::min(counted(Reason::kDoubt), expected[static_cast<unsigned>(Reason::kDoubt)]) +
        tagged_doubts;
    require(stopping || counted(Reason::kStopped) == 0, "stopped before the stop");
    tally_.echoes += echoes + counted(Reason::kEchoDiverted);
    tally_.overloads += counted(Reason::kOverload);
    tally_.lost += lost;
    if (!stopping) {
        judge_keys(w, decided, lost, doubts, begun, another, was);
        judge_repeats(w, std::move(decided), was, lost, begun);
    }
}

World::ContextPair World::context_of(const dataplane::WorkerSetup& setup) const {
    const FilterIndex filter = setup.routes[0].filter;
    const FilterIndex before = setup.filters.before[filter];
    return {&setup.filters.contexts[filter], before == dataplane::FilterStageSetup::kNoFilter
                                                 ? nullptr
                                                 : &setup.filters.contexts[before]};
}

// Return true if the key may be taken for an echo. Its filter's generations may still hold it, and
// its age is within window, slack, and the lateness of control thread and worker.
bool World::may_know(const Memory& memory, const ContextPair& context, Nanoseconds time,
                     std::size_t w) const {
    if (!memory.maybe) {
        return false;
    }
    for (const pipeline::FilterContext* one : {context.now, context.before}) {
        if (one == nullptr ||
            (memory.maybe_filter != nullptr && one->filter != memory.maybe_filter)) {
            continue;
        }
        if (memory.maybe_filter == nullptr ||
            engine_of_.at(one->filter) == engines::Engine::kTlbf) {
            return true;  // its slices can match by chance long after
                          // (filters/window/segmented/tlbf.h, weakness)
        }
        const std::uint64_t retained_generations = one->ageing->retained_generations();
        const Nanoseconds late = std::max(longest_turn_, now_ - last_turn_) +
                                 workers_[w].longest_gap + 10 * kMicrosecond;
        if (engine_of_.at(one->filter) == engines::Engine::kExact) {
            return time <= memory.until + one->remembered + late;
        }
        return one->ageing->generation() <= memory.generation + retained_generations + 1 &&
               time <= memory.until + (retained_generations + 1) * (longest_generation_ + late);
    }
    return false;
}

// Return true if the key must be known: it is younger than its filter's achieved window. The window
// at the time of decision is at least the one after the round minus the round's duration.
bool World::must_know(const Memory& memory, const ContextPair& context, Nanoseconds time,
                      Nanoseconds took) const {
    if (!memory.sure) {
        return false;
    }
    const Nanoseconds age = time - std::min(time, memory.from) + took;
    for (const pipeline::FilterContext* one : {context.now, context.before}) {
        if (one != nullptr && one->filter == memory.filter) {
            return age < one->ops->window(one->filter, *one->ageing, time).achieved;
        }
    }
    const auto kept = kept_.find(memory.filter);
    return kept != kept_.end() && age < std::min(kept->second, shortest_window_);
}

void World::judge_keys(std::size_t w, const std::vector<std::uint32_t>& decided, std::uint64_t lost,
                       std::uint64_t doubts, Nanoseconds begun, bool another,
                       const ContextPair& was) {
    WorkerState& state = workers_[w];
    const ContextPair context = context_of(*state.setup);
    Nanoseconds time = context.now->ageing->time();
    if (context.before != nullptr) {
        time = std::max(time, context.before->ageing->time());
    }
    // Engines that keep times do not report theirs; a worker that was never away follows the clock.
    const bool away =
        state.longest_gap >= dataplane::StallTolerantClock::limit_for(shortest_window_);
    const bool tells = engines::info_of(engine_of_.at(context.now->filter)).by_generation;
    // A filter that was applied in this round does not report its time either.
    time = std::max({tells ? time : begun, another && !away ? begun : 0, state.time});
    const bool known = tells || !away;
    require(time <= now_, "a worker's time is ahead of the clock");
    require(!known || time - state.time <= now_ - state.time_at,
            "a worker's time goes faster than the clock");
    if (known) {
        // The time of a turn during a pause without packets is the time at which the pause began.
        // Afterwards it continues as if it had not stood still.
        state.time_at = time == state.time || decided.empty() ? state.time_at : begun;
        state.time = time;
    }
    const filter::WindowState window =
        context.now->ops->window(context.now->filter, *context.now->ageing, time);
    require(window.early_turns != 0 || window.achieved >= context.now->window ||
                context.now->ops->counters(context.now->filter).evicted_early != 0 ||
                went_on_.count(context.now->filter) != 0,
            "a filter keeps less than its window, and nothing made it forget early");
    if (known) {
        Nanoseconds& kept = kept_.try_emplace(context.now->filter, ~Nanoseconds{0}).first->second;
        kept = std::min(kept, window.achieved);
    }
    const Nanoseconds took = now_ - begun;
    const bool any = std::any_of(decided.begin(), decided.end(), [&](std::uint32_t id) {
        return packets_[id].sent.key != 0 && !packets_[id].unfiltered &&
               !is_by_rule(packets_[id], *context_for(packets_[id], was, context).now);
    });
    if (any && !away) {
        require(time >= begun, "a worker that was never away judges by a time gone by");
    }

    struct Group {
        unsigned passed = 0;
        unsigned dropped = 0;
        unsigned diverted = 0;
    };
    std::map<std::uint64_t, Group> groups;
    for (const std::uint32_t id : decided) {
        const Packet& packet = packets_[id];
        const auto owner = owner_of_flow_.try_emplace(packet.sent.flow, w).first->second;
        require_equal(w, owner, "the worker that decides a flow's packet");
        const pipeline::FilterContext& decides = *context_for(packet, was, context).now;
        if (packet.sent.key == 0 || packet.unfiltered || is_by_rule(packet, decides)) {
            continue;
        }
        Group& group = groups[key_of(packet, decides)];
        if (packet.place == Place::kGone) {
            ++group.dropped;
        } else if (is_diverted(packet)) {
            ++group.diverted;
        } else {
            ++group.passed;
        }
    }
    std::uint64_t missed = 0;
    std::uint64_t unfounded = 0;
    for (const auto& [key, group] : groups) {
        Memory& memory = memories_[key];
        memory.worker = static_cast<std::uint8_t>(w);
        const bool may =
            known ? may_know(memory, context, time - std::min(time, took), w) ||
                        (another && may_know(memory, was, time - std::min(time, took), w))
                  : memory.maybe;
        const bool must = known && !another && must_know(memory, context, time, took);
        tally_.musts += must ? group.passed + group.dropped + group.diverted : 0;
        if (must) {
            missed += group.passed;
        } else if (group.passed > 1 && known && !another && 2 * took < window.achieved) {
            missed += group.passed - 1;
        }
        if (!may) {
            ++tally_.news;
            tally_.false_drops_allowed += bound_;
            unfounded += group.passed == 0 ? 1 : 0;
        }
        // A lost packet may have been inserted.
        if (group.passed != 0 || !may || (group.dropped != 0 && lost != 0)) {
            memory.maybe = true;
            memory.maybe_filter = another ? nullptr : context.now->filter;
            memory.generation = context.now->ageing->generation();
            memory.until = time;
        }
        if (group.passed != 0) {
            memory.sure = known && !another;
            memory.filter = context.now->filter;
            memory.from = time - std::min(time, took);
        }
    }
    tally_.doubts += std::min(missed, doubts);
    if (missed > doubts) {
        wrong(std::to_string(missed - doubts) + " missed inside the achieved window, by worker " +
              std::to_string(w));
    }
    tally_.false_drops += unfounded - std::min(unfounded, lost);
}

// --- repeats ------------------------------------------------------------------------------------

bool World::is_by_rule(const Packet& packet, const pipeline::FilterContext& context) {
    return context.repeats != nullptr && packet.sent.kind != Kind::kIdentified;
}

// A new setup is applied after the received packets, before those that others handed over.
const World::ContextPair& World::context_for(const Packet& packet, const ContextPair& was,
                                             const ContextPair& is) {
    return packet.order < kSteered ? was : is;
}

// Return the key as the configuration compares packets.
std::uint64_t World::key_of(const Packet& packet, const pipeline::FilterContext& context) const {
    const bool tagged = context.key.tags == packet::Tags::kCompare;
    return packet.sent.key | (tagged ? std::uint64_t{packet.sent.tags} << 56 : 0);
}

// A packet that a full device refused is gone as well.
Disposition World::fate_of(const Packet& packet, std::uint64_t lost) const {
    if (packet.place == Place::kGone) {
        return lost == 0 ? Disposition::kCopy : Disposition::kUnknown;
    }
    return is_diverted(packet) ? Disposition::kCopy : Disposition::kKept;
}

World::JudgedRule& World::judged(const filter::UnionRule& rule) {
    return rules_.try_emplace(&rule, JudgedRule{RepeatOracle(rule.params().spec()), {}, {}})
        .first->second;
}

// The worker's time stands still while it catches up with waiting packets. It has certainly caught
// up after a round without packets, or after enough rounds to empty every queue.
void World::note_presence(std::size_t w, const dataplane::Counters& before,
                          Nanoseconds last_begun) {
    WorkerState& state = workers_[w];
    if (now_ - last_begun >= dataplane::StallTolerantClock::limit_for(shortest_window_)) {
        constexpr unsigned kLongest = 1024;
        state.unsettled = 5 * (kLongest / shape_.burst + 2);
        state.was_away = true;
    } else if (state.unsettled != 0) {
        const auto& held = topology_->setup(w).receive.backlog;
        const bool empty =
            topology_->worker(w).counters().empty_polls != before.empty_polls &&
            std::none_of(held.begin(), held.end(), [](const auto& one) { return one.count != 0; });
        state.unsettled = empty ? std::min(state.unsettled, 2U) : state.unsettled;
        --state.unsettled;
    } else {
        return;
    }
    for (auto& [rule, judged] : rules_) {
        judged.oracle.doubt_all(now_);
    }
}

void World::judge_repeats(std::size_t w, std::vector<std::uint32_t> decided, const ContextPair& was,
                          std::uint64_t lost, Nanoseconds begun) {
    const ContextPair is = context_of(*workers_[w].setup);
    std::sort(decided.begin(), decided.end(), [&](std::uint32_t a, std::uint32_t b) {
        return packets_[a].order < packets_[b].order;
    });
    const Nanoseconds last = receives_.empty() ? begun : receives_.back();
    std::uint64_t kept_and_gone = 0;
    for (const std::uint32_t id : decided) {
        const Packet& packet = packets_[id];
        const ContextPair& context = context_for(packet, was, is);
        if (packet.sent.key == 0 || packet.unfiltered || context.now->repeats == nullptr) {
            continue;
        }
        Sight sight;
        sight.key = key_of(packet, *context.now);
        const std::string& group = config_.ports[packet.sent.port].group;
        const std::uint64_t place = group.empty() ? packet.sent.port : 0;
        const bool frame = packet.sent.kind == Kind::kFrame;
        sight.population = place << 8 | packet.sent.pair;
        sight.ttl = frame ? 0U : packet.sent.ttl;
        sight.point =
            context.now->key.point == packet::Point::kPort ? place << 8 : sight.population;
        sight.point |=
            context.now->key.point == packet::Point::kLinkTtl ? std::uint64_t{sight.ttl} << 48 : 0;
        sight.point |= context.now->key.tags == packet::Tags::kPoint
                           ? std::uint64_t{packet.sent.tags} << 32
                           : 0;
        sight.tags = packet.sent.tags;
        if (packet.order >= kSteered) {
            sight.at = {last, now_, 0};
        } else if (packet.order >= kReceived) {
            const std::size_t next = packet.receive + 1;
            sight.at = {receives_[packet.receive], next < receives_.size() ? receives_[next] : now_,
                        begun << 8 | (packet.receive + 1)};
        } else {
            sight.at = {begun, receives_.empty() ? now_ : receives_.front(), 0};
        }
        const Disposition found = fate_of(packet, lost);
        const filter::UnionRule* const before =
            context.before == nullptr ? nullptr : context.before->repeats;
        Disposition expected = Disposition::kUnknown;
        for (const filter::UnionRule* const rule :
             std::initializer_list<const filter::UnionRule*>{context.now->repeats, before}) {
            if (rule == nullptr) {
                continue;
            }
            RepeatOracle& oracle = judged(*rule).oracle;
            if (packet.sent.kind == Kind::kIdentified) {
                oracle.observe_identified(sight, found);
            } else {
                expected = oracle.see(sight);  // the predecessor decides
            }
        }
        if (packet.sent.kind == Kind::kIdentified) {
            continue;
        }
        ++tally_.unidentified;
        tally_.unidentified_judged += expected != Disposition::kUnknown ? 1 : 0;
        tally_.repeats_kept += expected == Disposition::kKept ? 1 : 0;
        kept_and_gone += expected == Disposition::kKept && packet.place == Place::kGone ? 1 : 0;
        if (expected == Disposition::kKept && found == Disposition::kCopy) {
            wrong("packet " + std::to_string(id) + " is taken for a copy, and was sent again");
        }
        if (expected == Disposition::kCopy && found == Disposition::kKept) {
            wrong("packet " + std::to_string(id) + " stays, and is a copy");
        }
    }
    require(kept_and_gone <= lost, "packets that were sent again are gone, and not lost");
    std::set<const filter::UnionRule*> rules;
    for (const pipeline::FilterContext* const context : {was.now, was.before, is.now, is.before}) {
        if (context != nullptr && context->repeats != nullptr) {
            rules.insert(context->repeats);
        }
    }
    for (const filter::UnionRule* const rule : rules) {
        check_counted(*rule);
    }
    if (was.now->filter != is.now->filter && was.now->repeats != nullptr) {
        // It is not known when in the round it was replaced.
        const JudgedRule& rule = judged(*was.now->repeats);
        for (const auto& row : filter::kRepeatCounters) {
            workers_[w].repeats_most.*row.value += rule.counted.*row.value;
            workers_[w].repeats_least.*row.value += rule.before_round.*row.value;
        }
    }
}

void World::check_counted(const filter::UnionRule& rule) {
    JudgedRule& judged = this->judged(rule);
    const filter::RepeatCounters counted = rule.counters();
    const RepeatOracle::Counted expected = judged.oracle.take_counted();
    for (const auto& row : filter::kRepeatCounters) {
        const std::uint64_t found = counted.*row.value - judged.counted.*row.value;
        if (found < expected.least.*row.value || found > expected.most.*row.value) {
            wrong("packets counted as " + std::string(row.name) + ": " + std::to_string(found) +
                  " instead of " + std::to_string(expected.least.*row.value) + " to " +
                  std::to_string(expected.most.*row.value));
        }
    }
    judged.before_round = judged.counted;
    judged.counted = counted;
}

// Check a report at the end of a process, which also covers filters that were replaced.
void World::check_repeats(const appliance::StatsReport& report) {
    filter::RepeatCounters least;
    filter::RepeatCounters most;
    for (const WorkerState& state : workers_) {
        fold(filter::kRepeatCounters, state.repeats_least, least);
        fold(filter::kRepeatCounters, state.repeats_most, most);
        if (const filter::UnionRule* const rule = context_of(*state.setup).now->repeats) {
            fold(filter::kRepeatCounters, rule->counters(), least);
            fold(filter::kRepeatCounters, rule->counters(), most);
        }
    }
    for (const auto& row : filter::kRepeatCounters) {
        const std::uint64_t found = report.filters[0].repeats.*row.value;
        if (found < least.*row.value || found > most.*row.value) {
            wrong("a report's " + std::string(row.name) + ": " + std::to_string(found) +
                  " instead of " + std::to_string(least.*row.value) + " to " +
                  std::to_string(most.*row.value));
        }
    }
}

// Check that the planned filter follows the configuration.
void World::check_plan() const {
    const appliance::WorkerConfigSet& setup = topology_->present();
    const engines::FilterPlan& plan = setup.filters[setup.workers[0].routes[0].filter]->plan;
    const config::Filter& asked = config_.filters[0];
    require(plan.key.repeats == asked.repeats && plan.repeats.has_value() == asked.keeps_repeats(),
            "repeats are kept or dropped, and the other was asked for");
    if (plan.repeats) {
        const filter::UnionSpec& spec = plan.repeats->spec();
        require(plan.key.point == asked.point, "another point of observation than asked for");
        require_equal(spec.window, asked.window, "the window that repeats are told apart within");
        require_equal(spec.same_port, asked.same_port.value_or(0), "same_port");
        require_equal(spec.views, asked.views.value_or(2), "views");
        require(spec.needs_evidence == (asked.second_looks != packet::SecondLooks::kAll),
                "other second looks than asked for");
    }
}

void World::check_order(const Packet& packet, std::uint32_t id) {
    const std::uint64_t flow =
        std::uint64_t{packet.sent.flow} << 8 | std::uint64_t{packet.sent.port} << 4 | packet.out;
    const auto [last, first] = last_of_flow_.try_emplace(flow, id);
    if (!first && last->second >= id) {
        wrong("packet " + std::to_string(id) + " is sent behind " + std::to_string(last->second) +
              " of its flow");
    }
    last->second = id;
}

// Check one worker's counters by the invariants of Counters, and by what its ports accepted.
void World::check_books(std::size_t w) {
    const dataplane::Counters& c = topology_->worker(w).counters();
    std::uint64_t in = c.handed_in;
    std::uint64_t out = c.handed_out;
    std::uint64_t received = 0;
    std::uint64_t delivered = 0;
    std::uint64_t transmitted = 0;
    for (unsigned p = 0; p < devices_.size(); ++p) {
        in += c.rx[p].packets;
        transmitted += c.tx[p].packets;
        received += c.rx[p].packets;
    }
    for (unsigned i = 0; i < pipeline::kReasons; ++i) {
        for (const auto& route : c.routes) {
            out += route[i].packets;
            delivered += pipeline::kReasonTable[i].fate == pipeline::Disposition::kDropped
                             ? 0
                             : route[i].packets;
        }
    }
    require_equal(out, in, "a worker's reasons and handed out, of received and handed in");
    require_equal(std::accumulate(c.received.begin(), c.received.end(), std::uint64_t{0}), received,
                  "received by route, of those by port");
    require_equal(transmitted, delivered, "a worker's packets sent, of those forwarded");
}

// Check the sum of all workers against what devices and rings hold.
void World::check_totals() {
    std::uint64_t taken = 0;
    std::uint64_t held = 0;
    std::uint64_t between = 0;
    for (const auto& device : devices_) {
        taken += device->taken();
    }
    for (const std::uint32_t id : live_) {
        held += packets_[id].place == Place::kHeld ? 1 : 0;
        between += packets_[id].place == Place::kSteering || packets_[id].place == Place::kSending;
    }
    std::uint64_t received = 0;
    std::uint64_t reasons = 0;
    std::array<std::uint64_t, 4> sent{};
    for (std::size_t w = 0; w < topology_->workers(); ++w) {
        const dataplane::Counters& c = topology_->worker(w).counters();
        received = std::accumulate(c.received.begin(), c.received.end(), received);
        for (const auto& route : c.routes) {
            for (const auto& reason : route) {
                reasons += reason.packets;
            }
        }
        for (std::size_t p = 0; p < sent.size(); ++p) {
            sent.at(p) += c.tx[p].packets;
        }
    }
    require_equal(received, taken - held, "received, of what the devices gave");
    require_equal(reasons + between, received, "decided and in flight, of what was received");
    require_equal(sent[kTool], to_tool_, "counted as sent to the tool");
    require_equal(sent[kSpare], to_spare_, "counted as diverted");
}

// All counters are 64-bit numbers, except the port at the end.
void World::check_growth(const dataplane::Counters& before,
                         const dataplane::Counters& after) const {
    std::array<std::uint64_t, sizeof(dataplane::Counters) / sizeof(std::uint64_t)> was;
    std::array<std::uint64_t, was.size()> is;
    std::memcpy(was.data(), static_cast<const void*>(&before), sizeof(was));
    std::memcpy(is.data(), static_cast<const void*>(&after), sizeof(is));
    const std::size_t end =
        static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&after.first_epoch) -
                                 reinterpret_cast<const std::byte*>(&after)) /
        sizeof(std::uint64_t);
    for (std::size_t i = 0; i < end; ++i) {
        if (is.at(i) < was.at(i)) {
            wrong("a worker's counter, word " + std::to_string(i) + ", decreases");
        }
    }
}

void World::check_report(const appliance::DispositionCounts& fates) {
    ++tally_.snapshots;
    require_equal(fates.forwarded + fates.diverted + fates.dropped + fates.in_flight,
                  fates.received, "a status: forwarded, diverted, dropped, in flight");
    for (const auto field :
         {&appliance::DispositionCounts::received, &appliance::DispositionCounts::forwarded,
          &appliance::DispositionCounts::diverted, &appliance::DispositionCounts::dropped}) {
        require(fates.*field >= told_.*field, "a status: a counter decreases");
    }
    require(fates.forwarded <= to_tool_ && fates.diverted <= to_spare_,
            "a status: more than was sent");
    told_ = fates;
}

}  // namespace unecho::test
