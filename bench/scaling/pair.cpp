// SPDX-License-Identifier: BSD-3-Clause
#include "pair.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <rte_launch.h>
#include <rte_mbuf.h>
#include <sched.h>

namespace unecho::bench {
namespace {

using pipeline::Reason;

constexpr unsigned kSecondLcore = 1;
constexpr unsigned kRingSize = 1024;  // default of [workers] ring_size

// The second worker's packets differ from the first one's.
constexpr std::uint64_t kSecondPackets = std::uint64_t{1} << 48;

// While one of two workers makes its next window, the windows of the other are in tx queues; and
// the cache of each lcore holds 1.5 times 256. There must not be more: buffers are used in turn and
// would evict each other from the L3 cache.
constexpr unsigned kReserve = 1023;
constexpr unsigned kWindowsOfBuffers = 3;

// Spin while the other thread has its own CPU, otherwise let it run on this one.
template <typename Until>
void wait(Until until) {
    constexpr unsigned kSpins = 1 << 14;
    for (unsigned spins = 1; !until(); ++spins) {
        if (spins % kSpins == 0) {
            sched_yield();
        }
    }
}

}  // namespace

const char* name_of(Way way) {
    constexpr std::array kNames{"alone", "queues", "rings"};
    return kNames[static_cast<unsigned>(way)];
}

Result<std::unique_ptr<Pair>> Pair::make(const PairOptions& options) {
    auto session =
        eal::Session::open(session_options("scaling_bench", options.cpus, options.hugepages));
    if (!session) {
        return tl::unexpected(session.error());
    }
    std::unique_ptr<Pair> pair(new Pair(options, std::move(*session)));
    auto pool =
        make_frames(kWindowsOfBuffers * options.window + kReserve, pair->session_.has_hugepages());
    if (!pool) {
        return tl::unexpected(pool.error());
    }
    pair->pool_ = std::move(*pool);
    auto port = RingPort::make(2, options.window, pair->pool_.get());
    if (!port) {
        return tl::unexpected(port.error());
    }
    pair->port_ = std::move(*port);
    for (unsigned i = 0; i < 2; ++i) {
        auto ring = eal::make_ring("bench_hand" + std::to_string(i), kRingSize);
        if (!ring) {
            return tl::unexpected(ring.error());
        }
        pair->rings_[i] = std::move(*ring);
        Side& side = pair->sides_[i];
        side.sources[0] = {pair->port_->id(), static_cast<QueueId>(i), 0};
        side.scratch.resize(dataplane::kScratchBytes);
        side.mbufs.resize(options.window);
    }
    pair->sides_[1].packets.next = kSecondPackets;
    return pair;
}

Pair::Pair(const PairOptions& options, eal::Session session)
    : options_(options), session_(std::move(session)), secret_(hash::secret_from_seed(1)) {}

void Pair::install(Way way, const Subjects& subjects, Mix mix, unsigned echo_percent) {
    way_ = way;
    noted_ = {};
    for (unsigned i = 0; i < sides(); ++i) {
        Side& side = sides_[i];
        const FlowPart flows = way == Way::kQueues ? FlowPart{1, i} : FlowPart{};
        side.traffic =
            std::make_unique<Traffic>(side.packets, mix, echo_percent, Tunnel::kNone, flows);
        side.subject = subjects[i];
        side.sent_echoes = 0;
        side.loaded = 0;
        make_worker(i);
    }
}

void Pair::make_worker(unsigned number) {
    Side& side = sides_[number];
    side.shared = std::make_unique<dataplane::WorkerShared>();
    auto setup = std::make_unique<dataplane::WorkerSetup>();
    setup->common.burst = options_.burst;
    setup->common.secret = &secret_;
    setup->common.clock = clock_of(*side.subject, begun_);
    setup->receive.sources = side.sources;
    if (way_ == Way::kRings) {
        const unsigned other = 1 - number;
        setup->receive.backlog = side.backlog;
        setup->steering.by_ring = true;
        setup->steering.workers = 2;
        setup->steering.self = static_cast<WorkerIndex>(number);
        setup->steering.out[other] = rings_[number].get();
        setup->steering.in[other] = rings_[other].get();
    }
    setup->report.shared = side.shared.get();
    setup->scratch = side.scratch;
    wire(*setup, *side.subject, *port_, static_cast<QueueId>(number));
    side.worker = std::make_unique<dataplane::Worker>(*setup);
    side.done.store(0, std::memory_order_relaxed);
}

void Pair::run(unsigned warm, unsigned windows, Windows& out) {
    run_ = {warm, windows, &out};
    arrived_.store(0, std::memory_order_relaxed);
    if (sides() == 2) {
        rte_eal_remote_launch(play_second, this, kSecondLcore);
    }
    play(0);
    rte_eal_wait_lcore(kSecondLcore);
}

int Pair::play_second(void* pair) {
    static_cast<Pair*>(pair)->play(1);
    return 0;
}

void Pair::play(unsigned number) {
    Side& side = sides_[number];
    side.subject->touch();
    unsigned meetings = 0;
    for (unsigned i = 0; i < run_.warm + run_.windows; ++i) {
        prepare(side, static_cast<QueueId>(number));
        meet(++meetings);
        const std::uint64_t start = rte_rdtsc_precise();
        if (way_ == Way::kRings) {
            receive_until_both_end(side, sides_[1 - number]);
        } else {
            receive_window(side);
        }
        side.cycles = rte_rdtsc_precise() - start;
        meet(++meetings);
        if (number == 0) {
            note(i >= run_.warm);
        }
        meet(++meetings);
    }
}

void Pair::meet(unsigned meeting) {
    arrived_.fetch_add(1, std::memory_order_acq_rel);
    wait([&] { return arrived_.load(std::memory_order_acquire) >= meeting * sides(); });
}

// Buffers sent from here are reused first; fresh ones replace those dropped or sent by the other
// side.
void Pair::prepare(Side& side, QueueId queue) {
    side.subject->keep_house();
    const std::span<rte_mbuf*> mbufs(side.mbufs);
    const unsigned back = port_->take_sent(queue, mbufs);
    if (rte_pktmbuf_alloc_bulk(pool_.get(), mbufs.data() + back,
                               static_cast<unsigned>(mbufs.size()) - back) != 0) {
        std::abort();  // there are more than can be in use
    }
    std::array<rte_mbuf*, kMaxBurst> more;
    while (const unsigned n = port_->take_sent(queue, more)) {
        rte_pktmbuf_free_bulk(more.data(), n);
    }
    side.sent_echoes += side.traffic->stamp(mbufs);
    port_->load(queue, mbufs);
    side.loaded += mbufs.size();
}

void Pair::receive_window(Side& side) const {
    for (unsigned taken = 0; taken < options_.window;) {
        taken += side.worker->poll_once();
    }
}

// Check the progress of the other side only when there is nothing to do.
void Pair::receive_until_both_end(Side& side, const Side& other) {
    wait([&] {
        if (side.worker->poll_once() != 0) {
            return false;
        }
        const std::uint64_t mine = ended(side);
        side.done.store(mine, std::memory_order_release);
        return mine + other.done.load(std::memory_order_acquire) == 2 * side.loaded;
    });
}

std::uint64_t Pair::settled(const Side& side, Reason reason) {
    return side.worker->counters().routes[0][static_cast<unsigned>(reason)].packets;
}

std::uint64_t Pair::ended(const Side& side) {
    std::uint64_t sum = 0;
    for (const pipeline::PacketBytes& reason : side.worker->counters().routes[0]) {
        sum += reason.packets;
    }
    return sum;
}

// Add what both have counted since the last window. Call while neither runs.
void Pair::note(bool measured) {
    Windows& out = *run_.out;
    Counted now;
    std::uint64_t cycles = 0;
    for (unsigned i = 0; i < sides(); ++i) {
        const Side& side = sides_[i];
        now.packets += side.loaded;
        now.hops += side.worker->counters().handed_out;
        now.sent += side.sent_echoes;
        now.echoes += settled(side, Reason::kEcho);
        now.doubts += settled(side, Reason::kDoubt);
        now.overload += settled(side, Reason::kOverload);
        cycles = std::max(cycles, side.cycles);
    }
    const Counted window = now - noted_;
    noted_ = now;
    out.counted += window;
    if (window.overload != 0) {
        out.shed += measured ? 1 : 0;
    } else if (measured) {
        const double seconds = static_cast<double>(cycles) / static_cast<double>(rte_get_tsc_hz());
        out.mpps.add(static_cast<double>(window.packets) / seconds / 1e6);
    }
}

// The second CPU answers each odd value with the next one.
int Pair::echo_line(void* pair) {
    std::atomic<unsigned>& line = static_cast<Pair*>(pair)->line_;
    for (bool end = false; !end;) {
        unsigned value = 0;
        wait([&] { return ((value = line.load(std::memory_order_acquire)) & 1) != 0; });
        end = value == kLastTrip;
        line.store(value + 1, std::memory_order_release);
    }
    return 0;
}

// Return the least of some means, because interference only makes trips longer.
double Pair::round_trip(unsigned trips) {
    constexpr unsigned kMeans = 20;
    rte_eal_remote_launch(echo_line, this, kSecondLcore);
    const auto trip = [this](unsigned value) {
        line_.store(value, std::memory_order_release);
        wait([&] { return line_.load(std::memory_order_acquire) == value + 1; });
    };
    std::uint64_t least = ~std::uint64_t{0};
    for (unsigned i = 0; i < kMeans; ++i) {
        const std::uint64_t start = rte_rdtsc_precise();
        for (unsigned k = 0; k < trips; ++k) {
            trip(1);
        }
        least = std::min(least, rte_rdtsc_precise() - start);
    }
    trip(kLastTrip);
    rte_eal_wait_lcore(kSecondLcore);
    return static_cast<double>(least) / trips / static_cast<double>(rte_get_tsc_hz()) * 1e9;
}

}  // namespace unecho::bench
