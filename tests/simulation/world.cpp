// SPDX-License-Identifier: BSD-3-Clause
#include "world.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <rte_ring.h>
#include <unistd.h>

#include "chance.h"
#include "config/load.h"
#include "control/filter_turns.h"
#include "control/kept_state.h"
#include "control/plan.h"
#include "control/reload.h"
#include "control/stats.h"
#include "control/wiring.h"
#include "dataplane/presence.h"
#include "eal/mbufs.h"
#include "shape.h"
#include "support/packet_builder.h"
#include "watched_calls.h"

namespace unecho::test {
namespace {

using pipeline::Reason;

[[noreturn]] void wrong(const std::string& what) {
    throw std::runtime_error(what);
}

void require(bool holds, const char* what) {
    if (!holds) [[unlikely]] {
        wrong(what);
    }
}

void require_equal(std::uint64_t found, std::uint64_t expected, const std::string& what) {
    if (found != expected) [[unlikely]] {
        wrong(what + ": " + std::to_string(found) + " instead of " + std::to_string(expected));
    }
}

enum Stream : unsigned { kShape, kTraffic, kWorkers, kControl, kBeside, kFaults };

enum class Place : std::uint8_t { kWaiting, kHeld, kSteering, kSending, kSent, kGone };

struct Packet {
    std::uint64_t key = 0;  // 0: it has none
    std::uint32_t flow = 0;
    std::uint8_t port = 0;
    Place place = Place::kWaiting;
    std::uint8_t owner = 0;        // of the ring that it is in
    Place next = Place::kWaiting;  // where the last look saw it
    std::uint8_t next_owner = 0;
    bool unfiltered = false;
    Reason tag = Reason::kNew;  // in a ring to its transmitter
    std::uint8_t out = 0;       // port that it was sent to
    std::uint32_t seen = 0;     // in which look
};

// What is known of a key's last insertion.
struct Memory {
    bool sure = false;
    const void* filter = nullptr;
    Nanoseconds from = 0;                // not before, on the worker's time
    bool maybe = false;                  // at least that it may be remembered
    const void* maybe_filter = nullptr;  // null: one of two
    std::uint64_t generation = 0;        // not after
    Nanoseconds until = 0;               // the same
    std::uint8_t worker = 0;
};

config::Config loaded(const std::string& text) {
    auto config = config::load_text(text, "sim.toml");
    if (!config) {
        wrong("the configuration: " + config::to_text(config.error(), "sim.toml"));
    }
    return *config;
}

class World {
  public:
    World(const Scenario& scenario, std::vector<std::unique_ptr<Device>>& devices,
          const PacketNumber& number)
        : scenario_(scenario),
          devices_(devices),
          number_(number),
          chance_{Chance(scenario.seed, kShape),   Chance(scenario.seed, kTraffic),
                  Chance(scenario.seed, kWorkers), Chance(scenario.seed, kControl),
                  Chance(scenario.seed, kBeside),  Chance(scenario.seed, kFaults)} {
        buffers_ = rte_mempool_avail_count(packet_pool());
        choose();
        start();
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    ~World() { std::filesystem::remove_all(state_folder(getpid())); }

    Tally run();

  private:
    struct WorkerState {
        Nanoseconds due = 0;
        Nanoseconds begun = 0;  // the last poll
        Nanoseconds longest_gap = 0;
        Nanoseconds time = 0;  // that it judged by last
        Nanoseconds time_at = 0;
        const dataplane::WorkerSetup* setup = nullptr;
        dataplane::Counters counters;
    };
    // What the lane of a worker says.
    struct Lane {
        const pipeline::Lane* now = nullptr;
        const pipeline::Lane* before = nullptr;  // while it is warmed
    };

    [[nodiscard]] bool has(Fault fault) const {
        return (faults_ >> static_cast<unsigned>(fault) & 1) != 0;
    }
    void choose();
    void start();
    void assemble();
    void start_devices();
    void restart();
    void end_process(std::uint64_t rounds);
    void note_ends();

    void step();
    void bring_packets();
    void bring_packet(Nanoseconds due);
    void turn();
    void poll(std::size_t w);
    void harm();
    void change_configuration();

    void look();
    void look_at(const rte_mbuf* mbuf, Place place, std::size_t owner);
    void note_adoption(const Lane& was, const Lane& is);
    template <typename Each>
    void each_entry(const rte_ring* ring, Each each) const;
    void mark_unfiltered(std::size_t w);
    void judge(std::size_t w, const dataplane::Counters& before, Nanoseconds begun, bool another,
               bool stopping);
    void judge_keys(std::size_t w, const std::vector<std::uint32_t>& decided, std::uint64_t lost,
                    std::uint64_t doubts, Nanoseconds begun, bool another);
    void check_books(std::size_t w);
    void check_totals();
    void check_growth(const dataplane::Counters& before, const dataplane::Counters& after) const;
    void check_order(const Packet& packet, std::uint32_t id);
    void check_report(const control::FateCounts& fates);
    [[nodiscard]] dataplane::TscClock clock() { return {0, std::uint64_t{1} << 32, &now_, 20}; }
    void note_setup();
    [[nodiscard]] Lane lane_of(const dataplane::WorkerSetup& setup) const;
    [[nodiscard]] bool may_know(const Memory& memory, const Lane& lane, Nanoseconds time,
                                std::size_t w) const;
    [[nodiscard]] bool must_know(const Memory& memory, const Lane& lane, Nanoseconds time,
                                 Nanoseconds took) const;

    const Scenario scenario_;
    std::vector<std::unique_ptr<Device>>& devices_;
    const PacketNumber& number_;
    std::array<Chance, 6> chance_;
    std::uint32_t faults_ = 0;
    Shape shape_;
    std::uint64_t now_ = 1000;
    unsigned buffers_ = 0;
    Tally tally_;

    // Traffic.
    unsigned flows_ = 1;
    unsigned echo_percent_ = 30;
    Nanoseconds between_packets_ = 10'000;
    unsigned burst_of_traffic_ = 1;
    Nanoseconds next_traffic_ = 0;
    std::uint32_t brought_ = 0;  // or lost before they were received
    std::uint64_t next_key_ = 1;
    struct Original {
        std::uint64_t key;
        std::uint32_t flow;
        Nanoseconds at;
    };
    std::vector<Original> originals_;
    unsigned tx_full_percent_ = 0;

    // The appliance.
    std::unique_ptr<control::KeptState> state_;  // outlives what lies in it
    config::Config config_;
    control::Machine machine_;
    hash::Secret secret_{};
    pipeline::AuditSecret audit_secret_ = pipeline::audit_secret_from(7);
    control::Plan plan_;
    std::unique_ptr<control::Wiring> wiring_;
    std::unique_ptr<control::FilterTurns> turns_;
    std::unique_ptr<control::StatsReader> reader_;
    std::unique_ptr<control::Reload> reload_;
    std::string text_;
    std::atomic<unsigned> asked_{0};
    bool asked_for_status_ = false;
    control::FateCounts told_;
    std::vector<WorkerState> workers_;
    std::vector<std::unique_ptr<dataplane::WorkerSetup>> first_setups_;
    Nanoseconds next_turn_ = 0;
    Nanoseconds last_turn_ = 0;
    Nanoseconds longest_turn_ = 0;
    Nanoseconds longest_generation_ = 0;
    Nanoseconds next_harm_ = 0;
    Nanoseconds link_back_ = 0;
    Nanoseconds buffers_back_ = 0;
    Nanoseconds shortest_window_ = ~Nanoseconds{0};
    double bound_ = 0;  // the largest so far

    // Packets.
    std::vector<Packet> packets_;
    std::vector<std::uint32_t> live_;
    std::vector<std::uint32_t> sent_;  // in this step
    std::uint32_t looks_ = 0;
    std::uint64_t to_tool_ = 0;
    std::uint64_t to_spare_ = 0;
    std::unordered_map<std::uint64_t, Memory> memories_;
    std::unordered_map<std::uint64_t, std::uint32_t> last_of_flow_;
    std::unordered_map<std::uint32_t, std::uint8_t> owner_of_flow_;
    std::unordered_map<const void*, engines::Engine> engine_of_;  // of a worker's filter
    std::unordered_set<const void*> went_on_;                     // from another process
    struct End {
        std::size_t worker;
        filter::Ageing ageing;
        engines::FilterPlan plan;
    };
    std::vector<End> ends_;
    std::unordered_map<const void*, Nanoseconds> kept_;  // the least that a filter was seen to keep
    // All that there were: another one at the address of one that is gone would be taken for it.
    std::unordered_set<std::shared_ptr<const control::FilterSet>> filters_;
};

void World::choose() {
    Chance& chance = chance_[kShape];
    for (unsigned i = 0; i < kFaultNames.size(); ++i) {
        faults_ |= static_cast<std::uint32_t>(chance.below(5) < 2) << i;
    }
    faults_ &= scenario_.faults;
    shape_ = Shape::by(chance);
    flows_ = chance.one_of({1U, 2U, 8U, 1000U});
    echo_percent_ = chance.one_of({0U, 30U, 50U, 70U, 100U});
    const unsigned load = chance.one_of({10U, 40U, 80U, 100U, 200U});
    between_packets_ = 100 * kSecond / (shape_.rate * load);
    if (has(Fault::kOverload)) {
        between_packets_ = std::max<Nanoseconds>(between_packets_ / 10, 50);
    }
    burst_of_traffic_ = chance.one_of({1U, 4U, 32U, 100U});
    tx_full_percent_ = static_cast<unsigned>(chance.between(5, 60));
    packets_.reserve(scenario_.packets);
    sent_.reserve(4096);
}

// A process, with what the one before it kept, if this one may keep anything.
void World::start() {
    text_ = text_.empty() ? shape_.text() : text_;
    config_ = loaded(text_);
    for (LcoreId cpu = 0; machine_.cpus.size() < 4; ++cpu) {
        machine_.cpus.push_back(cpu);
    }
    eal::DeviceFacts facts;
    facts.driver = "net_ring";
    facts.max_rx_queues = 1;
    facts.max_tx_queues = static_cast<std::uint16_t>(shape_.tx_queues);
    auto plan = control::make_plan(config_, machine_,
                                   std::vector<eal::DeviceFacts>(config_.ports.size(), facts));
    if (!plan) {
        wrong("the plan: " + config::to_text(plan.error(), "sim.toml"));
    }
    plan_ = *plan;
    secret_ = hash::secret_from_seed(scenario_.seed);
    if (has(Fault::kRestart)) {
        auto state = control::KeptState::open(state_folder(getpid()), plan_, "simulation",
                                              std::nullopt, {clock(), [this] { return now_; }});
        if (!state) {
            wrong("the state: " + state.error().context);
        }
        state_ = std::move(*state);
    }
    next_turn_ = now_;
    if (state_ != nullptr && !state_->base()) {
        last_turn_ = now_;
        state_->begin({clock(), secret_, audit_secret_});
    }
    assemble();
    if (state_ != nullptr) {
        state_->remove_unneeded(true);
        require(state_->end_start().has_value(), "what is kept is not put in order");
    }
    note_setup();
    start_devices();
    next_harm_ = now_ + shape_.window;
}

void World::assemble() {
    static unsigned number = 0;
    control::WiringInput input;
    input.plan = &plan_;
    for (std::size_t p = 0; p < config_.ports.size(); ++p) {
        input.ports.push_back(devices_[p]->id());
    }
    input.secret = &secret_;
    input.audit_secret = &audit_secret_;
    input.clock = clock();
    input.burst = shape_.burst;
    input.ring_size = shape_.ring_size;
    input.tx_retry_cycles = shape_.retry;
    input.name = "sim" + std::to_string(number++);
    input.state = state_.get();
    auto wiring = control::Wiring::make(input);
    if (!wiring) {
        wrong("the wiring: " + wiring.error().context);
    }
    wiring_ = std::move(*wiring);
    turns_ = std::make_unique<control::FilterTurns>();
    turns_->follow(wiring_->present(), true, now_);
    std::vector<dataplane::WorkerShared*> shared;
    for (std::size_t w = 0; w < wiring_->workers(); ++w) {
        shared.push_back(&wiring_->shared(w));
        wiring_->worker(w).begin();
        workers_.emplace_back();
        workers_[w].begun = now_;
        first_setups_.push_back(std::make_unique<dataplane::WorkerSetup>(wiring_->setup(w)));
        workers_[w].setup = first_setups_.back().get();
        workers_[w].due = now_ + chance_[kWorkers].below(kMicrosecond);
    }
    reader_ = std::make_unique<control::StatsReader>(shared);
    reload_ = std::make_unique<control::Reload>(
        *wiring_, machine_, config_,
        control::ReloadSource{[this] { return config::load_text(text_, "sim.toml"); }, &asked_},
        [](const std::string&) {}, control::Reload::Beside::kCaller);
}

void World::start_devices() {
    for (std::size_t p = 0; p < devices_.size(); ++p) {
        Device::Behaviour& behaviour = devices_[p]->behaviour();
        behaviour.clock = &now_;
        behaviour.accepts = [this](unsigned n) -> unsigned {
            if (!has(Fault::kTxFull) || chance_[kFaults].below(100) >= tx_full_percent_) {
                return n;
            }
            return static_cast<unsigned>(chance_[kFaults].below(n + 1));
        };
        behaviour.sent = [this, p](rte_mbuf* mbuf) {
            const std::uint32_t id = number_.of(mbuf);
            if (id < packets_.size()) {
                packets_[id].out = static_cast<std::uint8_t>(p);
            }
            sent_.push_back(id);
        };
    }
}

// What follows from the setup that workers have, or are to adopt.
void World::note_setup() {
    for (const auto& filter : wiring_->present().filters) {
        if (filter != nullptr) {
            if (filters_.insert(filter).second) {
                for (const pipeline::Lane& lane : filter->lanes) {
                    engine_of_.emplace(lane.filter, filter->plan.engine().engine);
                }
            }
            longest_generation_ = std::max(longest_generation_, filter->plan.clock.length);
            shortest_window_ = std::min(shortest_window_, filter->plan.window);
            bound_ = std::max(bound_, config_.filters[0].max_false_drop.value_or(0));
        }
    }
}

// --- who runs when -----------------------------------------------------------------------------

Tally World::run() {
    const std::uint64_t stop_at =
        has(Fault::kEarlyStop) ? chance_[kFaults].below(scenario_.packets) : scenario_.packets;
    while (brought_ < stop_at) {
        step();
    }
    end_process(has(Fault::kEarlyStop) ? chance_[kFaults].below(20) : 100'000);
    tally_.seeds = 1;
    return tally_;
}

// Whoever is due first.
void World::step() {
    ++tally_.steps;
    std::size_t next = 0;
    for (std::size_t w = 1; w < workers_.size(); ++w) {
        next = workers_[w].due < workers_[next].due ? w : next;
    }
    const Nanoseconds worker = workers_[next].due;
    const Nanoseconds first = std::min({worker, next_traffic_, next_turn_, next_harm_});
    now_ = std::max(now_, first);
    if (first == next_traffic_) {
        bring_packets();
    } else if (first == next_turn_) {
        turn();
    } else if (first == next_harm_) {
        harm();
    } else {
        poll(next);
        Chance& chance = chance_[kWorkers];
        Nanoseconds gap = 500 + chance.gap(4 * kMicrosecond);
        if (has(Fault::kSlowWorker) && chance.once_in(60)) {
            gap += chance.below(shape_.window / 4);
        }
        if (has(Fault::kAwayWorker) && chance.once_in(400)) {
            gap += shape_.window + chance.below(3 * shape_.window);
        }
        workers_[next].due = now_ + gap;
    }
}

void World::bring_packets() {
    Chance& chance = chance_[kTraffic];
    const std::uint64_t n = chance.between(1, burst_of_traffic_);
    for (std::uint64_t i = 0; i < n; ++i) {
        bring_packet(now_);
    }
    next_traffic_ = now_ + n * between_packets_ / 2 + chance.gap(n * between_packets_ / 2);
    if (chance.once_in(500)) {
        next_traffic_ += chance.below(10 * shape_.window);  // silence
    }
}

// A new packet, or a copy of one, mostly of a young one.
void World::bring_packet(Nanoseconds due) {
    Chance& chance = chance_[kTraffic];
    ++brought_;
    Packet packet;
    packet.port = static_cast<std::uint8_t>(chance.below(2));
    const bool copy = !originals_.empty() && chance.below(100) < echo_percent_;
    const bool has_key = !chance.once_in(40);
    if (copy) {
        const Nanoseconds age = chance.one_of({shape_.window / 50, shape_.window / 2, shape_.window,
                                               2 * shape_.window, 5 * shape_.window});
        const Nanoseconds from = now_ - std::min<Nanoseconds>(now_, chance.below(age + 1));
        auto at = std::lower_bound(
            originals_.begin(), originals_.end(), from,
            [](const Original& original, Nanoseconds time) { return original.at < time; });
        at -= at == originals_.end() ? 1 : 0;
        packet.key = at->key;
        packet.flow = at->flow;
    } else if (has_key) {
        packet.key = next_key_++;
        packet.flow = static_cast<std::uint32_t>(chance.below(flows_));
        originals_.push_back({packet.key, packet.flow, now_});
    }
    PacketSpec spec;
    spec.source = 0x0A000000U + packet.flow;
    spec.ttl = static_cast<std::uint8_t>(64 - packet.port);
    spec.id = static_cast<std::uint16_t>(packet.key);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        spec.payload.push_back(static_cast<std::uint8_t>(packet.key >> shift));
    }
    const Bytes bytes =
        packet.key != 0 ? build(spec) : build_ethernet(0x0806, Bytes(46, 1), PacketSpec{});
    if (now_ < buffers_back_) {
        return;
    }
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(packet_pool());
    require(mbuf != nullptr, "the pool is empty: buffers leak");
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size())), bytes.data(),
                bytes.size());
    const auto id = static_cast<std::uint32_t>(packets_.size());
    number_.of(mbuf) = id;
    if (!devices_[packet.port]->offer(mbuf, due)) {
        rte_pktmbuf_free(mbuf);
        return;
    }
    packets_.push_back(packet);
    live_.push_back(id);
}

