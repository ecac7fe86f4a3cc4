// SPDX-License-Identifier: BSD-3-Clause
// The life of one simulated appliance: the events that happen to it (life.cpp), and the checks of
// each round of a worker (judge.cpp). Every step throws an error of one line.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <rte_mempool.h>
#include <rte_ring.h>
#include <unistd.h>

#include "appliance/dataplane/worker.h"
#include "appliance/plan/plan.h"
#include "appliance/reload/reload.h"
#include "appliance/state/warm_restart_store.h"
#include "appliance/stats/stats.h"
#include "appliance/timers/rotation_timers.h"
#include "appliance/topology/topology.h"
#include "chance.h"
#include "checks.h"
#include "config/load.h"
#include "dedup/pipeline/reasons.h"
#include "device.h"
#include "eal/mbufs.h"
#include "repeat_oracle.h"
#include "shape.h"
#include "world.h"

namespace unecho::test {

using pipeline::Reason;

enum Stream : unsigned { kShape, kTraffic, kWorkers, kControl, kBeside, kFaults, kRepeats };

enum class Place : std::uint8_t { kWaiting, kHeld, kSteering, kSending, kSent, kGone };

enum class Kind : std::uint8_t { kIdentified, kIpv6, kId0, kId1, kFrame };

// A packet as a tap sees it. Two with one key have equal bytes, except for what a tap adds.
struct Sent {
    Kind kind = Kind::kIdentified;
    std::uint64_t key = 0;  // 0: no key
    std::uint32_t flow = 0;
    std::uint8_t port = 0;
    std::uint8_t pair = 0;  // index of its pair of MAC addresses
    std::uint8_t tags = 0;  // VLAN; 0: no tag
    std::uint8_t ttl = 0;
};

struct Packet {
    Sent sent;
    Place place = Place::kWaiting;
    std::uint8_t owner = 0;        // owner of the ring that holds it
    Place next = Place::kWaiting;  // place at the last inspection
    std::uint8_t next_owner = 0;
    bool unfiltered = false;
    Reason tag = Reason::kNew;  // reason carried in a ring to its transmitter
    std::uint8_t out = 0;       // port to which it was sent
    std::uint32_t seen = 0;     // number of the last inspection that found it
    // In a round, packets are decided in this order: backlog, received, from other workers.
    std::uint64_t order = 0;
    std::size_t receive = 0;  // index of the round's receive call that returned it
};
constexpr std::uint64_t kReceived = std::uint64_t{1} << 32;
constexpr std::uint64_t kSteered = std::uint64_t{2} << 32;

// Bounds on a key's last insertion: with `sure` a filter must know it, with `maybe` it may.
struct Memory {
    bool sure = false;
    const void* filter = nullptr;
    Nanoseconds from = 0;                // earliest time of the insertion, on the worker's clock
    bool maybe = false;                  // it may be remembered, at least
    const void* maybe_filter = nullptr;  // null: one of two filters
    std::uint64_t generation = 0;        // latest generation of the insertion
    Nanoseconds until = 0;               // latest time of the insertion
    std::uint8_t worker = 0;
};

class World {
  public:
    World(const Scenario& scenario, std::vector<std::unique_ptr<Device>>& devices,
          const PacketNumber& number)
        : scenario_(scenario),
          devices_(devices),
          number_(number),
          chance_{Chance(scenario.seed, kShape),   Chance(scenario.seed, kTraffic),
                  Chance(scenario.seed, kWorkers), Chance(scenario.seed, kControl),
                  Chance(scenario.seed, kBeside),  Chance(scenario.seed, kFaults),
                  Chance(scenario.seed, kRepeats)} {
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
        Nanoseconds begun = 0;  // of the last poll
        Nanoseconds longest_gap = 0;
        Nanoseconds time = 0;  // at which it decided last
        Nanoseconds time_at = 0;
        const dataplane::WorkerSetup* setup = nullptr;
        dataplane::Counters counters;
        // For unidentified packets. The worker's time follows the clock, unless the worker was away
        // and has not caught up yet.
        unsigned unsettled = 0;                // polls until it has certainly caught up
        bool was_away = false;                 // since the process began
        filter::RepeatCounters repeats_least;  // counters of filters that others have replaced
        filter::RepeatCounters repeats_most;
    };
    struct JudgedRule {
        RepeatOracle oracle;
        filter::RepeatCounters counted;
        filter::RepeatCounters before_round;
    };
    // The filters of a worker's filter context.
    struct ContextPair {
        const pipeline::FilterContext* now = nullptr;
        const pipeline::FilterContext* before = nullptr;  // predecessor, while `now` warms up
    };

    [[nodiscard]] bool has(Fault fault) const {
        return (faults_ >> static_cast<unsigned>(fault) & 1) != 0;
    }
    void choose();
    void choose_traffic();
    void start();
    void assemble();
    void start_devices();
    void restart();
    void end_process(std::uint64_t rounds);
    void note_ends();

    void step();
    void bring_packets();
    void bring_fresh_packet();
    void bring_packet(const Sent& sent, Nanoseconds due);
    void make_new(Sent& sent, bool has_key);
    void set_tags(Sent& sent);
    void plan_transmissions(const Sent& packet);
    void turn();
    void poll(std::size_t w);
    void harm();
    void change_configuration();

