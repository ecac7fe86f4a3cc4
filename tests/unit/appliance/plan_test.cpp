// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

#include "appliance/topology/worker_taps.h"
#include "unit/appliance/plans.h"
#include "unit/engines/planned.h"

namespace unecho::appliance {
namespace {

// Return a plan for the taps on this many workers, all with this kind of device.
Plan plan_with(unsigned workers, const eal::DeviceInfo& facts,
               config::SteeringMode steering = config::SteeringMode::kAuto) {
    config::Config config = taps_to_tool();
    config.workers.steering = steering;
    std::vector<LcoreId> lcores;
    for (unsigned i = 0; i < workers; ++i) {
        lcores.push_back(i + 1);
    }
    config.workers.lcores = lcores;
    return plan_of(config, machine_with({0, 1, 2, 3, 4, 5, 6, 7, 8}), all_of(config, facts));
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// --- lcores ------------------------------------------------------------------------------------

TEST(PlanLcores, by_default_are_the_first_cpu_for_control_and_the_last_for_one_worker) {
    const config::Config config = taps_to_tool();
    const Plan plan = plan_of(config, machine_with({2, 3, 5}), all_of(config, device("net_null")));
    EXPECT_EQ(plan.main_cpu, 2U);
    EXPECT_EQ(plan.main_lcore, 2U);
    ASSERT_EQ(plan.workers.size(), 1U);
    EXPECT_EQ(plan.workers[0].lcore, 5U);
    EXPECT_EQ(plan.lcore_map, "2@2,5@5");
}

TEST(PlanLcores, on_a_machine_of_one_cpu_share_it) {
    const config::Config config = taps_to_tool();
    const Plan plan = plan_of(config, machine_with({0}), all_of(config, device("net_null")));
    EXPECT_EQ(plan.workers.at(0).lcore, 0U);
    EXPECT_EQ(plan.main_cpu, 0U);
    EXPECT_EQ(plan.lcore_map, "127@0,0@0");
}

TEST(PlanLcores, asked_for_are_taken_in_their_order) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {4, 1};
    config.control.lcore = 3;
    const Plan plan = plan_of(config, machine_with({0, 1, 3, 4}), all_of(config, nic()));
    EXPECT_EQ(plan.lcore_map, "3@3,4@4,1@1");
    EXPECT_EQ(plan.workers.at(0).lcore, 4U);
    EXPECT_EQ(plan.workers.at(1).lcore, 1U);
}

TEST(PlanLcores, that_are_not_there_are_named_with_their_keys) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 9};
    config.control.lcore = 8;
    const Problems problems = problems_of(config, machine_with({0, 1}), all_of(config, nic()));
    EXPECT_EQ(problems.size(), 2U);
    EXPECT_EQ(message_for(problems, "workers.lcores"),
              "CPU 9 is not there; this process may use 0, 1");
    EXPECT_EQ(message_for(problems, "control.lcore"),
              "CPU 8 is not there; this process may use 0, 1");
}

TEST(PlanLcores, of_another_machine_are_planned_and_listed_as_missing) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 9};
    config.ports[1].mtu = 9001;
    Machine machine = machine_with({0, 1});
    machine.is_other_host = true;
    Facts facts = all_of(config, device("net_null"));
    facts[1].max_mtu = 9000;
    const Plan plan = plan_of(config, machine, facts);
    ASSERT_EQ(plan.missing_here.size(), 2U);
    EXPECT_EQ(message_for(plan.missing_here, "workers.lcores"),
              "CPU 9 is not there; this process may use 0, 1");
    EXPECT_EQ(message_for(plan.missing_here, "port[1].mtu"),
              "9001 is more than the device can: at most 9000");
    EXPECT_EQ(plan.workers.at(1).lcore, 9U);
}

TEST(PlanLcores, on_a_machine_without_cpus_is_a_problem) {
    const config::Config config = taps_to_tool();
    const Problems problems = problems_of(config, machine_with({}), all_of(config, nic()));
    EXPECT_NE(message_for(problems, "workers.lcores"), "");
}

// --- steering ----------------------------------------------------------------------------------

TEST(PlanSteering, where_all_ports_hash_is_rss_by_the_types_they_share) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2};
    Facts facts = all_of(config, nic(0b0111));
    facts[1] = nic(0b1101);
    facts[2] = device("net_null", 1, 2);  // only transmits: its hashing does not matter
    const Plan plan = plan_of(config, machine_with({0, 1, 2}), facts);
    EXPECT_EQ(plan.steering, SteeringMode::kRss);
    EXPECT_EQ(plan.ports[0].setup.rss_types, 0b0101U);
    EXPECT_EQ(plan.ports[1].setup.rss_types, 0b0101U);
    EXPECT_EQ(plan.ports[2].setup.rss_types, 0U);
    EXPECT_FALSE(contains(plan.steering_reason, "at start"));
    // Before the cards were probed nothing is certain.
    facts[0].probed = false;
    EXPECT_TRUE(contains(plan_of(config, machine_with({0, 1, 2}), facts).steering_reason,
                         "rings for all if a card answers otherwise at start"));
}

// Each case has the words that give the reason.
TEST(PlanSteering, where_a_port_cannot_hash_is_by_rings_and_says_which) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2, 3};
    const Machine machine = machine_with({0, 1, 2, 3});
    const auto reason_with = [&](const eal::DeviceInfo& second) {
        Facts facts = all_of(config, nic(0b01));
        facts[1] = second;
        const Plan plan = plan_of(config, machine, facts);
        EXPECT_EQ(plan.steering, SteeringMode::kRing);
        EXPECT_EQ(plan.ports[0].setup.rss_types, 0U);
        return plan.steering_reason;
    };
    EXPECT_TRUE(contains(reason_with(device("net_pcap", 16, 16)),
                         "port \"tap-b\" (net_pcap) does not hash"));
    EXPECT_TRUE(contains(reason_with(nic(0b01, 128, 2)), "has 2 rx queues for 3 workers"));
    EXPECT_TRUE(contains(reason_with(nic(0b01, 64)), "redirection tables differ"));
    EXPECT_TRUE(contains(reason_with(nic(0b10)), "no packet type in common"));
    eal::DeviceInfo other = nic(0b01);
    other.driver = "net_other";
    EXPECT_TRUE(contains(reason_with(other),
                         "port \"tap-b\" (net_other) and a port of net_made_up may mean"));
    eal::DeviceInfo refused = nic(0b01);
    refused.rss_refused = "port \"tap-b\" does not tell its key";
    EXPECT_TRUE(contains(reason_with(refused), "does not tell its key; packets go to"));
}

