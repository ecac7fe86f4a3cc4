// SPDX-License-Identifier: BSD-3-Clause
#include "life.h"

#include <algorithm>
#include <utility>

namespace unecho::test {
namespace {

config::Config loaded(const std::string& text) {
    auto config = config::load_text(text, "sim.toml");
    if (!config) {
        wrong("the configuration: " + config::to_text(config.error(), "sim.toml"));
    }
    return *config;
}

}  // namespace

void World::choose() {
    Chance& chance = chance_[kShape];
    for (unsigned i = 0; i < static_cast<unsigned>(Fault::kRepeats); ++i) {
        faults_ |= static_cast<std::uint32_t>(chance.below(5) < 2) << i;
    }
    faults_ |= chance_[kRepeats].once_in(5) ? 0 : 1U << static_cast<unsigned>(Fault::kRepeats);
    faults_ &= scenario_.faults;
    shape_ = Shape::by(chance);
    if (has(Fault::kRepeats)) {
        shape_.vary_repeats(chance_[kRepeats]);
        choose_traffic();
    }
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

// Start a process with the state that its predecessor saved, if [state] allows it.
void World::start() {
    text_ = text_.empty() ? shape_.text() : text_;
    config_ = loaded(text_);
    for (LcoreId cpu = 0; machine_.cpus.size() < 4; ++cpu) {
        machine_.cpus.push_back(cpu);
    }
    eal::DeviceInfo facts;
    facts.driver = "net_ring";
    facts.max_rx_queues = 1;
    facts.max_tx_queues = static_cast<std::uint16_t>(shape_.tx_queues);
    auto plan = appliance::make_plan(config_, machine_,
                                     std::vector<eal::DeviceInfo>(config_.ports.size(), facts));
    if (!plan) {
        wrong("the plan: " + config::to_text(plan.error(), "sim.toml"));
    }
    plan_ = *plan;
    secret_ = hash::secret_from_seed(scenario_.seed);
    if (has(Fault::kRestart)) {
        auto state =
            appliance::WarmRestartStore::open(state_folder(getpid()), plan_, "simulation",
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
        state_->remove_unused_files(true);
        require(state_->end_start().has_value(), "what is kept is not put in order");
    }
    note_setup();
    check_plan();
    start_devices();
    next_harm_ = now_ + shape_.window;
}

void World::assemble() {
    static unsigned number = 0;
    appliance::TopologyInput input;
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
    auto topology = appliance::Topology::make(input);
    if (!topology) {
        wrong("the wiring: " + topology.error().context);
    }
    topology_ = std::move(*topology);
    turns_ = std::make_unique<appliance::RotationTimers>();
    turns_->follow(topology_->present(), true, now_);
    std::vector<dataplane::WorkerShared*> shared;
    for (std::size_t w = 0; w < topology_->workers(); ++w) {
        shared.push_back(&topology_->shared(w));
        topology_->worker(w).begin();
        workers_.emplace_back();
        workers_[w].begun = now_;
        first_setups_.push_back(std::make_unique<dataplane::WorkerSetup>(topology_->setup(w)));
        workers_[w].setup = first_setups_.back().get();
        workers_[w].due = now_ + chance_[kWorkers].below(kMicrosecond);
    }
    reader_ = std::make_unique<appliance::StatsReader>(shared);
    reload_ = std::make_unique<appliance::Reload>(
        *topology_, machine_, config_,
        appliance::ReloadSource{[this] { return config::load_text(text_, "sim.toml"); }, &asked_},
        [](const std::string&) {}, appliance::Reload::ReloadThread::kCaller);
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
        behaviour.asked = [this] { receives_.push_back(now_); };
        behaviour.given = [this](rte_mbuf* mbuf) {
            Packet& packet = packets_.at(number_.of(mbuf));
            packet.order = kReceived + ++ordered_;
            packet.receive = receives_.size() - 1;
        };
    }
}

// Record facts about the setup that workers have or are to apply.
void World::note_setup() {
    for (const auto& filter : topology_->present().filters) {
        if (filter != nullptr) {
            if (filters_.insert(filter).second) {
                for (const pipeline::FilterContext& context : filter->contexts) {
                    engine_of_.emplace(context.filter, filter->plan.engine().engine);
                }
            }
            longest_generation_ = std::max(longest_generation_, filter->plan.clock.length);
            shortest_window_ = std::min(shortest_window_, filter->plan.window);
            bound_ = std::max(bound_, config_.filters[0].max_false_drop.value_or(0));
        }
    }
}

// --- scheduling --------------------------------------------------------------------------------

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

// Run the worker or control thread that is due first.
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

// Do what Supervisor::watch() does for filters and reloads, and sometimes read a status.
void World::turn() {
    Chance& chance = chance_[kControl];
    longest_turn_ = std::max(longest_turn_, now_ - last_turn_);
    last_turn_ = now_;
    if (state_ != nullptr) {
        state_->note_alive(now_);
    }
    turns_->tick([this] { return now_ += 20; });
    if (auto next = reload_->step(now_, *turns_, true)) {
        config_ = std::move(next->config);
        check_plan();
        ++tally_.reloads;
    }
    note_setup();
    while (turns_->zero() && !chance.once_in(8)) {
    }
    if (has(Fault::kSnapshot) && chance.once_in(4)) {
        if (!asked_for_status_) {
            reader_->request_snapshots();
            asked_for_status_ = true;
        } else if (const auto fates = reader_->answered(*topology_->present().plan)) {
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
    const bool repeats = has(Fault::kRepeats) && chance_[kRepeats].once_in(2);
    text_ = (repeats ? shape_.other_repeats(chance_[kRepeats]) : shape_.another(chance_[kFaults]))
                .text();
    asked_.fetch_add(1, std::memory_order_relaxed);
}

// --- the end of a process ----------------------------------------------------------------------

// End as Supervisor::run() does, except that the drain is cut after so many rounds.
void World::end_process(std::uint64_t rounds) {
    reload_->stop();
    const auto phase = [this](dataplane::Phase to) {
        for (std::size_t w = 0; w < topology_->workers(); ++w) {
            topology_->shared(w).phase.store(to);
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
        for (std::size_t w = 0; w < topology_->workers(); ++w) {
            const dataplane::Counters before = topology_->worker(w).counters();
            sent_.clear();
            topology_->worker(w).settle_leftovers();
            look();
            judge(w, before, now_, false, true, context_of(*workers_[w].setup));
            check_books(w);
            tally_.turns += context_of(*workers_[w].setup).now->ageing->generation();
        }
    });
    for (const std::uint32_t id : live_) {
        require(packets_[id].place == Place::kWaiting, "a packet is left between workers");
    }
    check_totals();
    const appliance::StatsReport report = reader_->read(*topology_->present().plan);
    check_report(report.totals);
    check_repeats(report);
    require_equal(report.totals.in_flight, 0, "in flight when all is over");
    require_equal(report.totals.forwarded, to_tool_, "forwarded when all is over");
    tally_.packets += report.totals.received;
    note_ends();
    filters_.clear();
    if (state_ != nullptr) {
        state_->remove_unused_files(false);
    }
    reload_.reset();
    turns_.reset();
    topology_.reset();
    state_.reset();
    for (const auto& device : devices_) {
        device->reset();
    }
    live_.clear();
    require_equal(rte_mempool_avail_count(packet_pool()), buffers_, "packet buffers that are back");
}

// Record each worker's filter at the end of the process, by which the successor's is recognised.
// While a filter warms up, neither it nor its predecessor knows all that it should.
void World::note_ends() {
    ends_.clear();
    const appliance::WorkerConfigSet& setup = topology_->present();
    const FilterIndex place = setup.workers[0].routes[0].filter;
    const bool warmed = setup.before[place] != dataplane::FilterStageSetup::kNoFilter;
    for (std::size_t w = 0; !warmed && w < topology_->workers(); ++w) {
        const appliance::FilterSet& filter = *setup.filters[place];
        ends_.push_back({w, *filter.contexts[w].ageing, filter.plan, filter.contexts[w].repeats});
    }
}

namespace {

bool same_plan(const engines::FilterPlan& a, const engines::FilterPlan& b) {
    return engines::geometry_text(a.geometry) == engines::geometry_text(b.geometry) &&
           a.ageing_spec() == b.ageing_spec() && a.instance_bytes == b.instance_bytes &&
           a.key.repeats == b.key.repeats && a.key.point == b.key.point &&
           a.key.tags == b.key.tags && a.repeats == b.repeats;
}

// Return true if the notes do not say that this worker's filter begins empty.
bool goes_on(const std::vector<std::string>& notes, std::size_t worker) {
    const std::string here = "begins empty on worker " + std::to_string(worker) + ":";
    return !notes.empty() && std::none_of(notes.begin(), notes.end(), [&](const std::string& note) {
        return note.find("begin empty:") != std::string::npos ||
               note.find("begins empty:") != std::string::npos ||
               note.find(here) != std::string::npos;
    });
}

}  // namespace

// Upper bound on the time by which a starting process reads the clock later: each reading takes
// some.
constexpr Nanoseconds kReadings = kMicrosecond;

// Start another process, at once or later. A filter resumes a saved one of the same plan if its
// window has not passed since the predecessor was last seen alive. Otherwise it begins empty.
void World::restart() {
    ++tally_.restarts;
    end_process(chance_[kFaults].below(20));
    now_ += chance_[kFaults].one_of({Nanoseconds{0}, shape_.window / 10, 2 * shape_.window});
    told_ = {};
    to_tool_ = to_spare_ = 0;
    asked_for_status_ = false;
    asked_ = 0;
    engine_of_.clear();
    const auto kept_before = std::exchange(kept_, {});
    went_on_.clear();
    std::vector<WorkerState> before = std::exchange(workers_, {});
    first_setups_.clear();
    const Nanoseconds away = now_ - std::min(now_, last_turn_);
    start();
    std::unordered_map<std::uint8_t, const void*> went_on;  // by worker
    auto rules = std::exchange(rules_, {});
    const engines::FilterPlan& plan =
        topology_->present().filters[topology_->setup(0).routes[0].filter]->plan;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
        const pipeline::FilterContext& context = *context_of(*workers_[w].setup).now;
        workers_[w].longest_gap = std::max(before[w].longest_gap, now_ - before[w].begun);
        workers_[w].time = workers_[w].time_at = context.ageing->time();
        const bool kept = goes_on(state_->notes(), w);
        const bool in_time = away < context.remembered;
        const bool well_in_time = away + kReadings < context.remembered;
        const auto like = std::find_if(ends_.begin(), ends_.end(), [&](const End& end) {
            return end.worker == w && same_plan(end.plan, plan);
        });
        require(!kept || in_time, "a filter goes on though its window has passed");
        require(kept || like == ends_.end() || !well_in_time,
                "a filter begins empty though there was one like it");
        if (kept) {
            require(like != ends_.end() && context.ageing->time() == like->ageing.time() &&
                        context.ageing->generation() == like->ageing.generation(),
                    "a filter goes on with what it never was");
            went_on.emplace(w, context.filter);
            went_on_.insert(context.filter);
            const auto rule = rules.find(like->repeats);
            if (context.repeats != nullptr && rule != rules.end()) {
                JudgedRule& judged = rules_.insert({context.repeats, rule->second}).first->second;
                judged.counted = {};
                if (before[w].was_away) {
                    judged.oracle.doubt_all(now_);
                }
            }
            ++tally_.gone_on;
        }
    }
    // A resumed filter reports the achieved window of everything it took over. What only its
    // predecessor knew has been given up.
    for (auto& [key, memory] : memories_) {
        const auto filter = went_on.find(memory.worker);
        const auto kept = kept_before.find(memory.filter);
        const bool given_up = kept != kept_before.end() && kept->second == 0;
        memory.sure = memory.sure && filter != went_on.end() && !given_up;
        memory.filter = memory.sure ? filter->second : nullptr;
        memory.maybe = memory.maybe && filter != went_on.end();
        memory.maybe_filter = nullptr;
    }
}

}  // namespace unecho::test
