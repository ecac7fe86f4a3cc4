// SPDX-License-Identifier: BSD-3-Clause
#include "bed.h"

#include <bit>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

namespace unecho::bench {
namespace {

constexpr std::uint16_t kDataRoom = 128 + 2048;

std::vector<rte_ring*> pointers(const std::vector<eal::Ring>& rings) {
    std::vector<rte_ring*> out;
    for (const eal::Ring& ring : rings) {
        out.push_back(ring.get());
    }
    return out;
}

}  // namespace

eal::SessionOptions session_options(const std::string& program, std::span<const unsigned> cpus,
                                    bool hugepages) {
    eal::SessionOptions out;
    out.program = program;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        out.lcores += (i == 0 ? "" : ",") + std::to_string(i) + "@" + std::to_string(cpus[i]);
    }
    out.args = {"--no-pci", "--no-telemetry"};
    if (hugepages) {
        out.args.emplace_back("--in-memory");
    } else {
        // Enough for the longest windows; pages that are not touched use no memory.
        out.args.insert(out.args.end(), {"--no-huge", "--no-shconf", "-m", "448"});
    }
    return out;
}

Result<eal::Mempool> make_frames(unsigned mbufs, bool has_hugepages) {
    auto pool = eal::make_mempool(
        {"bench_mbufs", std::bit_ceil(mbufs) - 1, kDataRoom, SOCKET_ID_ANY, !has_hugepages});
    if (!pool) {
        return pool;
    }
    std::vector<rte_mbuf*> all(rte_mempool_avail_count(pool->get()));
    if (rte_pktmbuf_alloc_bulk(pool->get(), all.data(), static_cast<unsigned>(all.size())) != 0) {
        return fail(Errc::kNoMemory, "packet buffers");
    }
    for (rte_mbuf* mbuf : all) {
        Traffic::fill(*mbuf);
    }
    rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
    return pool;
}

Result<std::unique_ptr<RingPort>> RingPort::make(unsigned queues, unsigned window,
                                                 rte_mempool* pool) {
    std::unique_ptr<RingPort> port(new RingPort);
    const unsigned slots = std::bit_ceil(queues * window + 1);
    for (unsigned queue = 0; queue < queues; ++queue) {
        auto rx = eal::make_ring("bench_rx" + std::to_string(queue), slots);
        auto tx = eal::make_ring("bench_tx" + std::to_string(queue), slots);
        if (!rx || !tx) {
            return tl::unexpected(!rx ? rx.error() : tx.error());
        }
        port->rx_.push_back(std::move(*rx));
        port->tx_.push_back(std::move(*tx));
    }
    if (const Status status = port->start(queues, pool); !status) {
        return tl::unexpected(status.error());
    }
    return port;
}

Status RingPort::start(unsigned queues, rte_mempool* pool) {
    std::vector<rte_ring*> rx = pointers(rx_);
    std::vector<rte_ring*> tx = pointers(tx_);
    const int port = rte_eth_from_rings("bench", rx.data(), queues, tx.data(), queues, 0);
    if (port < 0) {
        return fail(Errc::kIo, "no port on rings: " + eal::take_log());
    }
    id_ = static_cast<PortId>(port);
    const auto n = static_cast<std::uint16_t>(queues);
    const rte_eth_conf conf{};
    bool done = rte_eth_dev_configure(id_, n, n, &conf) == 0;
    for (QueueId queue = 0; queue < n && done; ++queue) {
        done = rte_eth_rx_queue_setup(id_, queue, 0, 0, nullptr, pool) == 0 &&
               rte_eth_tx_queue_setup(id_, queue, 0, 0, nullptr) == 0;
    }
    if (!done || rte_eth_dev_start(id_) != 0) {
        return fail(Errc::kIo, "port on rings not started: " + eal::take_log());
    }
    open_ = true;
    return {};
}

RingPort::~RingPort() {
    for (const std::vector<eal::Ring>* rings : {&rx_, &tx_}) {
        for (const eal::Ring& ring : *rings) {
            for (void* mbuf = nullptr; rte_ring_dequeue(ring.get(), &mbuf) == 0;) {
                rte_pktmbuf_free(static_cast<rte_mbuf*>(mbuf));
            }
        }
    }
    if (open_) {
        rte_eth_dev_stop(id_);
        rte_eth_dev_close(id_);
    }
}

dataplane::TscClock clock_of(const Subject& subject, std::uint64_t base) {
    return {base, subject.by_generation() ? std::uint64_t{1} << 52 : 0};
}

void wire(dataplane::WorkerSetup& setup, Subject& subject, const RingPort& port, QueueId queue) {
    setup.routes[0] = {0, 0, 0, pipeline::EchoAction::kDrop};
    setup.transmit.targets[0] = {port.id(), queue, nullptr};
    setup.filters.count = 1;
    setup.filters.contexts[0] = subject.context();
    setup.filters.contexts[0].window = ~Nanoseconds{0};
    setup.filters.shared[0] = &subject.filter_shared_of_worker();
    setup.filters.filters[0] = &subject.filter_shared();
}

}  // namespace unecho::bench