// Entry i of each table leads to queue i mod n. If n divides both sizes, equal hashes have equal
// queues.
TEST(PlanSteering, with_tables_of_different_sizes_is_rss_for_a_power_of_two_of_workers) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2, 3, 4};
    Facts facts = all_of(config, nic(1, 128));
    facts[1] = nic(1, 512);
    EXPECT_EQ(plan_of(config, machine_with({0, 1, 2, 3, 4}), facts).steering, SteeringMode::kRss);
}

TEST(PlanSteering, asked_for_by_rss_that_cannot_be_is_a_problem_that_says_why) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2};
    config.workers.steering = config::SteeringMode::kRss;
    const Problems problems =
        problems_of(config, machine_with({0, 1, 2}), all_of(config, device("net_tap", 4, 4)));
    const std::string message = message_for(problems, "workers.steering");
    EXPECT_TRUE(contains(message, "\"rss\" is not possible")) << message;
    EXPECT_TRUE(contains(message, "net_tap")) << message;
    EXPECT_TRUE(contains(message, "\"ring\"")) << message;
}

// Cards hash the outer header and ports, whatever part of them the key has.
TEST(PlanSteering, where_keys_are_not_what_cards_hash_is_by_rings) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2};
    const Machine machine = machine_with({0, 1, 2});
    const auto expect_rings = [&](const std::string& why) {
        config.workers.steering = config::SteeringMode::kAuto;
        const Plan plan = plan_of(config, machine, all_of(config, nic()));
        EXPECT_EQ(plan.steering, SteeringMode::kRing) << why;
        EXPECT_TRUE(contains(plan.steering_reason, why)) << plan.steering_reason;
        config.workers.steering = config::SteeringMode::kRss;
        const std::string message =
            message_for(problems_of(config, machine, all_of(config, nic())), "workers.steering");
        EXPECT_TRUE(contains(message, "\"rss\" is not possible: filter \"")) << message;
        EXPECT_TRUE(contains(message, why)) << message;
        EXPECT_TRUE(contains(message, "\"ring\"")) << message;
    };
    config::Filter& filter = config.filters.at(0);
    filter.tunnels.add(packet::Encapsulation::kVxlan);
    expect_rings("keys on packets inside tunnels, and cards hash the headers outside");
    filter.tunnels = {};
    for (const std::uint32_t bytes : {20U, 43U}) {
        filter.key_bytes = bytes;
        expect_rings("keys on " + std::to_string(bytes) +
                     " bytes, and cards hash the ports behind them");
    }
    filter.key_bytes = 44;  // includes the ports behind an IPv6 header
    EXPECT_EQ(plan_of(config, machine, all_of(config, nic())).steering, SteeringMode::kRss);
}

TEST(PlanSteering, of_captures_reads_on_one_worker_and_steers_by_rings) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2};
    config.run.clock = config::Clock::kCapture;
    const Plan plan = plan_of(config, machine_with({0, 1, 2}), all_of(config, nic()));
    EXPECT_EQ(plan.steering, SteeringMode::kRing);
    EXPECT_TRUE(contains(plan.steering_reason, "merged by time"));
    EXPECT_EQ(plan.workers.at(0).rx.size(), 2U);
    EXPECT_TRUE(plan.workers.at(1).rx.empty());

    config.workers.steering = config::SteeringMode::kRss;
    EXPECT_NE(message_for(problems_of(config, machine_with({0, 1, 2}), all_of(config, nic())),
                          "workers.steering"),
              "");
}

// --- queues ------------------------------------------------------------------------------------

// Check that exactly one worker polls each (port, queue) that is set up.
void expect_each_queue_polled_once(const Plan& plan) {
    std::map<std::pair<PortIndex, QueueId>, unsigned> polled;
    for (const WorkerPlan& worker : plan.workers) {
        for (const RxAssignment& rx : worker.rx) {
            ++polled[{rx.port, rx.queue}];
            EXPECT_TRUE(std::ranges::count(plan.routes.at(rx.route).from, rx.port) == 1);
        }
    }
    std::size_t expected = 0;
    for (const PortPlan& port : plan.ports) {
        expected += port.receives ? port.setup.rx_queues : 0;
    }
    EXPECT_EQ(polled.size(), expected);
    for (const auto& [queue, times] : polled) {
        EXPECT_EQ(times, 1U) << "port " << queue.first << " queue " << queue.second;
    }
}

TEST(PlanQueues, with_rss_are_one_a_worker_on_each_port) {
    const Plan plan = plan_with(3, nic());
    expect_each_queue_polled_once(plan);
    for (WorkerIndex w = 0; w < 3; ++w) {
        ASSERT_EQ(plan.workers[w].rx.size(), 2U);
        for (const RxAssignment& rx : plan.workers[w].rx) {
            EXPECT_EQ(rx.queue, w) << "queue q of every port must be worker q's";
        }
    }
}

TEST(PlanQueues, with_rings_are_dealt_out_to_workers_in_turn) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2, 3};
    config.ports[0].rx_queues = 3;
    config.ports[1].rx_queues = 2;
    const Plan plan =
        plan_of(config, machine_with({0, 1, 2, 3}), all_of(config, device("net_memif", 4, 4)));
    EXPECT_EQ(plan.steering, SteeringMode::kRing);
    expect_each_queue_polled_once(plan);
    EXPECT_EQ(plan.workers[0].rx.size(), 2U);
    EXPECT_EQ(plan.workers[1].rx.size(), 2U);
    EXPECT_EQ(plan.workers[2].rx.size(), 1U);
}

TEST(PlanQueues, belong_to_the_route_of_their_port) {
    config::Config config = taps_to_tool();
    config.ports.push_back(config.ports[2]);
    config.ports[3].name = "other-tool";
    config.ports.push_back(config.ports[2]);
    config.ports[4].name = "echoes";
    config.routes[0].from = {0};
    config::Route second = config.routes[0];
    second.from = {1};
    second.to = 3;
    second.on_echo = config::EchoAction::kDivert;
    second.divert_to = 4;
    config.routes.push_back(second);
    const Plan plan = plan_of(config, machine_with({0}), all_of(config, device("net_null")));
    expect_each_queue_polled_once(plan);
    for (const RxAssignment& rx : plan.workers.at(0).rx) {
        EXPECT_EQ(rx.route, rx.port);  // tap-a has route 0, tap-b route 1
    }
    EXPECT_TRUE(plan.ports[0].receives);
    EXPECT_FALSE(plan.ports[0].transmits);
    EXPECT_TRUE(plan.ports[2].transmits);
    EXPECT_TRUE(plan.ports[3].transmits);
    EXPECT_FALSE(plan.ports[3].receives);
    EXPECT_TRUE(plan.ports[4].transmits);
    EXPECT_FALSE(plan.ports[4].receives);
    EXPECT_EQ(plan.routes[1].on_echo, config::EchoAction::kDivert);
    EXPECT_EQ(plan.routes[1].divert_to, 4U);
}

