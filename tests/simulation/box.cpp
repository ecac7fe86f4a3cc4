// SPDX-License-Identifier: BSD-3-Clause
#include "box.h"

#include <algorithm>
#include <utility>

#include "appliance/eal/lcores.h"
#include "appliance/plan/machine.h"
#include "checks.h"
#include "config/load.h"

namespace unecho::test {
namespace {

eal::Session open_session(const std::string& program) {
    const LcoreId cpu = appliance::Machine::detect().cpus.front();
    eal::SessionOptions options;
    options.program = program;
    options.args = {"--no-huge", "--no-shconf", "-m", "64", "--no-telemetry"};
    options.main_lcore = cpu;
    options.lcores = eal::lcore_map(cpu, cpu, {});
    auto session = eal::Session::open(options);
    if (!session) {
        wrong("DPDK: " + session.error().context);
    }
    return std::move(*session);
}

eal::Mempool make_pool(unsigned mbufs) {
    auto pool = eal::make_mempool({"packets", mbufs, 128 + 128, -1, true});
    if (!pool) {
        wrong("packet buffers: " + pool.error().context);
    }
    return std::move(*pool);
}

appliance::Plan plan_of(const BoxSpec& spec) {
    const auto config = config::load_text(spec.text, "box.toml");
    if (!config) {
        wrong("the configuration: " + config::to_text(config.error(), "box.toml"));
    }
    appliance::Machine machine = appliance::Machine::detect();
    machine.cpus = {0, 1, 2, 3};
    machine.scheduled.clear();
    machine.core_cache = spec.core_cache;
    eal::DeviceInfo facts;
    facts.driver = "net_ring";
    facts.max_rx_queues = 1;
    facts.max_tx_queues = static_cast<std::uint16_t>(spec.tx_queues);
    auto plan = appliance::make_plan(*config, machine,
                                     std::vector<eal::DeviceInfo>(config->ports.size(), facts));
    if (!plan) {
        wrong("the plan: " + config::to_text(plan.error(), "box.toml"));
    }
    return std::move(*plan);
}

}  // namespace

Ground::Ground(const std::string& program, unsigned mbufs)
    : session_(open_session(program)), pool_(make_pool(mbufs)) {}

Box::Box(const BoxSpec& spec) : secret_(hash::secret_from_seed(spec.seed)), plan_(plan_of(spec)) {
    static unsigned number = 0;
    appliance::TopologyInput input;
    input.plan = &plan_;
    input.ports = spec.ports;
    input.secret = &secret_;
    input.audit_secret = &audit_secret_;
    input.clock = {0, std::uint64_t{1} << 32, &now_, kPerReading};
    input.burst = spec.burst;
    input.ring_size = 256;
    input.tx_retry_cycles = spec.tx_retry_cycles;
    input.name = "box" + std::to_string(number++);
    auto topology = appliance::Topology::make(input);
    if (!topology) {
        wrong("the wiring: " + topology.error().context);
    }
    topology_ = std::move(*topology);
    turns_.follow(topology_->present(), true, now_);
    std::vector<dataplane::WorkerShared*> shared;
    for (std::size_t w = 0; w < workers(); ++w) {
        shared.push_back(&topology_->shared(w));
        worker(w).begin();
    }
    reader_ = std::make_unique<appliance::StatsReader>(shared);
}

Nanoseconds Box::achieved() {
    Nanoseconds least = ~Nanoseconds{0};
    for (std::size_t w = 0; w < workers(); ++w) {
        const pipeline::FilterContext& one = context(w);
        least =
            std::min(least, one.ops->window(one.filter, *one.ageing, one.ageing->time()).achieved);
    }
    return least;
}

std::uint64_t Box::early_turns() {
    std::uint64_t sum = 0;
    for (std::size_t w = 0; w < workers(); ++w) {
        sum += context(w).ageing->early_turns();
    }
    return sum;
}

void Box::stop() {
    for (std::size_t w = 0; w < workers(); ++w) {
        topology_->shared(w).phase.store(dataplane::Phase::kStopped);
    }
    reader_->close([&] {
        for (std::size_t w = 0; w < workers(); ++w) {
            worker(w).settle_leftovers();
        }
    });
}

}  // namespace unecho::test
