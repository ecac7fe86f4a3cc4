// SPDX-License-Identifier: BSD-3-Clause
// The life of one simulated appliance: what happens to it (life.cpp), and what each round of a
// worker is judged by (judge.cpp). Every step throws what is wrong, one line.
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

// A packet as a tap sees it. Two with the same key have equal bytes, but for what a tap adds.
struct Sent {
    Kind kind = Kind::kIdentified;
    std::uint64_t key = 0;  // 0: it has none
    std::uint32_t flow = 0;
    std::uint8_t port = 0;
    std::uint8_t pair = 0;  // of MAC addresses
    std::uint8_t tags = 0;  // a VLAN; 0: no tag
    std::uint8_t ttl = 0;
};

struct Packet {
    Sent sent;
    Place place = Place::kWaiting;
    std::uint8_t owner = 0;        // of the ring that it is in
    Place next = Place::kWaiting;  // where the last look saw it
    std::uint8_t next_owner = 0;
    bool unfiltered = false;
    Reason tag = Reason::kNew;  // in a ring to its transmitter
    std::uint8_t out = 0;       // port that it was sent to
    std::uint32_t seen = 0;     // in which look
    // Packets are decided in this order in a round: held back, received, from other workers.
    std::uint64_t order = 0;
    std::size_t receive = 0;  // of a received one: which receive of the round gave it
};
constexpr std::uint64_t kReceived = std::uint64_t{1} << 32;
constexpr std::uint64_t kSteered = std::uint64_t{2} << 32;

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
        Nanoseconds begun = 0;  // the last poll
        Nanoseconds longest_gap = 0;
        Nanoseconds time = 0;  // that it judged by last
        Nanoseconds time_at = 0;
        const dataplane::WorkerSetup* setup = nullptr;
        dataplane::Counters counters;
        // Unidentified packets. The worker's time goes as the clock does, unless it was away and
        // has not caught up yet.
        unsigned unsettled = 0;                // polls until it surely has
        bool was_away = false;                 // since the process began
        filter::RepeatCounters repeats_least;  // of filters whose place others have taken
        filter::RepeatCounters repeats_most;
    };
    struct JudgedRule {
        RepeatOracle oracle;
        filter::RepeatCounters counted;
        filter::RepeatCounters before_round;
    };
    // What the lane of a worker says.
    struct Lane {
        const pipeline::FilterContext* now = nullptr;
        const pipeline::FilterContext* before = nullptr;  // while it is warmed
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
    void note_adoption(const Lane& was, const Lane& is);
    template <typename Each>
    void each_entry(const rte_ring* ring, Each each) const;
    void mark_waiting(std::size_t w);
    void judge(std::size_t w, const dataplane::Counters& before, Nanoseconds begun, bool another,
               bool stopping, const Lane& was);
    void judge_keys(std::size_t w, const std::vector<std::uint32_t>& decided, std::uint64_t lost,
                    std::uint64_t doubts, Nanoseconds begun, bool another, const Lane& was);
    [[nodiscard]] Fate fate_of(const Packet& packet, std::uint64_t lost) const;
    [[nodiscard]] std::uint64_t key_of(const Packet& packet, const pipeline::FilterContext& lane) const;
    [[nodiscard]] static bool is_by_rule(const Packet& packet, const pipeline::FilterContext& lane);
    static const Lane& lane_for(const Packet& packet, const Lane& was, const Lane& is);
    void judge_repeats(std::size_t w, std::vector<std::uint32_t> decided, const Lane& was,
                       std::uint64_t lost, Nanoseconds begun);
    JudgedRule& judged(const filter::UnionRule& rule);
    void note_presence(std::size_t w, const dataplane::Counters& before, Nanoseconds last_begun);
    void check_counted(const filter::UnionRule& rule);
    void check_repeats(const control::StatsReport& report);
    void check_plan() const;
    void check_books(std::size_t w);
    void check_totals();
    void check_growth(const dataplane::Counters& before, const dataplane::Counters& after) const;
    void check_order(const Packet& packet, std::uint32_t id);
    void check_report(const control::DispositionCounts& fates);
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
        unsigned routed_percent = 0;     // seen again behind a router, by the same port
        unsigned mirrored_percent[2]{};  // of ports a and b
        Nanoseconds delay[2]{};
        unsigned tags = 0;   // 0: none; 1: port b adds one; 2: any
        unsigned views = 2;  // of a mirrored packet
    };
    Traffic traffic_;
    std::multimap<Nanoseconds, Sent> planned_;
    std::uint32_t brought_ = 0;  // or lost before they were received
    std::uint64_t next_key_ = 1;
    struct Original {
        Sent sent;
        Nanoseconds at;
    };
    std::vector<Original> originals_;
    unsigned tx_full_percent_ = 0;

    // The appliance.
    std::unique_ptr<control::WarmRestartStore> state_;  // outlives what lies in it
    config::Config config_;
    control::Machine machine_;
    hash::Secret secret_{};
    pipeline::AuditSecret audit_secret_ = pipeline::audit_secret_from(7);
    control::Plan plan_;
    std::unique_ptr<control::Topology> wiring_;
    std::unique_ptr<control::RotationTimers> turns_;
    std::unique_ptr<control::StatsReader> reader_;
    std::unique_ptr<control::Reload> reload_;
    std::string text_;
    std::atomic<unsigned> asked_{0};
    bool asked_for_status_ = false;
    control::DispositionCounts told_;
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
    std::unordered_map<const filter::UnionRule*, JudgedRule> rules_;
    std::vector<Nanoseconds> receives_;  // of a worker's round, when it asked a device
    std::uint64_t ordered_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> last_of_flow_;
    std::unordered_map<std::uint32_t, std::uint8_t> owner_of_flow_;
    std::unordered_map<const void*, engines::Engine> engine_of_;  // of a worker's filter
    std::unordered_set<const void*> went_on_;                     // from another process
    struct End {
        std::size_t worker;
        filter::Ageing ageing;
        engines::FilterPlan plan;
        const filter::UnionRule* repeats;
    };
    std::vector<End> ends_;
    std::unordered_map<const void*, Nanoseconds> kept_;  // the least that a filter was seen to keep
    // All that there were: another one at the address of one that is gone would be taken for it.
    std::unordered_set<std::shared_ptr<const control::FilterSet>> filters_;
};

}  // namespace unecho::test