// What Supervisor::watch() does for filters and reloads, and now and then a status.
void World::turn() {
    Chance& chance = chance_[kControl];
    longest_turn_ = std::max(longest_turn_, now_ - last_turn_);
    last_turn_ = now_;
    if (state_ != nullptr) {
        state_->tell_alive(now_);
    }
    turns_->tick([this] { return now_ += 20; });
    if (auto next = reload_->step(now_, *turns_, true)) {
        config_ = std::move(next->config);
        ++tally_.reloads;
    }
    note_setup();
    while (turns_->zero() && !chance.once_in(8)) {
    }
    if (has(Fault::kSnapshot) && chance.once_in(4)) {
        if (!asked_for_status_) {
            reader_->ask_ahead();
            asked_for_status_ = true;
        } else if (const auto fates = reader_->answered(*wiring_->present().plan)) {
            check_report(*fates);
            asked_for_status_ = false;
        }
    }
    next_turn_ = std::min(now_ + 50 * kMicrosecond, turns_->due()) + chance.below(5000);
    next_turn_ = std::max(next_turn_, now_ + 100);
    if (has(Fault::kLateTurns) && chance.once_in(10)) {
        next_turn_ += chance.below(shape_.window / 2);
    }
    if (has(Fault::kVeryLateTurns) && chance.once_in(100)) {
        next_turn_ += chance.below(3 * shape_.window);
    }
    if (chance_[kBeside].once_in(3)) {
        reload_->work_once();
    }
}

