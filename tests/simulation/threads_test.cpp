// SPDX-License-Identifier: BSD-3-Clause
// The appliance with its own threads, as `unecho run` has them: workers, control thread and reload
// thread. Other threads request reports, and devices bring and accept packets. A thread sanitizer
// checks everything that they share. In its build, the rings' inline functions use the memory model
// of C11 (RTE_USE_C11_MEM_MODEL), whose ordering it understands. Packet buffers come from a pool
// behind a mutex. UNECHO_THREAD_SECONDS sets the duration of each appliance.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "appliance/eal/lcores.h"
#include "appliance/eal/session.h"
#include "appliance/plan/machine.h"
#include "appliance/plan/plan.h"
#include "appliance/reload/reload.h"
#include "appliance/stats/stats.h"
#include "appliance/timers/rotation_timers.h"
#include "appliance/timers/sleep_backoff.h"
#include "appliance/topology/topology.h"
#include "chance.h"
#include "config/load.h"
#include "own_port.h"
#include "shape.h"
#include "support/packet_builder.h"

namespace unecho::test {
namespace {

constexpr unsigned kBuffers = 4095;
constexpr unsigned kPorts = 4;
constexpr unsigned kTaps = 2;
constexpr std::uint64_t kReloads = 5;  // at least, however slow the machine is
constexpr std::uint64_t kReports = 5;

// --- packet buffers behind a mutex ---------------------------------------------------------------

struct Shelf {
    std::mutex mutex;
    std::vector<void*> objects;
};

Shelf& shelf_of(const rte_mempool* pool) {
    return *static_cast<Shelf*>(pool->pool_data);
}

int make_shelf(rte_mempool* pool) {
    pool->pool_data = new Shelf;
    return 0;
}
void end_shelf(rte_mempool* pool) {
    delete &shelf_of(pool);
}
int put(rte_mempool* pool, void* const* objects, unsigned n) {
    Shelf& shelf = shelf_of(pool);
    const std::lock_guard lock(shelf.mutex);
    shelf.objects.insert(shelf.objects.end(), objects, objects + n);
    return 0;
}
int take(rte_mempool* pool, void** objects, unsigned n) {
    Shelf& shelf = shelf_of(pool);
    const std::lock_guard lock(shelf.mutex);
    if (shelf.objects.size() < n) {
        return -ENOBUFS;
    }
    std::copy(shelf.objects.end() - n, shelf.objects.end(), objects);
    shelf.objects.resize(shelf.objects.size() - n);
    return 0;
}
unsigned count(const rte_mempool* pool) {
    Shelf& shelf = shelf_of(pool);
    const std::lock_guard lock(shelf.mutex);
    return static_cast<unsigned>(shelf.objects.size());
}

void register_shelves() {
    static rte_mempool_ops ops{};
    std::strncpy(ops.name, "shelf", sizeof(ops.name) - 1);
    ops.alloc = make_shelf;
    ops.free = end_shelf;
    ops.enqueue = put;
    ops.dequeue = take;
    ops.get_count = count;
    ASSERT_GE(rte_mempool_register_ops(&ops), 0);
}

rte_mempool* make_pool() {
    rte_mempool* const pool = rte_mempool_create_empty(
        "threads", kBuffers, sizeof(rte_mbuf) + 128 + 256, 0, sizeof(rte_pktmbuf_pool_private),
        SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    if (pool == nullptr || rte_mempool_set_ops_byname(pool, "shelf", nullptr) != 0) {
        return nullptr;
    }
    rte_pktmbuf_pool_private about{};
    about.mbuf_data_room_size = 128 + 256;
    rte_pktmbuf_pool_init(pool, &about);
    if (rte_mempool_populate_default(pool) < 0) {
        return nullptr;
    }
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
    return pool;
}

// --- devices -------------------------------------------------------------------------------------

// The fate of each packet, by its number.
struct Fates {
    explicit Fates(std::size_t most) : sent(most) {}
    std::vector<std::atomic<std::uint8_t>> sent;  // how often
    std::atomic<std::uint32_t> next{0};
    std::atomic<std::uint64_t> sent_twice{0};
    std::atomic<std::uint64_t> unknown{0};
};

class Device {
  public:
    Device(unsigned number, rte_mempool* pool)
        : port_("threads" + std::to_string(number), {4, 512, pool, receive, transmit, this}) {}

    [[nodiscard]] PortId id() const { return port_.id(); }

    void begin(Fates* fates, unsigned refused_percent) {
        const std::lock_guard lock(mutex_);
        fates_ = fates;
        refused_percent_ = refused_percent;
        taken_ = sent_ = 0;
    }
    bool offer(rte_mbuf* mbuf) {
        const std::lock_guard lock(mutex_);
        if (waiting_.size() >= 512) {
            return false;
        }
        waiting_.push_back(mbuf);
        return true;
    }
    [[nodiscard]] std::uint64_t taken() {
        const std::lock_guard lock(mutex_);
        return taken_;
    }
    [[nodiscard]] std::uint64_t sent() {
        const std::lock_guard lock(mutex_);
        return sent_;
    }
    void clear() {
        const std::lock_guard lock(mutex_);
        rte_pktmbuf_free_bulk(mbufs_of(waiting_).data(), static_cast<unsigned>(waiting_.size()));
        waiting_.clear();
    }

  private:
    static std::vector<rte_mbuf*> mbufs_of(const std::deque<rte_mbuf*>& from) {
        return {from.begin(), from.end()};
    }

    static std::uint16_t receive(void* queue, rte_mbuf** mbufs, std::uint16_t n) {
        Device& self = *static_cast<Device*>(queue);
        const std::lock_guard lock(self.mutex_);
        const auto given =
            static_cast<std::uint16_t>(std::min<std::size_t>(n, self.waiting_.size()));
        std::copy(self.waiting_.begin(), self.waiting_.begin() + given, mbufs);
        self.waiting_.erase(self.waiting_.begin(), self.waiting_.begin() + given);
        self.taken_ += given;
        return given;
    }
    static std::uint16_t transmit(void* queue, rte_mbuf** mbufs, std::uint16_t n) {
        Device& self = *static_cast<Device*>(queue);
        const std::lock_guard lock(self.mutex_);
        const unsigned room = self.chance_.below(100) < self.refused_percent_
                                  ? static_cast<unsigned>(self.chance_.below(n + 1U))
                                  : n;
        for (unsigned i = 0; i < room; ++i) {
            self.judge(*mbufs[i]);
        }
        rte_pktmbuf_free_bulk(mbufs, room);
        self.sent_ += room;
        return static_cast<std::uint16_t>(room);
    }
    void judge(const rte_mbuf& mbuf) const {
        std::uint32_t number = ~0U;
        const unsigned at = mbuf.data_len - static_cast<unsigned>(sizeof(number));
        std::memcpy(&number, rte_pktmbuf_mtod_offset(&mbuf, const char*, at), sizeof(number));
        if (number >= fates_->next.load()) {
            fates_->unknown.fetch_add(1);
        } else if (fates_->sent[number].fetch_add(1) != 0) {
            fates_->sent_twice.fetch_add(1);
        }
    }

    std::mutex mutex_;
    std::deque<rte_mbuf*> waiting_;
    Fates* fates_ = nullptr;
    unsigned refused_percent_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t sent_ = 0;
    Chance chance_{1, 0};
    OwnPort port_;  // last: its bursts use all members above
};

// --- one appliance -------------------------------------------------------------------------------

struct Machine {
    rte_mempool* pool = nullptr;
    std::vector<std::unique_ptr<Device>> devices;
    std::uint64_t tsc_hz = 0;
};

// DPDK can be initialised once a process.
Machine& machine() {
    static Machine all;
    return all;
}

config::Config loaded(const std::string& text) {
    auto config = config::load_text(text, "threads.toml");
    EXPECT_TRUE(config) << config::to_text(config.error(), "threads.toml") << text;
    return config.value_or(config::Config{});
}

class Appliance {
  public:
    Appliance(Shape shape, std::uint64_t seed)
        : shape_(shape),
          chance_(seed, 0),
          file_(std::make_shared<File>()),
          config_(loaded(shape.text())),
          secret_(hash::secret_from_seed(seed)),
          fates_(1U << 22) {
        cpus_.cpus = {0, 1, 2, 3};
        eal::DeviceInfo facts;
        facts.driver = "net_ring";
        facts.max_rx_queues = 1;
        facts.max_tx_queues = static_cast<std::uint16_t>(shape_.tx_queues);
        auto plan = appliance::make_plan(config_, cpus_,
                                         std::vector<eal::DeviceInfo>(config_.ports.size(), facts));
        EXPECT_TRUE(plan) << config::to_text(plan.error(), "threads.toml");
        plan_ = std::make_shared<const appliance::Plan>(*plan);
        static unsigned number = 0;
        appliance::TopologyInput input;
        input.plan = plan_.get();
        for (unsigned p = 0; p < kPorts; ++p) {
            machine().devices[p]->begin(&fates_, p < kTaps ? 0 : 5);
        }
        for (std::size_t p = 0; p < config_.ports.size(); ++p) {
            input.ports.push_back(machine().devices[p]->id());
        }
        input.secret = &secret_;
        input.audit_secret = &audit_secret_;
        clock_ = dataplane::TscClock::with_frequency(rte_rdtsc(), machine().tsc_hz);
        input.clock = clock_;
        input.burst = shape_.burst;
        input.ring_size = shape_.ring_size;
        input.tx_retry_cycles = shape_.retry;
        input.name = "threads" + std::to_string(number++);
        auto topology = appliance::Topology::make(input);
        EXPECT_TRUE(topology) << topology.error().context;
        topology_ = std::move(*topology);
        turns_.follow(topology_->present(), true, clock_.now());
        std::vector<dataplane::WorkerShared*> shared;
        for (std::size_t w = 0; w < topology_->workers(); ++w) {
            shared.push_back(&topology_->shared(w));
        }
        reader_ = std::make_unique<appliance::StatsReader>(shared);
        reload_ = std::make_unique<appliance::Reload>(
            *topology_, cpus_, config_,
            appliance::ReloadSource{[file = file_] {
                                        const std::lock_guard lock(file->mutex);
                                        return config::load_text(file->text, "threads.toml");
                                    },
                                    &asked_},
            [](const std::string&) {});
    }

    void run(Nanoseconds time) {
        std::vector<std::thread> threads;
        for (std::size_t w = 0; w < topology_->workers(); ++w) {
            threads.emplace_back([this, w] { topology_->worker(w).run(); });
        }
        std::vector<std::thread> beside;
        for (void (Appliance::*const each)() :
             {&Appliance::feed, &Appliance::ask, &Appliance::change}) {
            ++beside_;
            beside.emplace_back([this, each] {
                (this->*each)();
                --beside_;
            });
        }
        watch(time);
        std::for_each(beside.begin(), beside.end(), [](std::thread& each) { each.join(); });
        reload_->stop();
        end(threads);
    }

    [[nodiscard]] std::uint64_t reloads() const { return reloads_; }
    [[nodiscard]] std::uint64_t reports() const { return reports_.load(); }
    [[nodiscard]] std::uint64_t received() const { return received_; }

  private:
    // Run the control thread as Supervisor::watch() does, until enough has happened and no thread
    // waits for it.
    void watch(Nanoseconds time) {
        const Nanoseconds end = clock_.now() + time;
        while (beside_.load() != 0) {
            if (clock_.now() >= end && reloads_ >= kReloads && reports_.load() >= kReports) {
                stop_.store(true);
            }
            turns_.tick([this] { return clock_.now(); });
            if (auto next = reload_->step(clock_.now(), turns_, true)) {
                const std::lock_guard lock(mutex_);
                plan_ = next->plan;
                ++reloads_;
            }
            while (turns_.zero()) {
            }
            appliance::sleep_for(50 * kMicrosecond);
        }
    }

    void end(std::vector<std::thread>& threads) {
        phase(dataplane::Phase::kDraining);
        std::uint64_t before = 0;
        for (unsigned quiet = 0; quiet < 3;) {
            const appliance::StatsReport report = reader_->read(*plan(), 10 * kSecond);
            std::uint64_t bursts = 0;
            std::uint64_t between = 0;
            for (const appliance::WorkerReport& worker : report.workers) {
                bursts += worker.bursts;
                between += worker.handed_out - worker.handed_in;
            }
            quiet = between == 0 && bursts == before ? quiet + 1 : 0;
            before = bursts;
        }
        reader_->stop_asking();
        phase(dataplane::Phase::kStopped);
        std::for_each(threads.begin(), threads.end(), [](std::thread& each) { each.join(); });
        reader_->close([this] {
            for (std::size_t w = 0; w < topology_->workers(); ++w) {
                topology_->worker(w).settle_leftovers();
            }
        });
        const appliance::StatsReport report = reader_->read(*plan());
        std::uint64_t taken = 0;
        std::uint64_t sent = 0;
        for (unsigned p = 0; p < kPorts; ++p) {
            taken += machine().devices[p]->taken();
            sent += machine().devices[p]->sent();
            machine().devices[p]->clear();
        }
        check(report.totals);
        EXPECT_EQ(report.totals.in_flight, 0U);
        EXPECT_EQ(report.totals.received, taken);
        EXPECT_EQ(report.totals.forwarded + report.totals.diverted, sent);
        EXPECT_EQ(fates_.sent_twice.load(), 0U);
        EXPECT_EQ(fates_.unknown.load(), 0U);
        EXPECT_GT(report.totals.received, 0U);
        EXPECT_EQ(rte_mempool_avail_count(machine().pool), kBuffers) << "buffers that are back";
        received_ = report.totals.received;
    }

    void phase(dataplane::Phase to) {
        for (std::size_t w = 0; w < topology_->workers(); ++w) {
            topology_->shared(w).phase.store(to, std::memory_order_release);
        }
    }

    static void check(const appliance::DispositionCounts& totals) {
        EXPECT_EQ(totals.received,
                  totals.forwarded + totals.diverted + totals.dropped + totals.in_flight);
    }

    [[nodiscard]] std::shared_ptr<const appliance::Plan> plan() {
        const std::lock_guard lock(mutex_);
        return plan_;
    }

    // Bring packets to both taps, half of them copies of the last thousand.
    void feed() {
        Chance chance(7, 1);
        std::deque<std::pair<std::uint32_t, std::uint32_t>> last;  // key, flow
        std::uint32_t key = 0;
        while (!stop_.load() && fates_.next.load() < fates_.sent.size()) {
            for (std::uint64_t n = chance.between(1, 64); n > 0; --n) {
                if (last.empty() || chance.once_in(2)) {
                    last.emplace_back(++key, static_cast<std::uint32_t>(chance.below(64)));
                }
                const auto [one, flow] = last[chance.below(last.size())];
                bring(one, flow, static_cast<unsigned>(chance.below(kTaps)));
            }
            while (last.size() > 1000) {
                last.pop_front();
            }
            appliance::sleep_for(chance.below(300 * kMicrosecond));
        }
    }
    // The packet number is behind the IP packet, where no key reads.
    void bring(std::uint32_t key, std::uint32_t flow, unsigned tap) {
        PacketSpec spec;
        spec.source = 0x0A000000U + flow;
        spec.ttl = static_cast<std::uint8_t>(64 - tap);
        spec.id = static_cast<std::uint16_t>(key);
        for (unsigned shift = 0; shift < 32; shift += 8) {
            spec.payload.push_back(static_cast<std::uint8_t>(key >> shift));
        }
        const Bytes bytes = build(spec);
        rte_mbuf* const mbuf = rte_pktmbuf_alloc(machine().pool);
        if (mbuf == nullptr) {
            return;
        }
        const std::uint32_t number = fates_.next.fetch_add(1);
        char* const data =
            rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size() + sizeof(number)));
        std::memcpy(data, bytes.data(), bytes.size());
        std::memcpy(data + bytes.size(), &number, sizeof(number));
        if (!machine().devices[tap]->offer(mbuf)) {
            rte_pktmbuf_free(mbuf);
        }
    }

