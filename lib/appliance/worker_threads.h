// SPDX-License-Identifier: BSD-3-Clause
// The workers as threads of DPDK: launch, phase, and the wait for their end. Only the control
// thread uses it; what the workers do meanwhile, supervisor.h and watchdog/watchdog.h know.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

#include "appliance/appliance.h"
#include "appliance/dataplane/shared.h"
#include "base/os/log.h"
#include "base/result.h"

namespace unecho::appliance {

class WorkerThreads {
  public:
    WorkerThreads(Appliance& appliance, Log log);

    // Launch all workers. Errc::kIo if one could not be launched; those that were launched have
    // returned by then.
    Status launch();
    // Stop the workers, and wait for each, however long it takes to return.
    void stop();
    void set_phase(dataplane::Phase phase);

    [[nodiscard]] std::size_t running() const { return running_; }
    // Return the number of workers, running or not.
    [[nodiscard]] std::size_t size() const { return threads_.size(); }
    // Return the thread of a worker for signals; 0 until it runs.
    [[nodiscard]] pid_t thread(std::size_t worker) const {
        return threads_[worker].id.load(std::memory_order_relaxed);
    }
    // Return "worker 0 on lcore 1".
    [[nodiscard]] std::string name_of(std::size_t worker) const;
    [[nodiscard]] std::vector<std::string> names() const;

  private:
    struct Thread {
        dataplane::Worker* worker = nullptr;
        std::atomic<pid_t> id{0};

        static int run(void* self);
    };

    void wait_for(std::size_t worker);

    Appliance& appliance_;
    Log log_;
    std::vector<Thread> threads_;
    std::size_t running_ = 0;
};

}  // namespace unecho::appliance