void World::harm() {
    Chance& chance = chance_[kFaults];
    next_harm_ = now_ + chance.below(2 * shape_.window);
    if (now_ >= link_back_) {
        for (const auto& device : devices_) {
            device->behaviour().link_up = true;
        }
    }
    if (has(Fault::kLinkFlap) && chance.once_in(4)) {
        devices_[chance.below(devices_.size())]->behaviour().link_up = false;
        link_back_ = now_ + chance.below(shape_.window);
        next_harm_ = std::min(next_harm_, link_back_);
    }
    if (has(Fault::kNoBuffers) && chance.once_in(4)) {
        buffers_back_ = now_ + chance.below(shape_.window);
    }
    if (has(Fault::kClockJump) && chance.once_in(8)) {
        now_ += chance.below(5 * shape_.window);
    }
    if (has(Fault::kReload) && chance.once_in(3)) {
        change_configuration();
    }
    if (has(Fault::kRestart) && chance.once_in(6)) {
        restart();
    }
}

void World::change_configuration() {
    text_ = shape_.another(chance_[kFaults]).text();
    asked_.fetch_add(1, std::memory_order_relaxed);
}

// --- a worker's round --------------------------------------------------------------------------

void World::poll(std::size_t w) {
    dataplane::Worker& worker = wiring_->worker(w);
    WorkerState& state = workers_[w];
    mark_unfiltered(w);
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
    if (another) {
        note_adoption(lane_of(*state.setup), lane_of(*adopted));
    }
    state.longest_gap = std::max(state.longest_gap, now_ - state.begun);
    state.begun = begun;
    look();
    state.setup = adopted;
    judge(w, state.counters, begun, another, false);
    check_books(w);
    check_totals();
    check_growth(state.counters, worker.counters());
}

