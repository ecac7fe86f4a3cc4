// SPDX-License-Identifier: BSD-3-Clause
#include "world.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include <rte_ring.h>

#include "config/load.h"
#include "control/filter_turns.h"
#include "control/plan.h"
#include "control/reload.h"
#include "control/stats.h"
#include "control/wiring.h"
#include "dataplane/presence.h"
#include "eal/mbufs.h"
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

// What chance decides, in a stream of its own: without one fault all others happen as before.
class Chance {
  public:
    Chance(std::uint64_t seed, unsigned stream) : engine_(seed * 64 + stream) {}

    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    std::uint64_t between(std::uint64_t least, std::uint64_t most) {
        return least + below(most - least + 1);
    }
    bool once_in(std::uint64_t n) { return below(n) == 0; }
    template <typename T>
    T one_of(std::initializer_list<T> list) {
        return *(list.begin() + below(list.size()));
    }
    // Of mean `mean`, mostly shorter.
    Nanoseconds gap(Nanoseconds mean) {
        const double u = static_cast<double>(below(1 << 20) + 1) / (1 << 20);
        return static_cast<Nanoseconds>(-std::log(u) * static_cast<double>(mean));
    }

  private:
    std::mt19937_64 engine_;
};

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

constexpr PortIndex kTool = 2;
constexpr PortIndex kSpare = 3;

// A configuration, of which reloads change a part.
struct Shape {
    unsigned workers = 1;
    unsigned tx_queues = 1;
    unsigned burst = 32;
    unsigned ring_size = 256;
    const char* engine = "line";
    const char* on_full = "shrink";
    Nanoseconds window = kMillisecond;
    std::uint64_t rate = 100'000;
    const char* bound = "1e-3";
    bool diverts = false;
    Nanoseconds retry = 0;

    [[nodiscard]] std::string text() const {
        std::string out;
        const char* const names[] = {"a", "b", "tool", "spare"};
        for (unsigned i = 0; i < (diverts ? 4 : 3); ++i) {
            out += "[[port]]\nname = \"" + std::string(names[i]) + "\"\ndevice = \"net_null" +
                   std::to_string(i) + "\"\n";
        }
        out += "[[filter]]\nname = \"f\"\nengine = \"" + std::string(engine) + "\"\nwindow = \"" +
               std::to_string(window) + "ns\"\nrate = \"" + std::to_string(rate) +
               "pps\"\nmax_false_drop = " + bound + "\non_full = \"" + on_full + "\"\n";
        out += "[[route]]\nname = \"r\"\nfrom = [\"a\", \"b\"]\nto = \"tool\"\nfilter = \"f\"\n";
        out += std::string("on_echo = \"") + (diverts ? "spare" : "drop") + "\"\n";
        out += "[workers]\nlcores = [";
        for (unsigned w = 0; w < workers; ++w) {
            out += (w == 0 ? "" : ", ") + std::to_string(w);
        }
        out += "]\nring_size = " + std::to_string(ring_size) +
               "\nburst = " + std::to_string(burst) + "\n[run]\nname = \"sim\"\n";
        return out;
    }
};