TEST(PlanQueues, more_than_a_device_has_are_problems_with_their_keys) {
    config::Config config = taps_to_tool();
    config.ports[0].rx_queues = 5;
    config.ports[2].tx_queues = 7;
    const Problems problems =
        problems_of(config, machine_with({0}), all_of(config, device("net_made_up", 4, 4)));
    EXPECT_EQ(message_for(problems, "port[0].rx_queues"),
              "5 is more than the device has: at most 4");
    EXPECT_EQ(message_for(problems, "port[2].tx_queues"),
              "7 is more than the device has: at most 4");
    EXPECT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems[0].line, 10);
}

TEST(PlanQueues, other_than_one_a_worker_do_not_fit_rss) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2};
    config.ports[1].rx_queues = 3;
    const Problems problems = problems_of(config, machine_with({0, 1, 2}), all_of(config, nic()));
    const std::string message = message_for(problems, "port[1].rx_queues");
    EXPECT_TRUE(contains(message, "3 does not fit RSS over 2 workers; allowed: 2")) << message;
}

// --- tx ----------------------------------------------------------------------------------------

TEST(PlanTx, with_queues_for_all_gives_each_worker_its_own) {
    const Plan plan = plan_with(3, nic());
    EXPECT_EQ(plan.ports[2].setup.tx_queues, 3U);
    EXPECT_EQ(plan.ports[0].setup.tx_queues, 1U);  // nothing is sent there
    for (WorkerIndex w = 0; w < 3; ++w) {
        EXPECT_EQ(plan.tx_owner(2, w), w);
    }
}

// A queue has one owner, which sends through it.
TEST(PlanTx, with_fewer_queues_shares_them_out_among_owners) {
    for (const std::uint16_t queues : {1, 2, 3}) {
        const Plan plan = plan_with(5, device("net_made_up", 1, queues));
        EXPECT_EQ(plan.ports[2].setup.tx_queues, queues);
        for (WorkerIndex w = 0; w < 5; ++w) {
            const WorkerIndex owner = plan.tx_owner(2, w);
            EXPECT_LT(owner, queues);
            EXPECT_EQ(plan.tx_owner(2, owner), owner);
        }
    }
}

TEST(PlanPorts, take_their_settings_and_refuse_an_mtu_that_the_device_cannot) {
    config::Config config = taps_to_tool();
    config.ports[0].rx_descriptors = 256;
    config.ports[0].tx_descriptors = 512;
    config.ports[0].promiscuous = false;
    config.ports[0].mtu = 1400;
    Facts facts = all_of(config, device("net_null"));
    const Plan plan = plan_of(config, machine_with({0}), facts);
    EXPECT_EQ(plan.ports[0].setup.rx_descriptors, 256U);
    EXPECT_EQ(plan.ports[0].setup.tx_descriptors, 512U);
    EXPECT_FALSE(plan.ports[0].setup.promiscuous);
    EXPECT_EQ(plan.ports[0].setup.mtu, 1400U);

    config.ports[0].mtu = 9000;
    facts[0].max_mtu = 8999;
    const Problems problems = problems_of(config, machine_with({0}), facts);
    EXPECT_EQ(message_for(problems, "port[0].mtu"),
              "9000 is more than the device can: at most 8999");
}

// --- filters -----------------------------------------------------------------------------------

// Flows spread unevenly, so each worker is sized for more than its share, but not for everything.
TEST(PlanFilters, on_several_workers_are_sized_for_a_share_with_room) {
    const double share = 1e6 / 4;
    const Plan plan = plan_with(4, nic());
    EXPECT_GT(plan.filters.at(0).keys_per_second, share);
    EXPECT_LT(plan.filters.at(0).keys_per_second, 1e6);
}

TEST(PlanFilters, generations_cover_the_window) {
    for (const auto engine : {config::Engine::kApbbf, config::Engine::kApbf}) {
        config::Config config = taps_to_tool();
        config.filters[0].engine = engine;
        config.filters[0].window = 1'234'567;
        const Plan plan = plan_of(config, machine_with({0}), all_of(config, device("net_null")));
        const engines::FilterPlan& filter = plan.filters.at(0);
        const unsigned l = std::visit(
            [](const auto& g) -> unsigned {
                if constexpr (requires { g.l; }) {
                    return g.l;
                }
                return 0;
            },
            filter.geometry);
        ASSERT_GT(l, 0U);
        EXPECT_GE(filter.clock.length * l, filter.window) << filter.engine().name;
        EXPECT_LT((filter.clock.length - 1) * l, filter.window) << filter.engine().name;
        EXPECT_EQ(filter.clock.length, filter.prediction.generation);
    }
}

TEST(PlanFilters, with_a_geometry_take_it_as_it_stands) {
    config::Config config = taps_to_tool();
    config.filters[0].rate.reset();
    config.filters[0].engine = config::Engine::kApbbf;
    config.filters[0].geometry = config::Geometry{3, 7, 64 * 512, 512, 8};
    Plan plan = plan_of(config, machine_with({0}), all_of(config, device("net_null")));
    const auto* blocked = std::get_if<sizing::ApbbfGeometry>(&plan.filters.at(0).geometry);
    ASSERT_NE(blocked, nullptr);
    EXPECT_EQ(blocked->k, 3U);
    EXPECT_EQ(blocked->l, 7U);
    EXPECT_EQ(blocked->B, 512U);
    EXPECT_EQ(blocked->b, 8U);
    EXPECT_EQ(blocked->blocks, 64U);
    EXPECT_GT(plan.filters[0].keys_per_second, 0);
    EXPECT_EQ(engines::geometry_text(plan.filters[0].geometry),
              "k=3 l=7 B=512 b=8, 64 blocks a segment");

    config.filters[0].engine = config::Engine::kApbf;
    config.filters[0].geometry = config::Geometry{4, 6, 12345, 512, 0};
    plan = plan_of(config, machine_with({0}), all_of(config, device("net_null")));
    const auto* sliced = std::get_if<sizing::ApbfGeometry>(&plan.filters.at(0).geometry);
    ASSERT_NE(sliced, nullptr);
    EXPECT_EQ(sliced->m, 12345U);
    EXPECT_EQ(engines::geometry_text(plan.filters[0].geometry), "k=4 l=6, 12345 bits a slice");
    EXPECT_EQ(plan.filters[0].engine().name, "apbf");
}

