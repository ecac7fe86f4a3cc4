// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/worker_threads.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <rte_launch.h>
#include <unistd.h>

#include "appliance/stats/events.h"
#include "appliance/timers/sleep_backoff.h"
#include "appliance/watchdog/worker_liveness.h"

namespace unecho::appliance {
namespace {

constexpr Nanoseconds kWaking = 50 * kMillisecond;  // longer than an lcore takes to wake up

}  // namespace

int WorkerThreads::Thread::run(void* self) {
    auto& thread = *static_cast<Thread*>(self);
    thread.id.store(gettid(), std::memory_order_relaxed);
    thread.worker->run();
    return 0;
}

WorkerThreads::WorkerThreads(Appliance& appliance, Log log)
    : appliance_(appliance), log_(std::move(log)), threads_(appliance.plan().workers.size()) {}

std::string WorkerThreads::name_of(std::size_t worker) const {
    return fmt::format("worker {} on lcore {}", worker, appliance_.plan().workers[worker].lcore);
}

std::vector<std::string> WorkerThreads::names() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < size(); ++i) {
        out.push_back(name_of(i));
    }
    return out;
}

Status WorkerThreads::launch() {
    set_phase(dataplane::Phase::kRunning);
    for (running_ = 0; running_ < size(); ++running_) {
        threads_[running_].worker = &appliance_.worker(running_);
        const int code = rte_eal_remote_launch(Thread::run, &threads_[running_],
                                               appliance_.plan().workers[running_].lcore);
        if (code != 0) {
            const std::string name = name_of(running_);
            if (code != -EBUSY) {
                // DPDK may have woken the lcore without reading its acknowledgement. The worker
                // then runs, and stops like the others.
                set_phase(dataplane::Phase::kStopped);
                sleep_for(kWaking);
                ++running_;
            }
            stop();
            return fail(Errc::kIo,
                        fmt::format("{} could not be launched: {}", name, std::strerror(-code)));
        }
    }
    return {};
}

void WorkerThreads::set_phase(dataplane::Phase phase) {
    for (std::size_t i = 0; i < size(); ++i) {
        appliance_.shared(i).phase.store(phase, std::memory_order_release);
    }
}

void WorkerThreads::stop() {
    set_phase(dataplane::Phase::kStopped);
    for (std::size_t i = 0; i < running_; ++i) {
        wait_for(i);
    }
    running_ = 0;
}

// rte_eal_wait_lcore() spins, so call it only when the lcore has finished.
void WorkerThreads::wait_for(std::size_t worker) {
    const LcoreId lcore = appliance_.plan().workers[worker].lcore;
    SleepBackoff pauses;
    const Nanoseconds patience = appliance_.clock().now() + WorkerLiveness::kAbsence;
    bool said = false;
    while (rte_eal_get_lcore_state(lcore) != WAIT) {
        if (!said && appliance_.clock().now() >= patience) {
            log_({Severity::kError, event::kWorker,
                  name_of(worker) + " does not return; waiting for it"});
            said = true;
        }
        pauses.pause();
    }
    rte_eal_wait_lcore(lcore);
}

}  // namespace unecho::appliance
