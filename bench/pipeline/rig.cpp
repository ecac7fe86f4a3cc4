// SPDX-License-Identifier: BSD-3-Clause
#include "rig.h"

#include <bit>
#include <string>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

namespace unecho::bench {
namespace {

constexpr std::uint16_t kDataRoom = 128 + 2048;

// Of 17 to 33 million packets a second, which most rows have, a worker's budget allows a sample of
// so many bits; of fewer packets a larger share, which costs the same time.
constexpr unsigned kAuditBits = 14;
constexpr std::uint64_t kAuditMemory = std::uint64_t{2} << 20;

// A cycle counts as a millisecond (install()), so that a packet comes every few minutes to such a
// sample: with this window the table is nearly full.
filter::AuditParams audit_params(const pipeline::AuditSecret& secret) {
    constexpr Nanoseconds kPacketGap = 100 * kMillisecond;
    constexpr Nanoseconds kEntries = 10'000;
    filter::AuditSpec spec;
    spec.memory = kAuditMemory;
    spec.window = (kEntries / 4) * (kPacketGap << kAuditBits);
    spec.bits = kAuditBits;
    spec.begins_whole = true;
    spec.secret = secret.sample;
    return *filter::AuditParams::make(spec);
}

// Mbufs beside those of a window: in the pool's cache.
constexpr unsigned kReserve = 1023;

eal::SessionOptions session_options(const RigOptions& options) {
    eal::SessionOptions out;
    out.program = "pipeline_bench";
    out.main_lcore = options.cpu;
    out.lcores = std::to_string(options.cpu) + "@" + std::to_string(options.cpu);
    out.args = {"--no-pci", "--no-telemetry"};
    if (options.hugepages) {
        out.args.emplace_back("--in-memory");
    } else {
        out.args.insert(out.args.end(), {"--no-huge", "--no-shconf", "-m", "128"});
    }
    return out;
}

}  // namespace

Result<std::unique_ptr<Rig>> Rig::make(const RigOptions& options) {
    auto session = eal::Session::open(session_options(options));
    if (!session) {
        return tl::unexpected(session.error());
    }
    std::unique_ptr<Rig> rig(new Rig(options, std::move(*session)));
    if (const Status status = rig->make_port(); !status) {
        return tl::unexpected(status.error());
    }
    return rig;
}

Rig::Rig(const RigOptions& options, eal::Session session)
    : options_(options),
      session_(std::move(session)),
      mbufs_(options.window),
      secret_(hash::secret_from_seed(1)),
      scratch_(dataplane::kScratchBytes),
      bursts_(std::make_unique<std::array<dataplane::Burst, kStaged>>()) {}

Rig::Shadow::Shadow(const pipeline::Lane& lane, const pipeline::AuditSecret& secret)
    : params(audit_params(secret)),
      memory(*MappedMemory::make(filter::Audit::bytes(params), MappedMemory::Touch::kNow)),
      audit(params, memory.bytes()),
      stage(audit, lane.key, secret, crossings) {}

Rig::~Rig() {
    if (port_open_) {
        return_packets();
        rte_eth_dev_stop(port_);
        rte_eth_dev_close(port_);
    }
}

Status Rig::make_port() {
    const unsigned slots = std::bit_ceil(options_.window + 1);
    auto pool = eal::make_mempool({"bench_mbufs", std::bit_ceil(options_.window + kReserve) - 1,
                                   kDataRoom, SOCKET_ID_ANY, !session_.has_hugepages()});
    auto rx = eal::make_ring("bench_rx", slots);
    auto tx = eal::make_ring("bench_tx", slots);
    if (!pool || !rx || !tx) {
        return tl::unexpected(!pool ? pool.error() : !rx ? rx.error() : tx.error());
    }
    pool_ = std::move(*pool);
    rx_ = std::move(*rx);
    tx_ = std::move(*tx);
    rte_ring* rx_rings[] = {rx_.get()};
    rte_ring* tx_rings[] = {tx_.get()};
    const int port = rte_eth_from_rings("bench", rx_rings, 1, tx_rings, 1, 0);
    if (port < 0) {
        return fail(Errc::kIo, "no port on rings: " + eal::take_log());
    }
    port_ = static_cast<PortId>(port);
    const rte_eth_conf conf{};
    if (rte_eth_dev_configure(port_, 1, 1, &conf) != 0 ||
        rte_eth_rx_queue_setup(port_, 0, 0, 0, nullptr, pool_.get()) != 0 ||
        rte_eth_tx_queue_setup(port_, 0, 0, 0, nullptr) != 0 || rte_eth_dev_start(port_) != 0) {
        return fail(Errc::kIo, "port on rings not started: " + eal::take_log());
    }
    port_open_ = true;
    sources_[0] = {port_, 0, 0};
    // Every buffer once, so that whichever comes next holds a frame.
    std::vector<rte_mbuf*> all(rte_mempool_avail_count(pool_.get()));
    if (rte_pktmbuf_alloc_bulk(pool_.get(), all.data(), static_cast<unsigned>(all.size())) != 0) {
        return fail(Errc::kNoMemory, "packet buffers");
    }
    for (rte_mbuf* mbuf : all) {
        Traffic::fill(*mbuf);
    }
    rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
    return {};
}

void Rig::install(Subject& subject) {
    subject_ = &subject;
    worker_shared_ = std::make_unique<dataplane::WorkerShared>();
    auto setup = std::make_unique<dataplane::WorkerSetup>();
    setup->common.burst = options_.burst;
    setup->common.secret = &secret_;
    setup->receive.sources = sources_;
    setup->routes[0] = {0, 0, 0, pipeline::EchoAction::kDrop};
    setup->transmit.targets[0] = {port_, 0, nullptr};
    setup->lanes.count = 1;
    setup->lanes.lanes[0] = subject.lane();
    setup->lanes.lanes[0].window = ~Nanoseconds{0};
    setup->lanes.shared[0] = &subject.lane_shared();
    setup->lanes.filters[0] = &subject.filter_shared();
    setup->scratch = scratch_;
    // Time stands still for the exact table, which is then always full: the oldest entry gives way
    // to a new one, as it does when it expires. Where generations turn by the keys inserted, a
    // cycle counts as a millisecond, so that each has had its length; no pause is one of a worker
    // that was away.
    clock_.scale = subject.by_generation() ? std::uint64_t{1} << 52 : 0;
    setup->common.clock = clock_;
    setup->report.shared = worker_shared_.get();
    worker_ = std::make_unique<dataplane::Worker>(*setup);
    shadow_ = std::make_unique<Shadow>(subject.lane(), audit_secret_);
    setup->lanes.audits[0] = &shadow_->stage;
    setup->lanes.crossings = &shadow_->crossings;
    audited_ = std::make_unique<dataplane::Worker>(*setup);
    watch_ = std::make_unique<dataplane::PollWatch>(dataplane::WatchSetup{}, setup->common,
                                                    watch_counters_, worker_shared_->stalls,
                                                    worker_shared_->stage);
    subject.touch();
}

// What was forwarded comes back first; fresh buffers take the place of those that were dropped.
unsigned Rig::next_packets(Traffic& traffic) {
    subject_->keep_house();
    const unsigned back = rte_ring_dequeue_burst(tx_.get(), reinterpret_cast<void**>(mbufs_.data()),
                                                 options_.window, nullptr);
    if (rte_pktmbuf_alloc_bulk(pool_.get(), mbufs_.data() + back, options_.window - back) != 0) {
        return 0;
    }
    return traffic.stamp(mbufs_);
}

void Rig::load_rx() {
    rte_ring_enqueue_bulk(rx_.get(), reinterpret_cast<void* const*>(mbufs_.data()), options_.window,
                          nullptr);
}

void Rig::return_packets() {
    const unsigned n = rte_ring_dequeue_burst(tx_.get(), reinterpret_cast<void**>(mbufs_.data()),
                                              options_.window, nullptr);
    rte_pktmbuf_free_bulk(mbufs_.data(), n);
}

std::uint64_t Rig::measure_worker(Traffic& traffic, Found& found, bool audited) {
    dataplane::Worker& worker = audited ? *audited_ : *worker_;
    found.sent_echoes += next_packets(traffic);
    load_rx();
    const auto settled = [&](pipeline::Reason reason) {
        return worker.counters().routes[0][static_cast<unsigned>(reason)].packets;
    };
    const std::uint64_t echoes_before = settled(pipeline::Reason::kEcho);
    const std::uint64_t doubts_before = settled(pipeline::Reason::kDoubt);
    const std::uint64_t clears_before = subject_->counters().inline_clears;
    const std::uint64_t start = rte_rdtsc_precise();
    for (unsigned taken = 0; taken < options_.window;) {
        taken += worker.poll_once();
    }
    const std::uint64_t cycles = rte_rdtsc_precise() - start;
    found.echoes += settled(pipeline::Reason::kEcho) - echoes_before;
    found.doubts += settled(pipeline::Reason::kDoubt) - doubts_before;
    found.inline_clears += subject_->counters().inline_clears - clears_before;
    return cycles;
}

StageCycles Rig::measure_stages(Traffic& traffic, Found& found) {
    found.sent_echoes += next_packets(traffic);
    const std::uint64_t clears_before = subject_->counters().inline_clears;
    StageCycles cycles;
    const auto timed = [](std::uint64_t& sum, auto&& stage) {
        const std::uint64_t start = rte_rdtsc_precise();
        stage();
        sum += rte_rdtsc_precise() - start;
    };
    const auto each = [&](auto&& stage) {
        for (dataplane::Burst& burst : *bursts_) {
            stage(burst);
        }
    };
    rte_mbuf** next = mbufs_.data();
    const pipeline::Lane& lane = subject_->lane();
    while (next != mbufs_.data() + options_.window) {
        each([&](dataplane::Burst& burst) {
            burst.count = options_.burst;
            std::copy_n(next, options_.burst, burst.mbufs.begin());
            next += options_.burst;
        });
        const filter::Published published{clock_.now(), subject_->turns()};
        timed(cycles.view,
              [&] { each([&](dataplane::Burst& burst) { (void)view(burst, scratch_); }); });
        timed(cycles.digest, [&] {
            each([&](dataplane::Burst& burst) {
                pipeline::parse(burst, lane.key);
                pipeline::digest(burst, lane.key, secret_);
            });
        });
        timed(cycles.decide, [&] {
            each([&](dataplane::Burst& burst) { pipeline::decide(burst, lane, published); });
        });
        each([&](const dataplane::Burst& burst) {
            found.echoes += static_cast<unsigned>(std::popcount(burst.echoes));
            found.doubts += static_cast<unsigned>(std::popcount(burst.doubts));
        });
    }
    found.inline_clears += subject_->counters().inline_clears - clears_before;
    rte_ring_enqueue_bulk(tx_.get(), reinterpret_cast<void* const*>(mbufs_.data()), options_.window,
                          nullptr);
    return cycles;
}

double Rig::measure_watch() {
    using dataplane::Stage;
    const unsigned polls = options_.window / options_.burst;
    const auto timed = [&](auto&& poll) {
        const std::uint64_t start = rte_rdtsc_precise();
        for (unsigned i = 0; i < polls; ++i) {
            poll(clock_.now());
        }
        return static_cast<double>(rte_rdtsc_precise() - start);
    };
    // As in a poll of one source whose queue is full.
    const double watched = timed([&](Nanoseconds now) {
        watch_->begin_poll(now);
        for (const Stage stage : {Stage::kReceive, Stage::kParse, Stage::kDigest, Stage::kDecide,
                                  Stage::kTransmit, Stage::kTransmit, Stage::kReport}) {
            watch_->enter(stage);
            rte_compiler_barrier();
        }
        watch_->end_poll({options_.burst, true});
    });
    volatile Nanoseconds last = 0;
    return watched - timed([&](Nanoseconds now) { last = now; });
}

std::uint64_t Rig::measure_ports(Traffic& traffic) {
    next_packets(traffic);
    load_rx();
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    const std::uint64_t start = rte_rdtsc_precise();
    for (unsigned moved = 0; moved < options_.window;) {
        const std::uint16_t n =
            rte_eth_rx_burst(port_, 0, mbufs.data(), static_cast<std::uint16_t>(options_.burst));
        moved += rte_eth_tx_burst(port_, 0, mbufs.data(), n);
    }
    return rte_rdtsc_precise() - start;
}

}  // namespace unecho::bench