Plan planned(const config::Config& config) {
    return plan_of(config, machine_with({0, 1, 2, 3}), all_of(config, device("net_null")));
}

// Up to the planned rate no generation ends early, because random arrivals have room. The bound
// holds with every generation at its load.
TEST(PlanFilters, that_shrink_have_room_for_random_arrivals) {
    for (const auto engine : {config::Engine::kLine, config::Engine::kApbbf, config::Engine::kApbf,
                              config::Engine::kShbf, config::Engine::kBtbf}) {
        config::Config config = taps_to_tool();
        config.filters[0].engine = engine;
        config.filters[0].on_full = config::OnFull::kShrink;
        const engines::FilterPlan plan = planned(config).filters.at(0);
        const std::uint64_t keys = plan.prediction.generation_keys;
        ASSERT_TRUE(plan.load) << plan.engine().name;
        EXPECT_EQ(*plan.load, keys + static_cast<std::uint64_t>(
                                         std::ceil(6 * std::sqrt(static_cast<double>(keys)))));
        const double seconds = static_cast<double>(plan.prediction.generation) / kSecond;
        const auto full =
            engines::predict(plan.geometry, plan.window, static_cast<double>(*plan.load) / seconds);
        EXPECT_EQ(full.generation_keys, *plan.load);
        EXPECT_LE(full.false_drop, 1e-6) << plan.engine().name;
        EXPECT_GT(full.false_drop, 0.8e-6) << plan.engine().name;
        EXPECT_LT(plan.prediction.false_drop, full.false_drop);

        config.filters[0].on_full = std::nullopt;
        const engines::FilterPlan kept = planned(config).filters.at(0);
        EXPECT_FALSE(kept.load);
        EXPECT_LT(kept.instance_bytes, plan.instance_bytes);
    }
}

TEST(PlanFilters, that_shrink_have_a_load_for_each_worker_s_share) {
    config::Config config = taps_to_tool();
    config.filters[0].engine = config::Engine::kApbbf;
    config.filters[0].on_full = config::OnFull::kShrink;
    config.filters[0].geometry.reset();
    config.workers.lcores = {0, 1};
    const engines::FilterPlan plan = planned(config).filters.at(0);
    EXPECT_DOUBLE_EQ(plan.keys_per_second, 1e6 * 1.25 / 2);
    EXPECT_EQ(*plan.load,
              sizing::load_for(plan.prediction.generation_keys, engines::kRandomArrivals));
}

// Packets of a flow beyond the first n renew all of its slots, unless one key counts them.
TEST(PlanFilters, of_the_first_packets_of_flows_are_sized_for_what_a_packet_renews) {
    config::Config config = taps_to_tool();
    config.filters[0].key = packet::KeyMode::kFlow;
    config.filters[0].first = 3;
    const auto planned_with = [&](config::Engine engine, config::Policy policy) {
        config.filters[0].engine = engine;
        config.filters[0].policy = policy;
        return planned(config).filters.at(0);
    };
    for (const auto engine :
         {config::Engine::kAuto, config::Engine::kLine, config::Engine::kFingerprint,
          config::Engine::kTlbf, config::Engine::kExact}) {
        const engines::FilterPlan renewed = planned_with(engine, config::Policy::kRefresh);
        EXPECT_DOUBLE_EQ(renewed.keys_per_second, 3e6) << renewed.engine().name;
        EXPECT_LE(renewed.prediction.false_drop, 1e-6) << renewed.engine().name;
        const engines::FilterPlan fixed = planned_with(engine, config::Policy::kFixed);
        EXPECT_DOUBLE_EQ(fixed.keys_per_second, 1e6) << fixed.engine().name;
        EXPECT_LT(fixed.instance_bytes, renewed.instance_bytes) << fixed.engine().name;
    }
    EXPECT_DOUBLE_EQ(planned_with(config::Engine::kShbfX, config::Policy::kRefresh).keys_per_second,
                     1e6);
}

// Beyond the caches a fingerprint filter is faster: it touches two lines, and the line filter
// three. When full it loses keys, while others lose certainty.
TEST(PlanFilters, of_many_keys_are_of_fingerprints_unless_they_shall_doubt) {
    config::Config config = taps_to_tool();
    config.filters[0].engine = config::Engine::kAuto;
    config.filters[0].rate = 100e6;
    config.filters[0].on_full = config::OnFull::kShrink;
    EXPECT_EQ(planned(config).filters.at(0).engine().name, "fingerprint");
    config.filters[0].on_full = config::OnFull::kDoubt;
    EXPECT_EQ(planned(config).filters.at(0).engine().name, "line");
    config.filters[0].on_full = config::OnFull::kShrink;
    config.filters[0].rate = 1e5;  // fits into a core's cache
    EXPECT_EQ(planned(config).filters.at(0).engine().name, "line");
}

TEST(OnFullWith, is_what_was_asked_for_where_the_engine_can) {
    using config::OnFull;
    EXPECT_EQ(engines::on_full_with(OnFull::kShrink, sizing::LineGeometry{}), OnFull::kShrink);
    EXPECT_EQ(engines::on_full_with(OnFull::kDoubt, sizing::ApbbfGeometry{}), OnFull::kDoubt);
    EXPECT_EQ(engines::on_full_with(OnFull::kShrink, sizing::BtbfGeometry{}), OnFull::kShrink);
    EXPECT_EQ(engines::on_full_with(OnFull::kDoubt, sizing::FingerprintGeometry{}), std::nullopt);
    EXPECT_EQ(engines::on_full_with(OnFull::kGrow, sizing::TlbfGeometry{}), OnFull::kGrow);
    // "auto" may have chosen such an engine.
    EXPECT_EQ(engines::on_full_with(OnFull::kShrink, sizing::ExactGeometry{}), std::nullopt);
    EXPECT_EQ(engines::on_full_with(OnFull::kDoubt, sizing::ExactGeometry{}), std::nullopt);
    EXPECT_EQ(engines::on_full_with(std::nullopt, sizing::LineGeometry{}), std::nullopt);
}

