// SPDX-License-Identifier: BSD-3-Clause
#include "rig.h"

#include <bit>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

namespace unecho::bench {
namespace {

// At 17 to 33 Mpps, which most rows reach, a worker's budget allows a sample of so many bits. At
// lower rates it allows a larger share, which takes the same time.
constexpr unsigned kAuditBits = 14;
constexpr std::uint64_t kAuditMemory = std::uint64_t{2} << 20;

// A cycle counts as 1 ms (install()), so such a sample gets a packet every few minutes. With this
// window the table is nearly full.
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

// Paths between the port of the packets and another, in a sample of the same size.
pipeline::PathSpec path_spec_of(const filter::AuditSpec& audit) {
    pipeline::PathSpec spec;
    spec.points = 2;
    spec.window = audit.window;
    spec.memory = audit.memory;
    spec.bits = audit.bits;
    spec.secret = audit.secret;
    return spec;
}

// Mbufs in addition to those of a window: they are in the pool's cache.
constexpr unsigned kReserve = 1023;

}  // namespace

Result<std::unique_ptr<Rig>> Rig::make(const RigOptions& options) {
    auto session =
        eal::Session::open(session_options("pipeline_bench", {&options.cpu, 1}, options.hugepages));
    if (!session) {
        return tl::unexpected(session.error());
    }
    std::unique_ptr<Rig> rig(new Rig(options, std::move(*session)));
    auto pool = make_frames(options.window + kReserve, rig->session_.has_hugepages());
    if (!pool) {
        return tl::unexpected(pool.error());
    }
    rig->pool_ = std::move(*pool);
    auto port = RingPort::make(1, options.window, rig->pool_.get());
    if (!port) {
        return tl::unexpected(port.error());
    }
    rig->port_ = std::move(*port);
    rig->sources_[0] = {rig->port_->id(), 0, 0};
    return rig;
}

Rig::Rig(const RigOptions& options, eal::Session session)
    : options_(options),
      session_(std::move(session)),
      mbufs_(options.window),
      secret_(hash::secret_from_seed(1)),
      scratch_(dataplane::kScratchBytes),
      bursts_(std::make_unique<std::array<dataplane::Burst, kStaged>>()) {}

Rig::Shadow::Shadow(const pipeline::FilterContext& context, const pipeline::AuditSecret& secret)
    : params(audit_params(secret)),
      memory(*MappedMemory::make(filter::Audit::bytes(params), MappedMemory::Touch::kNow)),
      audit(params, memory.bytes()),
      path_spec(path_spec_of(params.spec())),
      path_memory(
          *MappedMemory::make(pipeline::PathTable::bytes(path_spec), MappedMemory::Touch::kNow)),
      paths(path_spec, path_memory.bytes(), totals),
      stage(audit, context.key, secret, crossings, &paths) {}

void Rig::install(Subject& subject) {
    subject_ = &subject;
    worker_shared_ = std::make_unique<dataplane::WorkerShared>();
    auto setup = std::make_unique<dataplane::WorkerSetup>();
    setup->common.burst = options_.burst;
    setup->common.secret = &secret_;
    setup->receive.sources = sources_;
    wire(*setup, subject, *port_, 0);
    setup->scratch = scratch_;
    clock_ = clock_of(subject, begun_);
    setup->common.clock = clock_;
    setup->report.shared = worker_shared_.get();
    worker_ = std::make_unique<dataplane::Worker>(*setup);
    shadow_ = std::make_unique<Shadow>(subject.context(), audit_secret_);
    setup->filters.audits[0] = &shadow_->stage;
    setup->filters.crossings = &shadow_->crossings;
    audited_ = std::make_unique<dataplane::Worker>(*setup);
    watch_ = std::make_unique<dataplane::PollProfiler>(
        dataplane::PollProfilerSetup{}, setup->common, watch_counters_, worker_shared_->stalls,
        worker_shared_->stage);
    subject.touch();
}

// Forwarded buffers return to the pool, as those of a card do. If they were received again at once,
// half as many buffers would circulate without echoes as with them, and they would be warmer.
unsigned Rig::next_packets(Traffic& traffic) {
    subject_->keep_house();
    rte_pktmbuf_free_bulk(mbufs_.data(), port_->take_sent(0, mbufs_));
    if (rte_pktmbuf_alloc_bulk(pool_.get(), mbufs_.data(), options_.window) != 0) {
        return 0;
    }
    return traffic.stamp(mbufs_);
}

std::uint64_t Rig::measure_worker(Traffic& traffic, WindowResult& found, bool audited) {
    dataplane::Worker& worker = audited ? *audited_ : *worker_;
    found.sent_echoes += next_packets(traffic);
    port_->load(0, mbufs_);
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

StageCycles Rig::measure_stages(Traffic& traffic, WindowResult& found) {
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
    const pipeline::FilterContext& context = subject_->context();
    while (next != mbufs_.data() + options_.window) {
        each([&](dataplane::Burst& burst) {
            burst.count = options_.burst;
            std::copy_n(next, options_.burst, burst.mbufs.begin());
            next += options_.burst;
        });
        const filter::TimerSnapshot published{clock_.now(), subject_->turns()};
        timed(cycles.view,
              [&] { each([&](dataplane::Burst& burst) { (void)view(burst, scratch_); }); });
        timed(cycles.digest, [&] {
            each([&](dataplane::Burst& burst) {
                pipeline::parse(burst, context.key);
                pipeline::digest(burst, context.key, secret_);
            });
        });
        timed(cycles.decide, [&] {
            each([&](dataplane::Burst& burst) { pipeline::decide(burst, context, published); });
        });
        each([&](const dataplane::Burst& burst) {
            found.echoes += static_cast<unsigned>(std::popcount(burst.echoes));
            found.doubts += static_cast<unsigned>(std::popcount(burst.doubts));
        });
    }
    found.inline_clears += subject_->counters().inline_clears - clears_before;
    rte_pktmbuf_free_bulk(mbufs_.data(), static_cast<unsigned>(mbufs_.size()));
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
    // The calls of a poll of one source whose queue is full.
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
    port_->load(0, mbufs_);
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    const std::uint64_t start = rte_rdtsc_precise();
    for (unsigned moved = 0; moved < options_.window;) {
        const std::uint16_t n = rte_eth_rx_burst(port_->id(), 0, mbufs.data(),
                                                 static_cast<std::uint16_t>(options_.burst));
        moved += rte_eth_tx_burst(port_->id(), 0, mbufs.data(), n);
    }
    return rte_rdtsc_precise() - start;
}

}  // namespace unecho::bench
