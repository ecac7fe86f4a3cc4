// SPDX-License-Identifier: BSD-3-Clause
// A poll-mode worker: one lcore, its rx queues, its filters, its counters. It shares nothing with
// other workers but single-producer single-consumer rings, and takes no lock.
//
// poll_once() is the life of a packet: receive, view, steer, digest, decide, transmit
// (pipeline/stages.h has the middle ones). Tests and benchmarks call it without a thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "base/int128.h"
#include "base/merge.h"
#include "dataplane/burst.h"
#include "dataplane/presence.h"
#include "dataplane/shared.h"
#include "dataplane/steering.h"
#include "pipeline/stages.h"

namespace unecho::dataplane {

// TSC cycles to nanoseconds since start, by one multiplication.
struct TscClock {
    std::uint64_t start = 0;
    std::uint64_t scale = 0;                 // nanoseconds per cycle, as a fraction of 2^32
    const std::uint64_t* counter = nullptr;  // a test's, instead of the processor's

    static TscClock with_frequency(std::uint64_t start, std::uint64_t hz) noexcept {
        return {start, static_cast<std::uint64_t>((uint128{kSecond} << 32) / hz), nullptr};
    }
    [[nodiscard]] Nanoseconds at(std::uint64_t tsc) const noexcept {
        return static_cast<Nanoseconds>((uint128{tsc - start} * scale) >> 32);
    }
    [[nodiscard]] Nanoseconds now() const noexcept {
        return at(counter == nullptr ? rte_rdtsc() : *counter);
    }
};

struct RxSource {
    PortId port = 0;
    QueueId queue = 0;
    PortIndex index = 0;
    unsigned descriptors = 1024;  // packets that may wait there
};

// Packets of one source that wait with the worker, and are counted as received only when they go
// on: read ahead, so that several captures can be merged by time; or refused by the full ring to
// their owner, before which nothing more is taken from the source.
struct Staging {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    unsigned next = 0;
    unsigned count = 0;
    MergeClock clock;
    std::optional<Nanoseconds> due;  // of the next packet, if it was looked at
};
static_assert(kMaxBurst > MergeClock::kLookAhead);

struct TxTarget {
    PortId port = 0;
    QueueId queue = 0;
    rte_ring* ring = nullptr;  // to the worker that owns the queue; null: this worker does
};

struct RouteContext {
    FilterIndex filter = 0;
    PortIndex to = 0;
    PortIndex divert_to = 0;
    pipeline::EchoAction on_echo = pipeline::EchoAction::kDrop;
    filter::TapReport* taps = nullptr;  // of the flows of its two ports; null: not reported
};

// What a packet carries from the worker that decided to the one that transmits it.
struct TxTag {
    PortIndex to;
    std::uint8_t route;
    std::uint8_t reason;
};

// Everything a worker works with, made by the control thread before launch, constant afterwards.
struct WorkerSetup {
    unsigned workers = 1;
    unsigned burst = 32;  // packets asked for at a time, at most kMaxBurst

    std::span<const RxSource> sources;
    std::array<RouteIndex, RTE_MAX_ETHPORTS> route_of{};  // by DPDK's port number
    std::array<RouteContext, kMaxRoutes> routes{};
    std::array<RouteIndex, kMaxRoutes> reporting{};  // those with taps
    unsigned reports = 0;
    std::array<filter::SetOfTwo, RTE_MAX_ETHPORTS> tap_of{};  // by DPDK's port number
    std::array<TxTarget, kMaxPorts> tx{};                     // by PortIndex

    unsigned filters = 0;
    std::array<pipeline::Lane, kMaxFilters> lanes{};
    std::array<LaneShared*, kMaxFilters> lane_shared{};
    std::array<const FilterShared*, kMaxFilters> filter_shared{};

    // Rings by the other worker's index; null where there is none.
    WorkerIndex self = 0;
    bool steer_by_ring = false;
    const RssModel* card = nullptr;  // with RSS: which packets it puts where
    std::array<rte_ring*, kMaxWorkers> steer_out{};
    std::array<rte_ring*, kMaxWorkers> steer_in{};
    std::array<rte_ring*, kMaxWorkers> tx_in{};

