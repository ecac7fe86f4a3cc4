// SPDX-License-Identifier: BSD-3-Clause
// Two workers on two CPUs, or the first of them alone, each with an rx queue, a tx queue and a
// filter. Windows of packets are made, received and measured on the workers' own threads, so that a
// packet's cache lines are where its receiver's card would have put them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "appliance/dataplane/worker.h"
#include "appliance/eal/ports/mempool.h"
#include "appliance/eal/ports/ring.h"
#include "appliance/eal/session.h"
#include "base/result.h"
#include "common/samples.h"
#include "pipeline/bed.h"
#include "pipeline/subject.h"
#include "pipeline/traffic.h"

namespace unecho::bench {

// How packets reach their workers.
enum class Way : std::uint8_t {
    kAlone,   // one worker receives and decides all
    kQueues,  // two workers; each queue has its own flows, as with symmetric RSS
    kRings,   // two workers; each receives all flows and hands over those of the other
};
inline constexpr std::array kWays{Way::kAlone, Way::kQueues, Way::kRings};

[[nodiscard]] const char* name_of(Way way);

struct PairOptions {
    std::array<unsigned, 2> cpus{};
    unsigned window = 2048;  // packets that each worker receives in a measured window
    unsigned burst = 32;
    bool hugepages = false;
};

// Counts of both workers.
struct Counted {
    std::uint64_t packets = 0;
    std::uint64_t hops = 0;  // packets that changed workers
    std::uint64_t sent = 0;  // echoes
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
    std::uint64_t overload = 0;  // forwarded unfiltered because a ring was nearly full

    Counted& operator+=(const Counted& other) { return *this = combine(other, std::plus<>()); }
    Counted operator-(const Counted& other) const { return combine(other, std::minus<>()); }

  private:
    template <typename Operation>
    [[nodiscard]] Counted combine(const Counted& other, Operation of) const {
        return {of(packets, other.packets), of(hops, other.hops),     of(sent, other.sent),
                of(echoes, other.echoes),   of(doubts, other.doubts), of(overload, other.overload)};
    }
};

// Results of windows.
struct Windows {
    Samples mpps;  // of all workers together, one value a measured window
    Counted counted;
    unsigned shed = 0;  // measured windows with overload, excluded from the samples
};

class Pair {
  public:
    static Result<std::unique_ptr<Pair>> make(const PairOptions& options);

    using Subjects = std::array<Subject*, 2>;
    // Make the workers that run() uses from now on, and their traffic.
    void install(Way way, const Subjects& subjects, Mix mix, unsigned echo_percent);
    // Run windows one after the other, of which the first `warm` are not measured.
    void run(unsigned warm, unsigned windows, Windows& out);

    // Return the round trip in ns of a cache line that both CPUs write: it shows whether they are
    // near.
    double round_trip(unsigned trips);

    [[nodiscard]] const PairOptions& options() const { return options_; }

  private:
    // A worker with the data of its thread; only `done` is shared.
    struct alignas(128) Side {
        PacketCounter packets;
        std::unique_ptr<Traffic> traffic;
        Subject* subject = nullptr;
        std::array<dataplane::RxQueue, 1> sources{};
        std::array<dataplane::Backlog, 1> backlog{};
        std::vector<std::uint8_t> scratch;
        std::vector<rte_mbuf*> mbufs;
        std::unique_ptr<dataplane::WorkerShared> shared;
        std::unique_ptr<dataplane::Worker> worker;
        std::uint64_t sent_echoes = 0;
        std::uint64_t loaded = 0;  // packets put into its rx queue
        std::uint64_t cycles = 0;  // of the last window
        // Packets that ended here, published when there is nothing to do.
        alignas(128) std::atomic<std::uint64_t> done{0};
    };

    struct Run {
        unsigned warm = 0;
        unsigned windows = 0;
        Windows* out = nullptr;
    };
    static constexpr unsigned kLastTrip = 3;

    Pair(const PairOptions& options, eal::Session session);

    [[nodiscard]] unsigned sides() const { return way_ == Way::kAlone ? 1 : 2; }
    void make_worker(unsigned number);
    static int play_second(void* pair);
    void play(unsigned number);
    void meet(unsigned meeting);
    void prepare(Side& side, QueueId queue);
    void receive_window(Side& side) const;
    static void receive_until_both_end(Side& side, const Side& other);
    [[nodiscard]] static std::uint64_t settled(const Side& side, pipeline::Reason reason);
    [[nodiscard]] static std::uint64_t ended(const Side& side);
    void note(bool measured);
    static int echo_line(void* pair);

    PairOptions options_;
    eal::Session session_;
    eal::Mempool pool_;
    std::unique_ptr<RingPort> port_;
    std::array<eal::Ring, 2> rings_;  // by the sending worker
    hash::Secret secret_;
    const std::uint64_t begun_ = rte_rdtsc();  // shared by all rows, so that no clock steps back

    Way way_ = Way::kAlone;
    std::array<Side, 2> sides_;
    Run run_;
    Counted noted_;  // counts up to the last window

    alignas(128) std::atomic<unsigned> arrived_{0};
    alignas(128) std::atomic<unsigned> line_{0};
};

}  // namespace unecho::bench
