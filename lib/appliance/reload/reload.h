// SPDX-License-Identifier: BSD-3-Clause
// reload: another configuration for a running appliance. A thread that may hang reads, checks and
// plans the file (config_reader.h). A thread of the Reload allocates memory and frees what is no
// longer needed. The control thread only publishes a pointer. It waits until all workers have
// applied it and filters are warm, then publishes the final one. (docs/reload.md,
// docs/decisions/0010-reload.md)
//
// One reload at a time. While a filter is warmed the next one waits; of several that wait only the
// newest is kept.
//
// Next: reload_plan.h (what a reload changes), topology/worker_config_set.h (what is published).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "appliance/plan/machine.h"
#include "appliance/reload/config_reader.h"
#include "appliance/reload/reload_plan.h"
#include "appliance/timers/rotation_timers.h"
#include "appliance/topology/topology.h"
#include "base/result.h"
#include "config/load.h"

namespace unecho::appliance {

// read loads the configuration again and may outlive the Reload. asked is incremented by each
// signal that requests a reload.
struct ReloadSource {
    std::function<config::LoadResult()> read;
    const std::atomic<unsigned>* asked = nullptr;
};

struct ReloadAnswer {
    bool accepted = false;
    std::string text;           // lines with their ends: what changes, or all problems
    std::uint64_t waiting = 0;  // its number if it waits for another one: see outcome()
};

class Reload {
  public:
    // Slow work is done on a thread, or by calls of work_once().
    enum class ReloadThread : std::uint8_t { kThread, kCaller };

    // tell logs one line for people, from any thread.
    Reload(Topology& topology, const Machine& machine, config::Config running, ReloadSource source,
           std::function<void(const std::string&)> tell,
           ReloadThread beside = ReloadThread::kThread);
    ~Reload();
    Reload(const Reload&) = delete;
    Reload& operator=(const Reload&) = delete;
    Reload(Reload&&) = delete;
    Reload& operator=(Reload&&) = delete;

    // Request a reload, from any thread. Return once workers use the new configuration or it must
    // wait, or with the reason why not. dry_run: only report what would change.
    ReloadAnswer ask(bool dry_run);

    // Return the result of a reload that had to wait, from any thread; while it waits, its number.
    ReloadAnswer outcome(std::uint64_t number);

    // The configuration that workers use from now on.
    struct Next {
        std::shared_ptr<const Plan> plan;
        config::Config config;
    };
    // Advance a reload, on the control thread; more often while busy(). Return what it published.
    std::optional<Next> step(Nanoseconds now, RotationTimers& turns, bool live);
    [[nodiscard]] bool busy() const { return busy_.load(std::memory_order_relaxed); }
    // Publish nothing any more, because workers are about to return.
    void stop();

    // With ReloadThread::kCaller: do the next piece of the thread's work without waiting; false if
    // there is none. Request reloads by ReloadSource::asked.
    bool work_once();

  private:
    enum class State : std::uint8_t { kIdle, kHanded, kAdopting, kSettling, kFinishing };

    // A request, and its answer for the thread that waits.
    struct Request {
        bool dry_run = false;
        bool by_signal = false;  // no thread waits
        bool answered = false;
        ReloadAnswer answer;
    };

    void work();
    [[nodiscard]] bool has_work() const;
    void work_once(std::unique_lock<std::mutex>& lock);
    void serve(std::vector<std::shared_ptr<Request>> requests);
    void say(const ReloadAnswer& answer) const;
    ReloadAnswer serve_one(bool dry_run);
    Result<WantedResult> read();
    ReloadAnswer take_over(const WantedConfig& wanted, bool dry_run);
    tl::expected<ReloadPlan, std::vector<config::Problem>> plan(const WantedConfig& wanted);
    ReloadAnswer carry_out(const config::Config& wanted, ReloadPlan plan);
    ReloadAnswer refused(const std::vector<config::Problem>& problems);
    void settle_waiting(const ReloadAnswer& answer);

    void settle();
    [[nodiscard]] bool settled();
    void end();

    Topology& topology_;
    const ReloadThread beside_;
    const std::function<WantedResult()> read_;
    ConfigReader reader_;
    const std::atomic<unsigned>* const asked_;
    const std::function<void(const std::string&)> tell_;
    unsigned seen_ = 0;  // of asked_

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false;
    std::vector<std::shared_ptr<Request>> requests_;
    config::Config running_;
    std::vector<std::string> route_names_;  // by index at workers
    std::optional<WantedConfig> waiting_;
    std::uint64_t number_ = 0;  // of the last reload that had to wait
    // The result of waiting reloads up to a number; the oldest is overwritten.
    struct Outcome {
        std::uint64_t up_to = 0;
        ReloadAnswer answer;
    };
    std::array<Outcome, 8> outcomes_;
    std::size_t next_outcome_ = 0;
    State state_ = State::kIdle;
    std::atomic<bool> busy_{false};
    ConfigTransition steps_;
    std::optional<Next> next_;
    std::vector<std::unique_ptr<WorkerConfigSet>> old_;  // to be freed

    // Used by the control thread only.
    std::unique_ptr<WorkerConfigSet> before_;
    std::vector<std::uint32_t> marks_;
    struct Warming {
        Nanoseconds stale = 0;  // the worker's time when it had applied the setup
        std::optional<Nanoseconds> first;
    };
    std::vector<Warming> warming_;

    std::thread thread_;
};

}  // namespace unecho::appliance