config::Config of_geometry(config::Engine engine, const config::Geometry& geometry,
                           double max_false_drop) {
    config::Config config = taps_to_tool();
    config.filters[0].engine = engine;
    config.filters[0].rate.reset();
    config.filters[0].geometry = geometry;
    config.filters[0].max_false_drop = max_false_drop;
    config.filters[0].rule = config::Rule::kBound;
    config.filters[0].on_full = config::OnFull::kShrink;
    return config;
}

// The load is the largest whose match rate, with the margin of the rule, stays below the bound.
TEST(PlanFilters, of_a_geometry_are_full_when_their_rate_reaches_the_bound) {
    const std::vector<std::pair<config::Engine, config::Geometry>> geometries{
        {config::Engine::kApbbf, {3, 7, 512 * 512, 512, 8}},
        {config::Engine::kApbf, {8, 6, 123'456}},
        {config::Engine::kLine, {2, 0, 0, 512, 4, 20'000, 2}}};
    for (const auto& [engine, geometry] : geometries) {
        const engines::FilterPlan plan = planned(of_geometry(engine, geometry, 1e-4)).filters.at(0);
        ASSERT_TRUE(plan.load);
        const double seconds = static_cast<double>(plan.prediction.generation) / kSecond;
        const auto with_keys = [&](std::uint64_t keys) {
            return engines::predict(plan.geometry, plan.window, static_cast<double>(keys) / seconds)
                .false_drop;
        };
        EXPECT_LE(with_keys(*plan.load), 1e-4 / engines::info_of(engine).chance_margin);
        EXPECT_GT(with_keys(*plan.load + 1), 1e-4 / engines::info_of(engine).chance_margin);
        const auto keys = static_cast<std::uint64_t>(std::lround(plan.keys_per_second * seconds));
        EXPECT_LE(sizing::load_for(keys, engines::kRandomArrivals), *plan.load);
        EXPECT_GT(sizing::load_for(keys + 1, engines::kRandomArrivals), *plan.load);
    }
}

// With any bound, and without one.
TEST(PlanFilters, of_fingerprints_are_full_when_their_lines_are) {
    const config::Geometry geometry{.lines = 19'999, .fingerprint_bits = 26};
    config::Config config = of_geometry(config::Engine::kFingerprint, geometry, 1e-4);
    const auto capacity = static_cast<std::uint64_t>(15.3 * 20'000 / 17);
    const auto expect_full_at_capacity = [&] {
        const engines::FilterPlan plan = planned(config).filters.at(0);
        EXPECT_EQ(plan.load, capacity);
        EXPECT_EQ(plan.on_full, config::OnFull::kShrink);
        EXPECT_LE(sizing::load_for(plan.prediction.generation_keys, engines::kRandomArrivals),
                  capacity);
        EXPECT_GT(plan.prediction.generation_keys, capacity * 9 / 10);
        EXPECT_LT(plan.prediction.false_drop, 5.4e-7);
    };
    expect_full_at_capacity();
    config.filters[0].max_false_drop.reset();
    config.filters[0].on_full.reset();
    config.filters[0].rule = config::Rule::kMatch;
    expect_full_at_capacity();
}

// Every match would be a doubt at any rate.
TEST(PlanFilters, of_a_geometry_that_can_never_meet_its_bound_are_problems) {
    const std::vector<std::pair<config::Engine, config::Geometry>> geometries{
        {config::Engine::kApbbf, {1, 7, 512, 512, 1}},
        {config::Engine::kApbf, {2, 5, 1000}},
        {config::Engine::kLine, {1, 0, 0, 512, 2, 20'000, 1}},
        {config::Engine::kFingerprint, {.lines = 20'000, .fingerprint_bits = 16}}};
    for (const auto& [engine, geometry] : geometries) {
        const config::Config config = of_geometry(engine, geometry, 1e-9);
        const auto problems =
            problems_of(config, machine_with({0}), all_of(config, device("net_null")));
        ASSERT_EQ(problems.size(), 1U);
        EXPECT_EQ(problems[0].key, "filter[0]");
        const std::string& text = problems[0].message;
        ASSERT_TRUE(contains(text, "max_false_drop = 1e-09 is below")) << text;
        ASSERT_TRUE(contains(text, "; allowed: max_false_drop of at least ")) << text;
        ASSERT_TRUE(contains(text, ", a geometry of more bits, or none")) << text;
        // The error names the chance of a match with a single digest in the filter.
        const double least = std::stod(text.substr(text.find("at least ") + 9));
        EXPECT_GT(least, 1e-9);
        const engines::FilterPlan plan =
            planned(of_geometry(engine, geometry, std::min(1.02 * least, 0.5))).filters.at(0);
        const engines::Made instance(plan);
        const pipeline::FilterContext context = instance->context(plan);
        const Digest digest = 42;
        context.ops->test(context.filter, *context.ageing, {&digest, 1}, {0, 0}, 1, nullptr);
        EXPECT_NEAR(context.ops->chance(context.filter, digest), least, 0.01 * least)
            << plan.engine().name;
    }
}

TEST(PlanFilters, with_a_geometry_that_no_filter_takes_are_problems) {
    config::Config config = taps_to_tool();
    config.filters[0].rate.reset();
    config.filters[0].engine = config::Engine::kApbf;
    config.filters[0].geometry = config::Geometry{100, 100, 4096, 512, 0};
    const Problems problems =
        problems_of(config, machine_with({0}), all_of(config, device("net_null")));
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].key, "filter[0]");
    EXPECT_EQ(problems[0].line, 50);
    EXPECT_TRUE(contains(problems[0].message, "k + l = 200")) << problems[0].message;
}

TEST(PlanFilters, above_their_memory_are_problems_that_say_how_much_it_takes) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2};
    config.filters[0].engine = config::Engine::kApbbf;
    const Machine machine = machine_with({0, 1, 2});
    const std::uint64_t needed =
        2 * plan_of(config, machine, all_of(config, nic())).filters.at(0).instance_bytes;
    config.filters[0].memory = needed;
    EXPECT_TRUE(problems_of(config, machine, all_of(config, nic())).empty());
    config.filters[0].memory = needed - 1;
    const std::string message =
        message_for(problems_of(config, machine, all_of(config, nic())), "filter[0].memory");
    EXPECT_TRUE(contains(message, format_size(needed))) << message;
    EXPECT_TRUE(contains(message, "2 worker(s)")) << message;
}

TEST(PlanFilters, of_lines_take_a_geometry) {
    config::Config config = taps_to_tool();
    config.filters[0].rate.reset();
    config.filters[0].engine = config::Engine::kLine;
    config::Geometry geometry;
    geometry.k = 2;
    geometry.bits_per_key = 3;
    geometry.lines = 100'000;
    geometry.lines_per_key = 2;
    config.filters[0].geometry = geometry;
    const Machine machine = machine_with({0, 1});
    const engines::FilterPlan plan = plan_of(config, machine, all_of(config, nic())).filters.at(0);
    EXPECT_EQ(engines::geometry_text(plan.geometry), "M=2 k=2 l=6 b=3, 100000 lines in 8 phases");
    EXPECT_EQ(plan.clock.length, (50 * kMillisecond + 47) / 48);  // a tick
    config.filters[0].geometry->lines = 1;
    EXPECT_TRUE(contains(
        message_for(problems_of(config, machine, all_of(config, nic())), "filter[0]"), "lines"));
}

// --- kernels -----------------------------------------------------------------------------------

filter::Isa isa_of(config::IsaWish wanted, filter::Isa widest, std::optional<std::string> forced) {
    config::Config config = taps_to_tool();
    config.workers.isa = wanted;
    Machine machine = machine_with({0, 1});
    machine.isas.widest = widest;
    machine.isas.forced = std::move(forced);
    const Plan plan = plan_of(config, machine, all_of(config, nic()));
    EXPECT_EQ(plan.filters.at(0).isa, plan.isa);
    return plan.isa;
}

TEST(PlanIsa, is_the_widest_there_is_or_the_one_asked_for) {
    using filter::Isa;
    EXPECT_EQ(isa_of(config::IsaWish::kAuto, Isa::kScalar, {}), Isa::kScalar);
    EXPECT_EQ(isa_of(config::IsaWish::kAuto, Isa::kAvx2, {}), Isa::kAvx2);
    EXPECT_EQ(isa_of(engines::wish_for(Isa::kScalar), Isa::kAvx2, {}), Isa::kScalar);
    EXPECT_EQ(isa_of(engines::wish_for(Isa::kAvx2), Isa::kAvx2, {}), Isa::kAvx2);
}

TEST(PlanIsa, of_the_environment_wins) {
    using filter::Isa;
    EXPECT_EQ(isa_of(engines::wish_for(Isa::kAvx2), Isa::kAvx2, "scalar"), Isa::kScalar);
    EXPECT_EQ(isa_of(engines::wish_for(Isa::kScalar), Isa::kAvx2, "auto"), Isa::kAvx2);
}

TEST(PlanIsa, that_the_processor_lacks_is_a_problem) {
    config::Config config = taps_to_tool();
    config.workers.isa = engines::wish_for(filter::Isa::kAvx512);
    Machine machine = machine_with({0, 1});
    machine.isas.widest = filter::Isa::kAvx2;
    const auto problem = [&](const char* key) {
        return message_for(problems_of(config, machine, all_of(config, nic())), key);
    };
    EXPECT_EQ(problem("workers.isa"),
              "\"avx512\" is not on this processor; allowed: auto, scalar, avx2");
    machine.isas.forced = "neon";
    EXPECT_EQ(problem("UNECHO_ISA"), "\"neon\" is no instruction set; allowed: auto, scalar, avx2");
    // If the plan is for another machine, this is no problem of the file.
    machine.isas.forced.reset();
    machine.is_other_host = true;
    const Plan plan = plan_of(config, machine, all_of(config, nic()));
    EXPECT_EQ(plan.isa, filter::Isa::kAvx2);
    EXPECT_TRUE(contains(message_for(plan.missing_here, "workers.isa"), "avx512"));
    EXPECT_EQ(plan.isa_reason.find("the widest that this processor has"), 0U) << plan.isa_reason;
}

// --- problems and notes ------------------------------------------------------------------------

TEST(PlanFilters, of_short_generations_are_noted_where_a_timer_turns_them) {
    config::Config config = taps_to_tool();
    config.filters[0].window = kMillisecond;
    const auto notes = [&] {
        return plan_of(config, machine_with({0}), all_of(config, device("net_null"))).notes;
    };
    ASSERT_EQ(notes().size(), 1U);
    EXPECT_TRUE(contains(notes()[0], "\"echo\": a generation of "));
    EXPECT_TRUE(contains(notes()[0], "short for the rotation timer"));
    config.run.clock = config::Clock::kCapture;
    EXPECT_TRUE(notes().empty());
    config.run.clock = config::Clock::kTsc;
    config.filters[0].engine = config::Engine::kExact;  // has no generations
    config.filters[0].window = 100 * kMicrosecond;
    EXPECT_TRUE(notes().empty());
}

// --- packet buffers ----------------------------------------------------------------------------

// Return how many packets can be held at once: in descriptors, in rings between workers, and in
// backlogs.
std::uint64_t holders(const Plan& plan, std::uint32_t ring_size) {
    std::uint64_t sum = 0;
    for (const PortPlan& port : plan.ports) {
        sum += std::uint64_t{port.setup.rx_queues} * port.setup.rx_descriptors +
               std::uint64_t{port.setup.tx_queues} * port.setup.tx_descriptors;
    }
    for (const WorkerPlan& worker : plan.workers) {
        sum += plan.workers.size() > 1 ? worker.rx.size() * 32 : 0;
    }
    const std::uint64_t pairs = plan.workers.size() * (plan.workers.size() - 1);
    return sum + 2 * pairs * ring_size;
}

TEST(PlanBuffers, are_enough_for_all_queues_and_rings_and_compact) {
    for (unsigned workers = 1; workers <= 8; ++workers) {
        for (const auto& facts : {nic(), device("net_null", 4, 4)}) {
            const Plan plan = plan_with(workers, facts);
            EXPECT_GT(plan.mbufs, holders(plan, 1024)) << workers;
            EXPECT_TRUE(std::has_single_bit(plan.mbufs + 1U)) << plan.mbufs;
        }
    }
}

TEST(PlanBuffers, hold_the_largest_mtu) {
    config::Config config = taps_to_tool();
    const auto room = [&] {
        return plan_of(config, machine_with({0}), all_of(config, device("net_null"))).data_room;
    };
    EXPECT_EQ(room(), 128 + 2048);
    config.ports[1].mtu = 9000;
    EXPECT_GE(room(), 128 + 9000 + 14 + 4 + 8);
}

TEST(PlanBuffers, asked_for_are_taken_or_refused_with_what_it_takes) {
    config::Config config = taps_to_tool();
    config.run.mbufs = 512;
    const Facts facts = all_of(config, device("net_null"));
    const std::string message =
        message_for(problems_of(config, machine_with({0}), facts), "run.mbufs");
    EXPECT_TRUE(contains(message, "512 is too few")) << message;
    const std::string hold = "queues and rings hold ";
    ASSERT_TRUE(contains(message, hold)) << message;
    const auto needed =
        static_cast<std::uint32_t>(std::stoul(message.substr(message.find(hold) + hold.size())));
    config.run.mbufs = needed - 1;
    EXPECT_EQ(problems_of(config, machine_with({0}), facts).size(), 1U);
    config.run.mbufs = needed;
    const Plan plan = plan_of(config, machine_with({0}), facts);
    EXPECT_EQ(plan.mbufs, needed);
    EXPECT_GT(needed, holders(plan, 1024));
}

// A ring holds a burst from every worker: with less, captures would wait forever.
TEST(PlanBuffers, rings_too_small_for_a_burst_from_each_worker_are_problems) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2, 3};
    config.workers.burst = 64;
    config.workers.ring_size = 128;
    const Machine machine = machine_with({0, 1, 2, 3});
    const std::string message = message_for(
        problems_of(config, machine, all_of(config, device("net_null"))), "workers.ring_size");
    EXPECT_TRUE(contains(message, "at least 256")) << message;
    config.workers.ring_size = 256;
    EXPECT_TRUE(problems_of(config, machine, all_of(config, device("net_null"))).empty());
}

// --- reports of taps -----------------------------------------------------------------------------

TEST(PlanTaps, have_the_filter_s_window_or_their_own) {
    config::Config config = taps_to_tool();
    config.routes[0].report_taps = true;
    config.filters.push_back(config.filters[0]);
    config.filters[1].window = 70 * kMillisecond;
    config.routes[0].filter = 1;
    const auto window = [&] {
        return plan_of(config, machine_with({0}), all_of(config, device("net_null")))
            .routes[0]
            .taps->window;
    };
    EXPECT_EQ(window(), 70 * kMillisecond);
    config.routes[0].report_window = 10 * kSecond;
    EXPECT_EQ(window(), 10 * kSecond);
}

// Flows spread unevenly over workers, so each is planned for a quarter more.
TEST(PlanTaps, on_several_workers_are_planned_for_a_share_and_a_quarter) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2, 3};
    config.routes[0].report_taps = true;
    config.routes[0].report_flows = 1000;
    const Plan plan =
        plan_of(config, machine_with({0, 1, 2, 3}), all_of(config, device("net_null")));
    EXPECT_EQ(plan.routes[0].taps->flows, 1000U);
    EXPECT_EQ(plan.routes[0].taps->geometry.m, sizing::size_tap_report(417)->m);
}

TEST(PlanTaps, are_made_in_the_memory_that_was_planned) {
    config::Config config = taps_to_tool();
    config.routes[0].report_taps = true;
    const Plan plan = plan_of(config, machine_with({0}), all_of(config, device("net_null")));
    const TapPlan& taps = *plan.routes[0].taps;
    EXPECT_EQ(*bytes_of(taps), taps.instance_bytes);
    auto memory = eal::HugeMemory::allocate(taps.instance_bytes, 0, false);
    ASSERT_TRUE(memory);
    WorkerTaps instance(std::move(*memory), *params_of(taps), taps.window);
    EXPECT_EQ(instance.memory().size(), taps.instance_bytes);
    EXPECT_EQ(instance.page_bytes(), static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(instance.report().window(), 50 * kMillisecond);
    EXPECT_EQ(instance.report().params().m(), taps.geometry.m);
    instance.report().advance(0);
    instance.report().add(1, filter::SetOfTwo::kSecond);
    EXPECT_EQ(instance.report().summary().present.counts.only_b, 1U);
}

TEST(PlanTaps, of_a_geometry_that_no_array_takes_are_an_error) {
    TapPlan plan;
    EXPECT_EQ(params_of(plan).error().context, "shbf_a: m = 0 bits; allowed: 1 to 2^45");
    EXPECT_FALSE(bytes_of(plan));
}

// --- paths ---------------------------------------------------------------------------------------

constexpr std::uint8_t kNoPoint = pipeline::PathSpec::kNoPoint;

// Taps "tap-0" and so on to a tool, the last port.
config::Config taps_in_number(unsigned taps) {
    config::Config config = taps_to_tool();
    config.ports.resize(taps + 1, config.ports[0]);
    config.routes[0].from.clear();
    for (unsigned i = 0; i < taps; ++i) {
        config.ports[i].name = "tap-" + std::to_string(i);
        config.ports[i].device = "net_null" + std::to_string(i);
        config.routes[0].from.push_back(static_cast<PortIndex>(i));
    }
    config.ports[taps].name = "tool";
    config.ports[taps].device = "net_null" + std::to_string(taps);
    config.routes[0].to = static_cast<PortIndex>(taps);
    return config;
}

bool has_note(const Plan& plan, const std::string& part) {
    return std::any_of(plan.notes.begin(), plan.notes.end(),
                       [&](const std::string& note) { return contains(note, part); });
}

TEST(PlanPaths, lead_between_the_ports_of_a_filter) {
    config::Config config = taps_to_tool();
    config.audit.memory = 3 << 20;
    const Plan plan = planned(config);
    ASSERT_EQ(plan.paths.size(), 1U);
    ASSERT_TRUE(plan.paths[0]);
    const engines::PathPlan& paths = *plan.paths[0];
    EXPECT_EQ(paths.points, (std::vector<std::string>{"tap-a", "tap-b"}));
    EXPECT_EQ(paths.spec.points, 2U);
    EXPECT_FALSE(paths.spec.stated);
    EXPECT_EQ(paths.spec.point_of[0], 0);
    EXPECT_EQ(paths.spec.point_of[1], 1);
    EXPECT_EQ(std::count(paths.spec.point_of.begin(), paths.spec.point_of.end(), kNoPoint),
              std::ptrdiff_t{kMaxPorts} - 2);
    EXPECT_EQ(paths.spec.window, 50 * kMillisecond);
    EXPECT_EQ(paths.spec.late, ~Nanoseconds{0});
    EXPECT_EQ(paths.spec.memory, 3U << 20);
    EXPECT_GT(paths.spec.looks_per_second, 0U);
    EXPECT_EQ(paths.spec.bits, plan.audits[0].bits);
    EXPECT_FALSE(paths.max_loss);
    EXPECT_FALSE(paths.max_delay);
    EXPECT_EQ(paths.instance_bytes(),
              pipeline::PathTable::bytes(paths.spec) + pipeline::PathTotals::bytes(2));
    EXPECT_FALSE(has_note(plan, "paths"));
}

TEST(PlanPaths, that_are_stated_have_points_in_their_order_and_no_others) {
    config::Config config = taps_in_number(4);
    config.routes[0].path = {2, 0};
    config.routes[0].max_path_loss = 0.01;
    config.routes[0].max_path_delay = 7 * kMillisecond;
    const engines::PathPlan paths = planned(config).paths.at(0).value();
    EXPECT_TRUE(paths.spec.stated);
    EXPECT_EQ(paths.points, (std::vector<std::string>{"tap-2", "tap-0"}));
    EXPECT_EQ(paths.spec.points, 2U);
    EXPECT_EQ(paths.spec.point_of[2], 0);
    EXPECT_EQ(paths.spec.point_of[0], 1);
    EXPECT_EQ(paths.spec.point_of[1], kNoPoint);
    EXPECT_EQ(paths.spec.point_of[3], kNoPoint);
    EXPECT_EQ(paths.max_loss, 0.01);
    EXPECT_EQ(paths.max_delay, 7 * kMillisecond);
    EXPECT_EQ(paths.spec.late, 7 * kMillisecond);
}

// The ports of a group are one point, which has the group's name.
TEST(PlanPaths, lead_between_groups_of_ports) {
    config::Config config = taps_in_number(4);
    config.ports[1].group = config.ports[3].group = "lag";
    engines::PathPlan paths = planned(config).paths.at(0).value();
    EXPECT_EQ(paths.points, (std::vector<std::string>{"tap-0", "lag", "tap-2"}));
    EXPECT_EQ(paths.spec.points, 3U);
    EXPECT_EQ(paths.spec.point_of[1], 1);
    EXPECT_EQ(paths.spec.point_of[3], 1);
    EXPECT_EQ(paths.spec.point_of[2], 2);
    config.ports[0].group = config.ports[2].group = "lag";
    EXPECT_FALSE(planned(config).paths.at(0));
}

// A stated path names one port of a point or several, one behind the other.
TEST(PlanPaths, that_are_stated_have_all_ports_of_their_points) {
    config::Config config = taps_in_number(4);
    config.ports[1].group = config.ports[3].group = "lag";
    for (const std::vector<PortIndex>& path :
         {std::vector<PortIndex>{2, 1}, std::vector<PortIndex>{2, 3, 1}}) {
        config.routes[0].path = path;
        const engines::PathPlan paths = planned(config).paths.at(0).value();
        EXPECT_EQ(paths.points, (std::vector<std::string>{"tap-2", "lag"}));
        EXPECT_EQ(paths.spec.point_of[1], 1);
        EXPECT_EQ(paths.spec.point_of[3], 1);
        EXPECT_EQ(paths.spec.point_of[0], kNoPoint);
    }
}

TEST(PlanPaths, that_cannot_be_measured_are_refused) {
    const auto message = [](const config::Config& config, const char* key) {
        return message_for(problems_of(config, machine_with({0, 1}), all_of(config, nic())), key);
    };
    config::Config config = taps_in_number(3);
    config.ports[0].group = config.ports[2].group = "lag";
    config.routes[0].path = {0, 1, 2};
    EXPECT_TRUE(contains(message(config, "route[0].path"), "twice"));
    config.routes[0].path = {0, 2};
    EXPECT_TRUE(contains(message(config, "route[0].path"), "one point of observation"));
    config.routes[0].path = {0, 1};
    config.routes[0].path_packets = config::PathPackets::kAll;
    EXPECT_TRUE(contains(message(config, "route[0].path_packets"), "exact"));
    config.filters[0].engine = config::Engine::kExact;
    EXPECT_EQ(message(config, "route[0].path_packets"), "");
    config.filters[0].policy = config::Policy::kRefresh;
    EXPECT_TRUE(contains(message(config, "route[0].path_packets"), "fixed"));
    config = taps_in_number(9);
    config.routes[0].max_path_loss = 0.01;
    EXPECT_TRUE(contains(message(config, "route.path"), "at most 8 points"));
}

TEST(PlanPaths, lead_between_the_ports_of_all_routes_of_a_filter) {
    config::Config config = taps_in_number(4);
    config.routes[0].from = {0, 1};
    config.routes.push_back(config.routes[0]);
    config.routes[1].from = {3, 2};
    config.routes[1].max_path_delay = kMillisecond;
    const engines::PathPlan paths = planned(config).paths.at(0).value();
    EXPECT_EQ(paths.points, (std::vector<std::string>{"tap-0", "tap-1", "tap-3", "tap-2"}));
    EXPECT_EQ(paths.max_delay, kMillisecond);
}

// Each filter has points of its own.
TEST(PlanPaths, of_several_filters_are_apart) {
    config::Config config = taps_in_number(4);
    config.filters.push_back(config.filters[0]);
    config.filters[1].name = "other";
    config.routes[0].from = {0, 1};
    config.routes.push_back(config.routes[0]);
    config.routes[1].from = {2, 3};
    config.routes[1].filter = 1;
    const Plan plan = planned(config);
    EXPECT_EQ(plan.paths.at(0).value().points, (std::vector<std::string>{"tap-0", "tap-1"}));
    EXPECT_EQ(plan.paths.at(1).value().points, (std::vector<std::string>{"tap-2", "tap-3"}));
    EXPECT_EQ(plan.paths[1]->spec.point_of[0], kNoPoint);
    EXPECT_EQ(plan.paths[1]->spec.point_of[2], 0);
}

TEST(PlanPaths, of_more_points_than_there_may_be_are_noted) {
    EXPECT_EQ(planned(taps_in_number(8)).paths.at(0).value().spec.points, 8U);
    config::Config config = taps_in_number(9);
    const Plan plan = planned(config);
    EXPECT_FALSE(plan.paths.at(0));
    EXPECT_TRUE(
        has_note(plan, "the paths between the 9 points of filter \"echo\" are not measured"));
    config.routes[0].path = {8, 0};
    EXPECT_EQ(planned(config).paths.at(0).value().spec.points, 2U);
    EXPECT_FALSE(has_note(planned(config), "not measured"));
}

TEST(PlanPaths, are_of_an_audit_that_compares_packets) {
    config::Config config = taps_to_tool();
    config.filters[0].key = packet::KeyMode::kFlow;
    EXPECT_FALSE(planned(config).paths.at(0));
    config = taps_to_tool();
    config.audit.enabled = false;
    EXPECT_TRUE(planned(config).paths.empty());
    EXPECT_FALSE(planned(taps_in_number(1)).paths.at(0));
}

}  // namespace
}  // namespace unecho::appliance