Shape shape_of(Chance& chance) {
    Shape shape;
    shape.workers = static_cast<unsigned>(chance.between(1, 3));
    shape.tx_queues = chance.once_in(2) ? 1 : 4;
    shape.burst = chance.one_of({1U, 4U, 8U, 16U, 21U});
    shape.ring_size = chance.one_of({64U, 64U, 256U});
    shape.engine = chance.one_of({"line", "line", "apbbf", "apbf", "shbf"});
    shape.on_full = chance.one_of({"shrink", "shrink", "doubt"});
    shape.window = chance.between(300, 3000) * kMicrosecond;
    shape.rate = chance.one_of({50'000U, 200'000U, 500'000U});
    shape.bound = chance.one_of({"1e-2", "1e-3", "1e-4"});
    shape.diverts = chance.once_in(3);
    shape.retry = chance.one_of({Nanoseconds{0}, 2 * kMicrosecond, 20 * kMicrosecond});
    return shape;
}

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
        assemble();
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

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
    void assemble();
    void start_devices();

    void step();
    void bring_packets();
    void bring_packet(Nanoseconds due);
    void turn();
    void poll(std::size_t w);
    void harm();
    void change_configuration();
    void stop();

    void look();
    void look_at(const rte_mbuf* mbuf, Place place, std::size_t owner);
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
    config::Config config_;
    control::Machine machine_;
    hash::Secret secret_{};
    pipeline::AuditSecret audit_secret_ = pipeline::audit_secret_from(7);
    control::Plan plan_;
    std::unique_ptr<control::Wiring> wiring_;
    control::FilterTurns turns_;
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
    shape_ = shape_of(chance);
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

void World::assemble() {
    text_ = shape_.text();
    config_ = loaded(text_);
    for (LcoreId cpu = 0; cpu < 4; ++cpu) {
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
    static unsigned number = 0;
    control::WiringInput input;
    input.plan = &plan_;
    for (std::size_t p = 0; p < config_.ports.size(); ++p) {
        input.ports.push_back(devices_[p]->id());
    }
    input.secret = &secret_;
    input.audit_secret = &audit_secret_;
    input.clock = {0, std::uint64_t{1} << 32, &now_, 20};
    input.burst = shape_.burst;
    input.ring_size = shape_.ring_size;
    input.tx_retry_cycles = shape_.retry;
    input.name = "sim" + std::to_string(number++);
    auto wiring = control::Wiring::make(input);
    if (!wiring) {
        wrong("the wiring: " + wiring.error().context);
    }
    wiring_ = std::move(*wiring);
    turns_.follow(wiring_->present(), true, now_);
    std::vector<dataplane::WorkerShared*> shared;
    for (std::size_t w = 0; w < wiring_->workers(); ++w) {
        shared.push_back(&wiring_->shared(w));
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
    note_setup();
    start_devices();
    next_harm_ = now_ + shape_.window;
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
            filters_.insert(filter);
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
    stop();
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
    turns_.tick([this] { return now_ += 20; });
    if (auto next = reload_->step(now_, turns_, true)) {
        config_ = std::move(next->config);
        ++tally_.reloads;
    }
    note_setup();
    while (turns_.zero() && !chance.once_in(8)) {
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
    next_turn_ = std::min(now_ + 50 * kMicrosecond, turns_.due()) + chance.below(5000);
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
}

void World::change_configuration() {
    Chance& chance = chance_[kFaults];
    Shape wanted = shape_;
    switch (chance.below(4)) {
        case 0:
            wanted.window = shape_.window * chance.between(5, 20) / 10;
            break;
        case 1:
            wanted.bound = chance.one_of({"1e-2", "1e-3", "1e-4"});
            break;
        case 2:
            wanted.rate = shape_.rate * chance.between(5, 20) / 10;
            break;
        default:
            wanted.engine = chance.one_of({"line", "apbbf", "apbf", "shbf"});
            break;
    }
    text_ = wanted.text();
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
    state.longest_gap = std::max(state.longest_gap, now_ - state.begun);
    state.begun = begun;
    look();
    state.setup = adopted;
    judge(w, state.counters, begun, another, false);
    check_books(w);
    check_totals();
    check_growth(state.counters, worker.counters());
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
        if (memory.maybe_filter == nullptr) {
            return true;
        }
        const std::uint64_t through = one->ageing->through();
        const Nanoseconds late = std::max(longest_turn_, now_ - last_turn_) +
                                 workers_[w].longest_gap + 10 * kMicrosecond;
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
            return age < one->ops->window(one->filter, *one->ageing, 0).achieved;
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
    time = std::max(time, state.time);
    require(time <= now_, "a worker's time is ahead of the clock");
    require(time - state.time <= now_ - state.time_at,
            "a worker's time goes faster than the clock");
    // A turn amid a pause in which nothing came is at the time that stood still, which then goes on
    // as if it had not.
    state.time_at = time == state.time || decided.empty() ? state.time_at : begun;
    state.time = time;
    const filter::WindowState window =
        lane.now->ops->window(lane.now->filter, *lane.now->ageing, 0);
    require(window.early_turns != 0 || window.achieved >= lane.now->window,
            "a filter keeps less than its window, and no generation ended early");
    Nanoseconds& kept = kept_.try_emplace(lane.now->filter, ~Nanoseconds{0}).first->second;
    kept = std::min(kept, window.achieved);
    const Nanoseconds took = now_ - begun;
    const bool any = std::any_of(decided.begin(), decided.end(), [&](std::uint32_t id) {
        return packets_[id].key != 0 && !packets_[id].unfiltered;
    });
    if (any && state.longest_gap < dataplane::Presence::limit_for(shortest_window_)) {
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
        const bool may = may_know(memory, lane, time - std::min(time, took), w);
        const bool must = !another && must_know(memory, lane, time, took);
        tally_.musts += must ? group.passed + group.dropped + group.diverted : 0;
        if (must) {
            missed += group.passed;
        } else if (group.passed > 1 && !another &&
                   2 * took <
                       lane.now->ops->window(lane.now->filter, *lane.now->ageing, 0).achieved) {
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
            memory.sure = !another;
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
    require_equal(c.received[0], received, "received by route, of those by port");
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
        received += c.received[0];
        for (const auto& reason : c.routes[0]) {
            reasons += reason.packets;
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

// As Supervisor::run() ends, but that the drain may be cut short.
void World::stop() {
    reload_->stop();
    const auto phase = [this](dataplane::Phase to) {
        for (std::size_t w = 0; w < wiring_->workers(); ++w) {
            wiring_->shared(w).phase.store(to);
        }
    };
    phase(dataplane::Phase::kDraining);
    const std::uint64_t rounds = has(Fault::kEarlyStop) ? chance_[kFaults].below(20) : 100'000;
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
    tally_.packets = report.totals.received;
    reload_.reset();
    wiring_.reset();
    for (const auto& device : devices_) {
        device->reset();
    }
    require_equal(rte_mempool_avail_count(packet_pool()), buffers_, "packet buffers that are back");
}

}  // namespace

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
