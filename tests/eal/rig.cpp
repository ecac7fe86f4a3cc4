// SPDX-License-Identifier: BSD-3-Clause
#include "rig.h"

#include <algorithm>

#include <rte_mbuf_dyn.h>

#include "appliance/eal/ports/mbuf_fields.h"
#include "filters/sizing/tap_report.h"

namespace unecho::test {
namespace {

constexpr std::uint64_t kSeed = 4711;

engines::FilterPlan plan_of(const FilterLayout& layout) {
    engines::FilterPlan plan;
    plan.name = "tested";
    engines::FilterSpec spec;
    spec.key = layout.key;
    spec.non_ip = layout.non_ip;
    spec.tunnels = layout.tunnels;
    spec.tenant = layout.tenant;
    plan.key = engines::key_of(spec);
    plan.policy = layout.policy;
    plan.first = layout.first;
    plan.confidence = layout.confidence;
    plan.window = layout.window;
    plan.geometry = layout.geometry;
    plan.isa = layout.isa;
    plan.pipelined_prefetch = true;
    plan.clock.length = std::visit(
        [&](const auto& g) -> Nanoseconds {
            if constexpr (requires { g.phases; }) {
                return filter::GenerationClock::covering(layout.window, g.l * g.phases).length;
            } else if constexpr (requires { g.l; }) {
                return filter::GenerationClock::covering(layout.window, g.l).length;
            }
            return 1;
        },
        layout.geometry);
    plan.instance_bytes = engines::bytes_of(plan.setup()).value();
    return plan;
}

std::shared_ptr<const appliance::SharedFlowsPlan> store_plan() {
    const shared_flows::LayoutSpec spec{.name = "tested",
                                        .window = kSecond,
                                        .flows = 1000,
                                        .bound = 1e-6,
                                        .refresh = false,
                                        .key = "flow"};
    return std::make_shared<const appliance::SharedFlowsPlan>(
        appliance::SharedFlowsPlan{.layout = shared_flows::Layout::make(spec, {}).value(),
                                   .asker = {},
                                   .secret = hash::secret_from_seed(kSeed + 1)});
}

}  // namespace

Rig::Rig(const Layout& layout)
    : layout_(layout),
      secret_(hash::secret_from_seed(kSeed)),
      audit_secret_(pipeline::audit_secret_from(kSeed)),
      timestamp_offset_(eal::timestamp_field().value()) {
    static unsigned number = 0;
    appliance::TopologyInput input;
    for (const PortLayout& port : layout.ports) {
        ports_.push_back(std::make_unique<RingPort>(port.rx_queues, port.tx_queues, port.tx_size));
        ports_.back()->tell_depth(port.depth);
        plan_.ports.emplace_back().setup.tx_queues = static_cast<std::uint16_t>(port.tx_queues);
        input.ports.push_back(ports_.back()->id());
    }
    for (const FilterLayout& filter : layout.filters) {
        plan_.filters.push_back(plan_of(filter));
        plan_.roots.push_back(filter.shared_flows ? store_plan() : nullptr);
    }
    plan_.audits.resize(layout.audit ? plan_.filters.size() : 0);
    plan_.workers.resize(layout.workers);
    plan_routes();
    plan_sources();
    const bool rings = layout.workers > 1 && layout.steer;
    plan_.steering = rings                ? appliance::SteeringMode::kRing
                     : layout.workers > 1 ? appliance::SteeringMode::kRss
                                          : appliance::SteeringMode::kSingle;
    input.plan = &plan_;
    input.secret = &secret_;
    input.audit_secret = &audit_secret_;
    input.clock = layout.clock;
    input.burst = layout.burst;
    input.ring_size = layout.ring_size;
    input.capture_clock = layout.capture;
    input.tx_retry_cycles = layout.tx_retry_cycles;
    input.card = layout_.card ? &*layout_.card : nullptr;
    input.name = "rig" + std::to_string(number++);
    auto topology = appliance::Topology::make(input);
    EXPECT_TRUE(topology) << topology.error().context;
    topology_ = std::move(*topology);
}

// Free the packets that a test left in rings, read ahead or in a backlog.
Rig::~Rig() {
    drain_rings();
    for (std::size_t w = 0; w < topology_->workers(); ++w) {
        for (const dataplane::Backlog& held : topology_->setup(w).receive.backlog) {
            for (unsigned i = 0; i < held.count; ++i) {
                rte_pktmbuf_free(held.mbufs[i]);
            }
        }
        for (const dataplane::ReadAhead& ahead : topology_->setup(w).merge.ahead) {
            for (unsigned i = ahead.next; i < ahead.count; ++i) {
                rte_pktmbuf_free(ahead.mbufs[i]);
            }
        }
    }
}

void Rig::drain_rings() {
    for (std::size_t w = 0; w < topology_->workers(); ++w) {
        for (const auto* rings :
             {&topology_->setup(w).steering.in, &topology_->setup(w).transmit.in}) {
            void* entry = nullptr;
            for (rte_ring* ring : *rings) {
                while (ring != nullptr && rte_ring_dequeue(ring, &entry) == 0) {
                    rte_pktmbuf_free(dataplane::RingEntry::of(entry).mbuf);
                }
            }
        }
    }
}

void Rig::plan_routes() {
    for (const RouteLayout& route : layout_.routes) {
        appliance::RoutePlan plan{route.from, route.to, route.filter, route.on_echo,
                                  route.divert_to};
        if (route.report_flows != 0) {
            appliance::TapPlan taps;
            taps.window = route.report_window != 0 ? route.report_window
                                                   : layout_.filters[route.filter].window;
            taps.geometry = sizing::size_tap_report(route.report_flows).value();
            plan.taps = taps;
        }
        plan_.routes.push_back(plan);
        plan_.ports[route.to].transmits = true;
        if (route.on_echo == EchoAction::kDivert) {
            plan_.ports[route.divert_to].transmits = true;
        }
    }
}

void Rig::plan_sources() {
    unsigned turn = 0;
    for (std::size_t r = 0; r < layout_.routes.size(); ++r) {
        for (const PortIndex port : layout_.routes[r].from) {
            for (unsigned q = 0; q < layout_.ports[port].rx_queues; ++q) {
                const unsigned worker = layout_.capture ? 0 : (turn + q) % layout_.workers;
                plan_.workers[worker].rx.push_back(
                    {port, static_cast<QueueId>(q), static_cast<RouteIndex>(r)});
            }
            ++turn;
        }
    }
}

void Rig::offer(PortIndex port, rte_mbuf* mbuf, QueueId queue) {
    ports_[port]->offer(mbuf, queue);
}

void Rig::offer(PortIndex port, const Bytes& bytes, QueueId queue) {
    offer(port, make_mbuf(bytes), queue);
}

void Rig::offer_at(PortIndex port, const Bytes& bytes, std::uint64_t microseconds) {
    rte_mbuf* mbuf = make_mbuf(bytes);
    *RTE_MBUF_DYNFIELD(mbuf, timestamp_offset_, rte_mbuf_timestamp_t*) = microseconds;
    offer(port, mbuf);
}

unsigned Rig::poll(WorkerIndex worker) {
    const unsigned taken = topology_->worker(worker).poll_once();
    check_books(worker);
    return taken;
}

void Rig::settle() {
    for (bool busy = true; busy;) {
        busy = false;
        for (WorkerIndex w = 0; w < topology_->workers(); ++w) {
            busy |= poll(w) != 0;
        }
    }
}

void Rig::check_books(WorkerIndex worker) {
    const dataplane::Counters& c = topology_->worker(worker).counters();
    std::uint64_t in = c.handed_in;
    std::uint64_t out = c.handed_out;
    pipeline::PacketBytes sent;
    pipeline::PacketBytes delivered;
    // A packet counted for a port or route that does not exist would be missing from these sums.
    for (std::size_t p = 0; p < ports_.size(); ++p) {
        in += c.rx[p].packets;
        sent.add(c.tx[p].packets, c.tx[p].bytes);
    }
    for (std::size_t r = 0; r < layout_.routes.size(); ++r) {
        const auto& route = c.routes[r];
        for (unsigned i = 0; i < pipeline::kReasons; ++i) {
            out += route[i].packets;
            if (pipeline::kReasonTable[i].fate != pipeline::Disposition::kDropped) {
                delivered.add(route[i].packets, route[i].bytes);
            }
        }
    }
    ASSERT_EQ(in, out) << "worker " << worker << ": rx + handed in = reasons + handed out";
    ASSERT_EQ(sent.packets, delivered.packets) << "worker " << worker;
    ASSERT_EQ(sent.bytes, delivered.bytes) << "worker " << worker;
}

const filter::FilterCounters& Rig::filter_counters(WorkerIndex worker, FilterIndex i) {
    const pipeline::FilterContext& context = topology_->setup(worker).filters.contexts[i];
    return context.ops->counters(context.filter);
}

std::vector<dataplane::WorkerShared*> Rig::shareds() {
    std::vector<dataplane::WorkerShared*> out;
    for (std::size_t w = 0; w < topology_->workers(); ++w) {
        out.push_back(&topology_->shared(w));
    }
    return out;
}

void Rig::set_phase(dataplane::Phase phase) {
    for (dataplane::WorkerShared* shared : shareds()) {
        shared->phase.store(phase);
    }
}

pipeline::PacketBytes Rig::total(Reason reason, RouteIndex route) const {
    pipeline::PacketBytes sum;
    for (std::size_t w = 0; w < topology_->workers(); ++w) {
        const auto& one =
            topology_->worker(w).counters().routes[route][static_cast<unsigned>(reason)];
        sum.add(one.packets, one.bytes);
    }
    return sum;
}

std::uint64_t Rig::received() const {
    std::uint64_t sum = 0;
    for (std::size_t w = 0; w < topology_->workers(); ++w) {
        for (const auto& port : topology_->worker(w).counters().rx) {
            sum += port.packets;
        }
    }
    return sum;
}

WorkerIndex Rig::owner_of(const Bytes& bytes) const {
    const packet::Frame frame{bytes.data(), static_cast<std::uint32_t>(bytes.size())};
    packet::ParsedBurst parsed;
    packet::parse_burst(packet::LinkType::kEthernet, {&frame, 1}, parsed);
    Digest owner = 0;
    packet::owner_digests(packet::LinkType::kEthernet, {&frame, 1}, parsed, secret_, &owner);
    return static_cast<WorkerIndex>(reduce(owner, layout_.workers));
}

}  // namespace unecho::test