    void ask() {
        appliance::DispositionCounts before;
        while (!stop_.load()) {
            const appliance::StatsReport report = reader_->read(*plan());
            check(report.totals);
            EXPECT_GE(report.totals.received, before.received);
            EXPECT_GE(report.totals.forwarded, before.forwarded);
            EXPECT_GE(report.totals.dropped, before.dropped);
            before = report.totals;
            ++reports_;
            appliance::sleep_for(kMillisecond);
        }
    }

    // Half of the reloads are requested by signal, for which no thread waits.
    void change() {
        Chance chance(7, 2);
        while (!stop_.load()) {
            const std::string text = shape_.another(chance).text();
            {
                const std::lock_guard lock(file_->mutex);
                file_->text = text;
            }
            if (chance.once_in(2)) {
                asked_.fetch_add(1);
            } else {
                const appliance::ReloadAnswer answer = reload_->ask(chance.once_in(8));
                EXPECT_TRUE(answer.accepted) << answer.text;
            }
            appliance::sleep_for(chance.below(30 * kMillisecond));
        }
    }

    Shape shape_;
    Chance chance_;
    // shared: readers may outlive this object
    struct File {
        std::mutex mutex;
        std::string text;
    };
    std::mutex mutex_;  // guards plan_
    const std::shared_ptr<File> file_;
    config::Config config_;
    appliance::Machine cpus_;
    hash::Secret secret_;
    pipeline::AuditSecret audit_secret_ = pipeline::audit_secret_from(7);
    Fates fates_;
    std::shared_ptr<const appliance::Plan> plan_;
    dataplane::TscClock clock_;
    std::unique_ptr<appliance::Topology> topology_;
    appliance::RotationTimers turns_;
    std::unique_ptr<appliance::StatsReader> reader_;
    std::atomic<unsigned> asked_{0};
    std::unique_ptr<appliance::Reload> reload_;
    std::atomic<bool> stop_{false};
    std::atomic<unsigned> beside_{0};  // threads that have not ended
    std::uint64_t reloads_ = 0;
    std::atomic<std::uint64_t> reports_{0};
    std::uint64_t received_ = 0;
};

class Threads : public testing::TestWithParam<const char*> {
  protected:
    static void SetUpTestSuite() {
        if (machine().pool != nullptr) {
            return;
        }
        register_shelves();
        const LcoreId cpu = appliance::Machine::detect().cpus.front();
        eal::SessionOptions eal;
        eal.program = "threads";
        eal.args = {"--no-huge", "--no-shconf", "-m", "256", "--no-telemetry"};
        eal.main_lcore = cpu;
        eal.lcores = eal::lcore_map(cpu, cpu, {});
        static auto session = eal::Session::open(eal);
        ASSERT_TRUE(session) << session.error().context;
        machine().pool = make_pool();
        ASSERT_NE(machine().pool, nullptr) << rte_strerror(rte_errno);
        for (unsigned i = 0; i < kPorts; ++i) {
            machine().devices.push_back(std::make_unique<Device>(i, machine().pool));
        }
        machine().tsc_hz = rte_get_tsc_hz();
    }
};

// Begin with each engine; reloads switch to others. Three workers have rings between them, and tx
// queues of their own or another worker's.
TEST_P(Threads, share_nothing_that_is_not_ordered) {
    const char* const seconds = std::getenv("UNECHO_THREAD_SECONDS");
    const double time = seconds != nullptr ? std::atof(seconds) : 0.5;
    for (const unsigned tx_queues : {1U, 4U}) {
        Shape shape;
        shape.workers = 3;
        shape.tx_queues = tx_queues;
        shape.burst = 16;
        shape.ring_size = 64;
        shape.engine = GetParam();
        shape.window = 2 * kMillisecond;
        shape.rate = 500'000;
        shape.diverts = tx_queues == 4;
        shape.second = tx_queues == 4;
        shape.retry = 20 * kMicrosecond;
        Appliance appliance(shape, 1 + tx_queues);
        appliance.run(static_cast<Nanoseconds>(time * 1e9));
        std::printf("%lu packets, %lu reloads, %lu reports\n",
                    static_cast<unsigned long>(appliance.received()),
                    static_cast<unsigned long>(appliance.reloads()),
                    static_cast<unsigned long>(appliance.reports()));
    }
}
INSTANTIATE_TEST_SUITE_P(Of, Threads,
                         testing::Values("line", "fingerprint", "apbbf", "apbf", "shbf", "tlbf",
                                         "btbf", "exact"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace unecho::test