    void look();
    void look_at(const rte_mbuf* mbuf, Place place, std::size_t owner);
    void note_adoption(const ContextPair& was, const ContextPair& is);
    template <typename Each>
    void each_entry(const rte_ring* ring, Each each) const;
    void mark_waiting(std::size_t w);
    void judge(std::size_t w, const dataplane::Counters& before, Nanoseconds begun, bool another,
               bool stopping, const ContextPair& was);
    void judge_keys(std::size_t w, const std::vector<std::uint32_t>& decided, std::uint64_t lost,
                    std::uint64_t doubts, Nanoseconds begun, bool another, const ContextPair& was);
    [[nodiscard]] Disposition fate_of(const Packet& packet, std::uint64_t lost) const;
    [[nodiscard]] std::uint64_t key_of(const Packet& packet,
                                       const pipeline::FilterContext& context) const;
    [[nodiscard]] static bool is_by_rule(const Packet& packet,
                                         const pipeline::FilterContext& context);
    static const ContextPair& context_for(const Packet& packet, const ContextPair& was,
                                          const ContextPair& is);
    void judge_repeats(std::size_t w, std::vector<std::uint32_t> decided, const ContextPair& was,
                       std::uint64_t lost, Nanoseconds begun);
    JudgedRule& judged(const filter::UnionRule& rule);
    void note_presence(std::size_t w, const dataplane::Counters& before, Nanoseconds last_begun);
    void check_counted(const filter::UnionRule& rule);
    void check_repeats(const appliance::StatsReport& report);
    void check_plan() const;
    void check_books(std::size_t w);
    void check_totals();
    void check_growth(const dataplane::Counters& before, const dataplane::Counters& after) const;
    void check_order(const Packet& packet, std::uint32_t id);
    void check_report(const appliance::DispositionCounts& fates);
    [[nodiscard]] dataplane::TscClock clock() { return {0, std::uint64_t{1} << 32, &now_, 20}; }
    void note_setup();
    [[nodiscard]] ContextPair context_of(const dataplane::WorkerSetup& setup) const;
    [[nodiscard]] bool may_know(const Memory& memory, const ContextPair& context, Nanoseconds time,
                                std::size_t w) const;
    [[nodiscard]] bool must_know(const Memory& memory, const ContextPair& context, Nanoseconds time,
                                 Nanoseconds took) const;

    const Scenario scenario_;
    std::vector<std::unique_ptr<Device>>& devices_;
    const PacketNumber& number_;
    std::array<Chance, 7> chance_;
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
    Nanoseconds next_fresh_ = 0;
    struct Traffic {
        unsigned unidentified_percent = 0;
        unsigned planned_percent = 0;
        unsigned loss_percent = 0;       // of each tap
        unsigned routed_percent = 0;     // seen again behind a router, at the same port
        unsigned mirrored_percent[2]{};  // at ports a and b
        Nanoseconds delay[2]{};
        unsigned tags = 0;   // 0: none; 1: port b adds one; 2: any
        unsigned views = 2;  // how often a mirrored packet is seen
    };
    Traffic traffic_;
    std::multimap<Nanoseconds, Sent> planned_;
    std::uint32_t brought_ = 0;  // including packets lost before they were received
    std::uint64_t next_key_ = 1;
    struct Original {
        Sent sent;
        Nanoseconds at;
    };
    std::vector<Original> originals_;
    unsigned tx_full_percent_ = 0;

    // The appliance.
    std::unique_ptr<appliance::WarmRestartStore> state_;  // outlives the memory in it
    config::Config config_;
    appliance::Machine machine_;
    hash::Secret secret_{};
    pipeline::AuditSecret audit_secret_ = pipeline::audit_secret_from(7);
    appliance::Plan plan_;
    std::unique_ptr<appliance::Topology> topology_;
    std::unique_ptr<appliance::RotationTimers> turns_;
    std::unique_ptr<appliance::StatsReader> reader_;
    std::unique_ptr<appliance::Reload> reload_;
    std::string text_;
    std::atomic<unsigned> asked_{0};
    bool asked_for_status_ = false;
    appliance::DispositionCounts told_;
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
    double bound_ = 0;  // the largest false-drop bound so far

    // Packets.
    std::vector<Packet> packets_;
    std::vector<std::uint32_t> live_;
    std::vector<std::uint32_t> sent_;  // in this step
    std::uint32_t looks_ = 0;
    std::uint64_t to_tool_ = 0;
    std::uint64_t to_spare_ = 0;
    std::unordered_map<std::uint64_t, Memory> memories_;
    std::unordered_map<const filter::UnionRule*, JudgedRule> rules_;
    std::vector<Nanoseconds> receives_;  // when the worker's round polled a device
    std::uint64_t ordered_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> last_of_flow_;
    std::unordered_map<std::uint32_t, std::uint8_t> owner_of_flow_;
    std::unordered_map<const void*, engines::Engine> engine_of_;  // by a worker's filter
    std::unordered_set<const void*> went_on_;  // filters taken over from another process
    struct End {
        std::size_t worker;
        filter::Ageing ageing;
        engines::FilterPlan plan;
        const filter::UnionRule* repeats;
    };
    std::vector<End> ends_;
    std::unordered_map<const void*, Nanoseconds> kept_;  // shortest achieved window of a filter
    // Every filter so far, kept alive so that no later one gets the address of an earlier one.
    std::unordered_set<std::shared_ptr<const appliance::FilterSet>> filters_;
};

}  // namespace unecho::test