    const hash::Secret* secret = nullptr;
    std::span<std::uint8_t> scratch;  // kScratchBytes
    std::span<Staging> staging;       // one for each source; capture clock or steering only
    TscClock clock;
    bool capture_clock = false;
    int timestamp_offset = -1;  // of the rx timestamp in an mbuf; capture clock only
    int tag_offset = -1;        // of TxTag in an mbuf; with tx rings only
    std::uint64_t tx_retry_cycles = 0;

    WorkerShared* shared = nullptr;
};

class Worker {
  public:
    explicit Worker(const WorkerSetup& setup) noexcept;

    // Until the control thread says stop.
    void run() noexcept;

    // One round over all sources and rings; the packets taken.
    unsigned poll_once() noexcept;

    // After run() of all workers, while nobody reads snapshots: frees and counts what is left in
    // rings and staging, and leaves the final snapshot unasked.
    void settle_leftovers() noexcept;

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  private:
    // Whose packets come next, and up to which time of another source.
    struct Turn {
        std::optional<std::size_t> source;
        Nanoseconds limit = ~Nanoseconds{0};
        bool limit_first = false;  // at the limit the other source has precedence
    };
    Turn next_turn(bool refill) noexcept;
    std::optional<Nanoseconds> due(std::size_t source, bool refill) noexcept;
    bool stage(std::size_t source) noexcept;
    Nanoseconds packet_time(const RxSource& source, Nanoseconds stamp) noexcept;

    unsigned receive_live(bool refill) noexcept;
    unsigned receive_merged(bool refill) noexcept;
    template <typename Rings, typename Handle>
    unsigned take(const Rings& rings, Handle handle) noexcept;
    unsigned take_steered() noexcept;
    unsigned take_transmits() noexcept;
    void transmit_tagged(Burst& burst, std::span<const TxTag> tags, PortIndex to) noexcept;

    [[nodiscard]] bool room_downstream() const noexcept;

    unsigned begin(Burst& burst, const RxSource& source, Staging& held) noexcept;
    unsigned begin_viewed(Burst& burst, const RxSource& source, Staging& held) noexcept;
    PacketBytes steer(Burst& burst, Staging& held) noexcept;
    void process(Burst& burst) noexcept;
    void settle(Burst& burst) noexcept;
    void send_unfiltered(Burst& burst) noexcept;

    void deliver(const Burst& burst, PortIndex to, std::uint64_t mask,
                 std::span<const pipeline::Outcome> outcomes) noexcept;

    struct Sent {
        std::uint64_t out = 0;   // accepted by the queue, or by the ring to its owner
        std::uint64_t lost = 0;  // freed
    };
    Sent send(const Burst& burst, const TxTarget& target, std::uint64_t mask) noexcept;
    unsigned transmit(const TxTarget& target, rte_mbuf** mbufs, unsigned n) noexcept;
    unsigned enqueue(rte_ring* ring, rte_mbuf** mbufs, unsigned n) noexcept;
    void tag(const Burst& burst, PortIndex to, std::uint64_t mask,
             pipeline::Reason reason) noexcept;
    void tally(const Burst& burst, pipeline::Reason reason, std::uint64_t mask) noexcept;
    void drop(const Burst& burst, std::uint64_t mask) noexcept;

    filter::Moment moment(FilterIndex filter) noexcept;
    void keep_house() noexcept;
    void keep_reports() noexcept;
    void exchange_segments(unsigned lane) noexcept;
    void answer_snapshot() noexcept;
    void take_snapshot(std::uint64_t wanted) noexcept;

    WorkerSetup setup_;
    Steering steering_;
    Counters counters_;
    Presence presence_;  // not by a capture's clock
    bool full_ = false;  // a queue or ring gave a whole burst in this poll
    std::array<std::uint64_t, kMaxFilters> exchanged_{};  // in which generation segments were
    std::array<PacketClock, kMaxFilters> packet_clocks_;  // capture clock
    std::uint64_t packets_timed_ = 0;
};

}  // namespace unecho::dataplane