// A filter that another one takes the place of is asked until that one knows all; but for one that
// cannot tell how likely its matches are accidents, and may be worse than is allowed now.
void World::note_adoption(const Lane& was, const Lane& is) {
    if (is.now->filter == was.now->filter ||
        (is.before != nullptr && is.before->filter == was.now->filter)) {
        return;
    }
    require(!engines::info_of(engine_of_.at(was.now->filter)).judges,
            "a filter is given up at once that could have been asked");
    for (const pipeline::Lane* one : {was.now, was.before}) {
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

void World::mark_unfiltered(std::size_t w) {
    for (const rte_ring* ring : wiring_->setup(w).steering.in) {
        if (ring != nullptr) {
            each_entry(ring, [&](void* entry) {
                const auto handed = dataplane::Handed::of(entry);
                packets_.at(number_.of(handed.mbuf)).unfiltered = handed.unfiltered;
            });
        }
    }
}

// Where every packet buffer is.
void World::look() {
    ++looks_;
    for (const auto& device : devices_) {
        for (const rte_mbuf* mbuf : device->waiting()) {
            look_at(mbuf, Place::kWaiting, 0);
        }
    }
    for (std::size_t i = 0; i < wiring_->workers(); ++i) {
        const dataplane::WorkerSetup& setup = wiring_->setup(i);
        for (const dataplane::HeldBack& held : setup.receive.held_back) {
            for (unsigned k = 0; k < held.count; ++k) {
                look_at(held.mbufs[k], Place::kHeld, i);
            }
        }
        for (const rte_ring* ring : setup.steering.in) {
            if (ring != nullptr) {
                each_entry(ring, [&](void* entry) {
                    look_at(dataplane::Handed::of(entry).mbuf, Place::kSteering, i);
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

// Changes of place are judged with judge(); here only where it is now stands.
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

// --- what it did -------------------------------------------------------------------------------

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

}  // namespace

// Packet by packet from the place before to the present one, and what was counted of it.
void World::judge(std::size_t w, const dataplane::Counters& before, Nanoseconds begun, bool another,
                  bool stopping) {
    const dataplane::Counters& after = wiring_->worker(w).counters();
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
                } else if (packet.key == 0) {
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
        judge_keys(w, decided, lost, doubts, begun, another);
    }
}

World::Lane World::lane_of(const dataplane::WorkerSetup& setup) const {
    const FilterIndex filter = setup.routes[0].filter;
    const FilterIndex before = setup.lanes.before[filter];
    return {&setup.lanes.lanes[filter],
            before == dataplane::LanesSetup::kNoFilter ? nullptr : &setup.lanes.lanes[before]};
}

// It may be taken for an echo: by the filter's own generations, and not much longer than window and
// slack, which grow by what control thread and worker came late.
bool World::may_know(const Memory& memory, const Lane& lane, Nanoseconds time,
                     std::size_t w) const {
    if (!memory.maybe) {
        return false;
    }
    for (const pipeline::Lane* one : {lane.now, lane.before}) {
        if (one == nullptr ||
            (memory.maybe_filter != nullptr && one->filter != memory.maybe_filter)) {
            continue;
        }
        if (memory.maybe_filter == nullptr ||
            engine_of_.at(one->filter) == engines::Engine::kTlbf) {
            return true;  // by chance slices match long after (filter/window/tlbf.h, weakness)
        }
        const std::uint64_t through = one->ageing->through();
        const Nanoseconds late = std::max(longest_turn_, now_ - last_turn_) +
                                 workers_[w].longest_gap + 10 * kMicrosecond;
        if (engine_of_.at(one->filter) == engines::Engine::kExact) {
            return time <= memory.until + one->remembered + late;
        }
        return one->ageing->generation() <= memory.generation + through + 1 &&
               time <= memory.until + (through + 1) * (longest_generation_ + late);
    }
    return false;
}

// It has to be: younger than what its filter has kept. What was kept when it was decided is at
// least what is kept after the round less the round.
bool World::must_know(const Memory& memory, const Lane& lane, Nanoseconds time,
                      Nanoseconds took) const {
    if (!memory.sure) {
        return false;
    }
    const Nanoseconds age = time - std::min(time, memory.from) + took;
    for (const pipeline::Lane* one : {lane.now, lane.before}) {
        if (one != nullptr && one->filter == memory.filter) {
            return age < one->ops->window(one->filter, *one->ageing, time).achieved;
        }
    }
    const auto kept = kept_.find(memory.filter);
    return kept != kept_.end() && age < std::min(kept->second, shortest_window_);
}

void World::judge_keys(std::size_t w, const std::vector<std::uint32_t>& decided, std::uint64_t lost,
                       std::uint64_t doubts, Nanoseconds begun, bool another) {
    WorkerState& state = workers_[w];
    const Lane lane = lane_of(*state.setup);
    Nanoseconds time = lane.now->ageing->time();
    if (lane.before != nullptr) {
        time = std::max(time, lane.before->ageing->time());
    }
    // Engines that keep times do not say by which; a worker that was never away goes by the clock.
    const bool away = state.longest_gap >= dataplane::Presence::limit_for(shortest_window_);
    const bool tells = engines::info_of(engine_of_.at(lane.now->filter)).by_generation;
    // Nor does one that was adopted in this round.
    time = std::max({tells ? time : begun, another && !away ? begun : 0, state.time});
    const bool known = tells || !away;
    require(time <= now_, "a worker's time is ahead of the clock");
    require(!known || time - state.time <= now_ - state.time_at,
            "a worker's time goes faster than the clock");
    if (known) {
        // A turn amid a pause in which nothing came is at the time that stood still, which then
        // goes on as if it had not.
        state.time_at = time == state.time || decided.empty() ? state.time_at : begun;
        state.time = time;
    }
    const filter::WindowState window =
        lane.now->ops->window(lane.now->filter, *lane.now->ageing, time);
    require(window.early_turns != 0 || window.achieved >= lane.now->window ||
                lane.now->ops->counters(lane.now->filter).evicted_early != 0 ||
                went_on_.count(lane.now->filter) != 0,
            "a filter keeps less than its window, and nothing made it forget early");
    if (known) {
        Nanoseconds& kept = kept_.try_emplace(lane.now->filter, ~Nanoseconds{0}).first->second;
        kept = std::min(kept, window.achieved);
    }
    const Nanoseconds took = now_ - begun;
    const bool any = std::any_of(decided.begin(), decided.end(), [&](std::uint32_t id) {
        return packets_[id].key != 0 && !packets_[id].unfiltered;
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
        const auto owner =
            owner_of_flow_.try_emplace(packet.key == 0 ? ~0U : packet.flow, w).first->second;
        require_equal(w, owner, "the worker that decides a flow's packet");
        if (packet.key == 0 || packet.unfiltered) {
            continue;
        }
        Group& group = groups[packet.key];
        if (packet.place == Place::kGone) {
            ++group.dropped;
        } else if (packet.place == Place::kSent ? packet.out == kSpare
                                                : packet.tag == Reason::kEchoDiverted) {
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
            known ? may_know(memory, lane, time - std::min(time, took), w) : memory.maybe;
        const bool must = known && !another && must_know(memory, lane, time, took);
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
        // What was lost may have been filed.
        if (group.passed != 0 || !may || (group.dropped != 0 && lost != 0)) {
            memory.maybe = true;
            memory.maybe_filter = another ? nullptr : lane.now->filter;
            memory.generation = lane.now->ageing->generation();
            memory.until = time;
        }
        if (group.passed != 0) {
            memory.sure = known && !another;
            memory.filter = lane.now->filter;
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

void World::check_order(const Packet& packet, std::uint32_t id) {
    const std::uint64_t flow = std::uint64_t{packet.key == 0 ? ~0U : packet.flow} << 8 |
                               std::uint64_t{packet.port} << 4 | packet.out;
    const auto [last, first] = last_of_flow_.try_emplace(flow, id);
    if (!first && last->second >= id) {
        wrong("packet " + std::to_string(id) + " is sent behind " + std::to_string(last->second) +
              " of its flow");
    }
    last->second = id;
}

// Of one worker, as Counters says; and what its ports took.
void World::check_books(std::size_t w) {
    const dataplane::Counters& c = wiring_->worker(w).counters();
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
            delivered +=
                pipeline::kReasonTable[i].fate == pipeline::Fate::kDropped ? 0 : route[i].packets;
        }
    }
    require_equal(out, in, "a worker's reasons and handed out, of received and handed in");
    require_equal(std::accumulate(c.received.begin(), c.received.end(), std::uint64_t{0}), received,
                  "received by route, of those by port");
    require_equal(transmitted, delivered, "a worker's packets sent, of those forwarded");
}

// Of all workers together, against what devices and rings say.
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
    for (std::size_t w = 0; w < wiring_->workers(); ++w) {
        const dataplane::Counters& c = wiring_->worker(w).counters();
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

// All are numbers of 64 bits but the port at the end.
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

void World::check_report(const control::FateCounts& fates) {
    ++tally_.snapshots;
    require_equal(fates.forwarded + fates.diverted + fates.dropped + fates.in_flight,
                  fates.received, "a status: forwarded, diverted, dropped, in flight");
    for (const auto field : {&control::FateCounts::received, &control::FateCounts::forwarded,
                             &control::FateCounts::diverted, &control::FateCounts::dropped}) {
        require(fates.*field >= told_.*field, "a status: a counter decreases");
    }
    require(fates.forwarded <= to_tool_ && fates.diverted <= to_spare_,
            "a status: more than was sent");
    told_ = fates;
}

// --- the end -----------------------------------------------------------------------------------

// As Supervisor::run() ends, but that the drain is cut short after so many rounds.
void World::end_process(std::uint64_t rounds) {
    reload_->stop();
    const auto phase = [this](dataplane::Phase to) {
        for (std::size_t w = 0; w < wiring_->workers(); ++w) {
            wiring_->shared(w).phase.store(to);
        }
    };
    phase(dataplane::Phase::kDraining);
    for (std::uint64_t i = 0; i < rounds; ++i) {
        now_ += chance_[kWorkers].below(3000);
        poll(chance_[kWorkers].below(workers_.size()));
        if (std::none_of(live_.begin(), live_.end(),
                         [&](std::uint32_t id) { return packets_[id].place != Place::kWaiting; })) {
            break;
        }
    }
    check_totals();
    phase(dataplane::Phase::kStopped);
    reader_->close([&] {
        for (std::size_t w = 0; w < wiring_->workers(); ++w) {
            const dataplane::Counters before = wiring_->worker(w).counters();
            sent_.clear();
            wiring_->worker(w).settle_leftovers();
            look();
            judge(w, before, now_, false, true);
            check_books(w);
            tally_.turns += lane_of(*workers_[w].setup).now->ageing->generation();
        }
    });
    for (const std::uint32_t id : live_) {
        require(packets_[id].place == Place::kWaiting, "a packet is left between workers");
    }
    check_totals();
    const control::StatsReport report = reader_->read(*wiring_->present().plan);
    check_report(report.totals);
    require_equal(report.totals.in_flight, 0, "in flight when all is over");
    require_equal(report.totals.forwarded, to_tool_, "forwarded when all is over");
    tally_.packets += report.totals.received;
    note_ends();
    filters_.clear();
    if (state_ != nullptr) {
        state_->remove_unneeded(false);
    }
    reload_.reset();
    turns_.reset();
    wiring_.reset();
    state_.reset();
    for (const auto& device : devices_) {
        device->reset();
    }
    live_.clear();
    require_equal(rte_mempool_avail_count(packet_pool()), buffers_, "packet buffers that are back");
}

// What each worker's filter is when the process ends, by which it is known again. While it is
// warmed neither it nor the one before it knows all that it should.
void World::note_ends() {
    ends_.clear();
    const control::WiringSetup& setup = wiring_->present();
    const FilterIndex place = setup.workers[0].routes[0].filter;
    const bool warmed = setup.before[place] != dataplane::LanesSetup::kNoFilter;
    for (std::size_t w = 0; !warmed && w < wiring_->workers(); ++w) {
        const control::FilterSet& filter = *setup.filters[place];
        ends_.push_back({w, *filter.lanes[w].ageing, filter.plan});
    }
}

namespace {

bool same_plan(const engines::FilterPlan& a, const engines::FilterPlan& b) {
    return engines::geometry_text(a.geometry) == engines::geometry_text(b.geometry) &&
           a.ageing_spec() == b.ageing_spec() && a.instance_bytes == b.instance_bytes;
}

// What is said of a worker's filter.
bool goes_on(const std::vector<std::string>& notes, std::size_t worker) {
    const std::string here = "begins empty on worker " + std::to_string(worker) + ":";
    return !notes.empty() && std::none_of(notes.begin(), notes.end(), [&](const std::string& note) {
        return note.find("begin empty:") != std::string::npos ||
               note.find("begins empty:") != std::string::npos ||
               note.find(here) != std::string::npos;
    });
}

}  // namespace

// Another process, at once or some time later. A filter goes on with what one like it knew, if its
// window has not passed since the process before was seen to live; else it begins empty.
void World::restart() {
    ++tally_.restarts;
    end_process(chance_[kFaults].below(20));
    now_ += chance_[kFaults].one_of({Nanoseconds{0}, shape_.window / 10, 2 * shape_.window});
    told_ = {};
    to_tool_ = to_spare_ = 0;
    asked_for_status_ = false;
    asked_ = 0;
    engine_of_.clear();
    kept_.clear();
    went_on_.clear();
    std::vector<WorkerState> before = std::exchange(workers_, {});
    first_setups_.clear();
    const Nanoseconds away = now_ - std::min(now_, last_turn_);
    start();
    std::unordered_map<std::uint8_t, const void*> went_on;  // by worker
    const engines::FilterPlan& plan =
        wiring_->present().filters[wiring_->setup(0).routes[0].filter]->plan;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
        const pipeline::Lane& lane = *lane_of(*workers_[w].setup).now;
        workers_[w].longest_gap = std::max(before[w].longest_gap, now_ - before[w].begun);
        workers_[w].time = workers_[w].time_at = lane.ageing->time();
        const bool kept = goes_on(state_->notes(), w);
        const bool in_time = away < lane.remembered;
        const auto like = std::find_if(ends_.begin(), ends_.end(), [&](const End& end) {
            return end.worker == w && same_plan(end.plan, plan);
        });
        require(!kept || in_time, "a filter goes on though its window has passed");
        require(kept || like == ends_.end() || !in_time,
                "a filter begins empty though there was one like it");
        if (kept) {
            require(like != ends_.end() && lane.ageing->time() == like->ageing.time() &&
                        lane.ageing->generation() == like->ageing.generation(),
                    "a filter goes on with what it never was");
            went_on.emplace(w, lane.filter);
            went_on_.insert(lane.filter);
            ++tally_.gone_on;
        }
    }
    // One that goes on says what window it has kept, of all that came.
    for (auto& [key, memory] : memories_) {
        const auto filter = went_on.find(memory.worker);
        memory.sure = memory.sure && filter != went_on.end();
        memory.filter = memory.sure ? filter->second : nullptr;
        memory.maybe = memory.maybe && filter != went_on.end();
        memory.maybe_filter = nullptr;
    }
}

}  // namespace

std::string state_folder(int process) {
    return "/dev/shm/unecho-simulate-" + std::to_string(process);
}

void Tally::add(const Tally& other) {
    seeds += other.seeds;
    steps += other.steps;
    packets += other.packets;
    echoes += other.echoes;
    musts += other.musts;
    doubts += other.doubts;
    news += other.news;
    false_drops += other.false_drops;
    false_drops_allowed += other.false_drops_allowed;
    overloads += other.overloads;
    lost += other.lost;
    turns += other.turns;
    reloads += other.reloads;
    snapshots += other.snapshots;
    restarts += other.restarts;
    gone_on += other.gone_on;
}

bool within_bound(const Tally& tally) {
    const double mean = tally.false_drops_allowed;
    return static_cast<double>(tally.false_drops) <= mean + 6 * std::sqrt(mean) + 6;
}

Tally simulate(const Scenario& scenario, std::vector<std::unique_ptr<Device>>& devices,
               const PacketNumber& number) {
    World world(scenario, devices, number);
    Tally tally = world.run();
    if (!within_bound(tally)) {
        wrong(std::to_string(tally.false_drops) + " false drops, where the bound allows " +
              std::to_string(tally.false_drops_allowed) + " in the mean");
    }
    return tally;
}

}  // namespace unecho::test
