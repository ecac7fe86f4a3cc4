// SPDX-License-Identifier: BSD-3-Clause
#include "rig.h"

#include <algorithm>

#include <rte_mbuf_dyn.h>

#include "eal/mbuf_fields.h"

namespace unecho::test {
namespace {

constexpr std::uint64_t kSeed = 4711;

control::FilterPlan plan_of(const FilterLayout& layout) {
    control::FilterPlan plan;
    plan.name = "tested";
    plan.key = layout.key;
    plan.policy = layout.policy;
    plan.first = layout.first;
    plan.judge = layout.judge;
    plan.window = layout.window;
    plan.geometry = layout.geometry;
    plan.isa = layout.isa;
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
    return plan;
}

}  // namespace

Rig::Rig(const Layout& layout)
    : layout_(layout),
      secret_(hash::secret_from_seed(kSeed)),
      timestamp_offset_(eal::timestamp_field().value()),
      filter_shared_(std::make_unique<dataplane::FilterShared[]>(layout.filters.size())),
      sources_(layout.workers),
      staging_(layout.workers),
      scratch_(layout.workers, std::vector<std::uint8_t>(dataplane::kScratchBytes)),
      setups_(layout.workers) {
    for (const PortLayout& port : layout.ports) {
        ports_.push_back(std::make_unique<RingPort>(port.rx_queues, port.tx_queues, port.tx_size));
    }
    assign_sources();
    for (WorkerIndex w = 0; w < layout.workers; ++w) {
        shared_.push_back(std::make_unique<dataplane::WorkerShared>());
        dataplane::WorkerSetup& setup = setups_[w];
        setup.workers = layout.workers;
        setup.self = w;
        setup.burst = layout.burst;
        setup.steer_by_ring = layout.workers > 1 && layout.steer;
        setup.secret = &secret_;
        setup.scratch = scratch_[w];
        setup.sources = sources_[w];
        setup.capture_clock = layout.capture;
        setup.timestamp_offset = timestamp_offset_;
        if (layout.capture) {
            staging_[w].resize(sources_[w].size());
            setup.staging = staging_[w];
        }
        setup.clock = layout.clock;
        setup.tx_retry_cycles = layout.tx_retry_cycles;
        setup.shared = shared_[w].get();
        make_filters(w);
    }
    make_taps();
    connect();
    for (const dataplane::WorkerSetup& setup : setups_) {
        workers_.push_back(std::make_unique<dataplane::Worker>(setup));
    }
}

Rig::~Rig() {
    // What a test left between workers or read ahead goes back to the pool.
    for (const eal::Ring& ring : rings_) {
        drain(ring.get());
    }
    for (auto& staging : staging_) {
        for (dataplane::Staging& s : staging) {
            rte_pktmbuf_free_bulk(s.mbufs.data() + s.next, s.count - s.next);
        }
    }
}

void Rig::make_filters(WorkerIndex worker) {
    dataplane::WorkerSetup& setup = setups_[worker];
    setup.filters = static_cast<unsigned>(layout_.filters.size());
    instances_.emplace_back();
    for (std::size_t f = 0; f < layout_.filters.size(); ++f) {
        const control::FilterPlan plan = plan_of(layout_.filters[f]);
        auto instance = control::FilterInstance::make(plan, 0, false);
        ASSERT_TRUE(instance) << instance.error().context;
        setup.lanes[f] = (*instance)->lane(plan);
        setup.lane_shared[f] = &(*instance)->shared();
        setup.filter_shared[f] = &filter_shared_[f];
        instances_.back().push_back(std::move(*instance));
    }
}

void Rig::make_taps() {
    taps_.resize(layout_.workers);
    for (std::size_t r = 0; r < layout_.routes.size(); ++r) {
        const RouteLayout& route = layout_.routes[r];
        if (route.report_flows == 0) {
            continue;
        }
        control::TapPlan plan;
        plan.window =
            route.report_window != 0 ? route.report_window : layout_.filters[route.filter].window;
        plan.geometry = sizing::size_tap_report(route.report_flows).value();
        for (unsigned w = 0; w < layout_.workers; ++w) {
            auto instance = control::TapInstance::make(plan, 0, false);
            ASSERT_TRUE(instance) << instance.error().context;
            dataplane::WorkerSetup& setup = setups_[w];
            setup.routes[r].taps = &(*instance)->report();
            setup.reporting[setup.reports++] = static_cast<RouteIndex>(r);
            setup.tap_of[ports_[route.from[1]]->id()] = filter::SetOfTwo::kSecond;
            taps_[w].push_back(std::move(*instance));
        }
    }
}

void Rig::assign_sources() {
    unsigned turn = 0;
    for (std::size_t r = 0; r < layout_.routes.size(); ++r) {
        const RouteLayout& route = layout_.routes[r];
        for (dataplane::WorkerSetup& setup : setups_) {
            setup.routes[r] = {route.filter, route.to, route.divert_to, route.on_echo, nullptr};
            for (const PortIndex port : route.from) {
                setup.route_of[ports_[port]->id()] = static_cast<RouteIndex>(r);
            }
        }
        for (const PortIndex port : route.from) {
            for (QueueId q = 0; q < layout_.ports[port].rx_queues; ++q) {
                const unsigned worker = layout_.capture ? 0 : (turn + q) % layout_.workers;
                sources_[worker].push_back({ports_[port]->id(), q, port});
            }
            ++turn;
        }
    }
}

rte_ring* Rig::new_ring(unsigned size) {
    static unsigned number = 0;
    auto ring = eal::make_ring("rig" + std::to_string(number++), size);
    EXPECT_TRUE(ring) << ring.error().context;
    rings_.push_back(std::move(*ring));
    return rings_.back().get();
}

void Rig::connect() {
    const unsigned n = layout_.workers;
    for (WorkerIndex w = 0; w < n; ++w) {
        for (PortIndex p = 0; p < ports_.size(); ++p) {
            const unsigned queues = ports_[p]->tx_queues();
            setups_[w].tx[p] = {ports_[p]->id(), static_cast<QueueId>(w % queues), nullptr};
        }
    }
    if (n == 1) {
        return;
    }
    const int tag = eal::register_mbuf_field("unecho_tx_tag", sizeof(dataplane::TxTag),
                                             alignof(dataplane::TxTag))
                        .value();
    for (WorkerIndex from = 0; from < n; ++from) {
        setups_[from].tag_offset = tag;
        for (WorkerIndex to = 0; to < n; ++to) {
            if (from == to) {
                continue;
            }
            if (layout_.steer) {
                rte_ring* ring = new_ring(layout_.ring_size);
                setups_[from].steer_out[to] = ring;
                setups_[to].steer_in[from] = ring;
            }
            rte_ring* ring = nullptr;
            for (PortIndex p = 0; p < ports_.size(); ++p) {
                if (from % ports_[p]->tx_queues() == to) {
                    ring = ring == nullptr ? new_ring(layout_.ring_size) : ring;
                    setups_[from].tx[p].ring = ring;
                    setups_[to].tx_in[from] = ring;
                }
            }
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
    const unsigned taken = workers_[worker]->poll_once();
    check_books(worker);
    return taken;
}

void Rig::settle() {
    for (bool busy = true; busy;) {
        busy = false;
        for (WorkerIndex w = 0; w < workers_.size(); ++w) {
            busy |= poll(w) != 0;
        }
    }
}

void Rig::check_books(WorkerIndex worker) const {
    const dataplane::Counters& c = workers_[worker]->counters();
    std::uint64_t in = c.handed_in;
    std::uint64_t out = c.handed_out;
    dataplane::PacketBytes sent;
    dataplane::PacketBytes delivered;
    // What were counted for a port or route that is not there would be missing.
    for (std::size_t p = 0; p < ports_.size(); ++p) {
        in += c.rx[p].packets;
        sent.add(c.tx[p].packets, c.tx[p].bytes);
    }
    for (std::size_t r = 0; r < layout_.routes.size(); ++r) {
        const auto& route = c.routes[r];
        for (unsigned i = 0; i < dataplane::kReasons; ++i) {
            out += route[i].packets;
            if (dataplane::kReasonTable[i].fate != dataplane::Fate::kDropped) {
                delivered.add(route[i].packets, route[i].bytes);
            }
        }
    }
    ASSERT_EQ(in, out) << "worker " << worker << ": rx + handed in = reasons + handed out";
    ASSERT_EQ(sent.packets, delivered.packets) << "worker " << worker;
    ASSERT_EQ(sent.bytes, delivered.bytes) << "worker " << worker;
}

const filter::FilterCounters& Rig::filter_counters(WorkerIndex worker, FilterIndex i) {
    const dataplane::Lane& lane = setups_[worker].lanes[i];
    return lane.ops->counters(lane.filter);
}

std::vector<dataplane::WorkerShared*> Rig::shareds() {
    std::vector<dataplane::WorkerShared*> out;
    for (const auto& shared : shared_) {
        out.push_back(shared.get());
    }
    return out;
}

void Rig::set_phase(dataplane::Phase phase) {
    for (const auto& shared : shared_) {
        shared->phase.store(phase);
    }
}

dataplane::PacketBytes Rig::total(Reason reason, RouteIndex route) const {
    dataplane::PacketBytes sum;
    for (const auto& worker : workers_) {
        const auto& one = worker->counters().routes[route][static_cast<unsigned>(reason)];
        sum.add(one.packets, one.bytes);
    }
    return sum;
}

std::uint64_t Rig::received() const {
    std::uint64_t sum = 0;
    for (const auto& worker : workers_) {
        for (const auto& port : worker->counters().rx) {
            sum += port.packets;
        }
    }
    return sum;
}

WorkerIndex Rig::owner_of(const Bytes& bytes) const {
    const packet::Frame frame{bytes.data(), static_cast<std::uint32_t>(bytes.size())};
    return static_cast<WorkerIndex>(
        reduce(packet::owner_digest(packet::Link::kEthernet, frame, secret_), layout_.workers));
}

}  // namespace unecho::test
