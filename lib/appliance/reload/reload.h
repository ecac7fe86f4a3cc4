// SPDX-License-Identifier: BSD-3-Clause
// Another configuration for a running appliance. The file is read, checked and planned on a thread
// that nobody has to wait for, its memory allocated on a thread of its own; the control thread then
// only publishes a pointer, looks whether all workers have adopted it, whether filters are warm,
// and publishes the last one. What is not needed any more is freed on that thread, too.
// (docs/reload.md, docs/decisions/0010-reload.md)
//
// One reload at a time: while a filter is warmed the next one waits, and of several that wait the
// newest alone is kept.
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

namespace unecho::control {

// Where the configuration comes from again, which may outlive the Reload, and who asks by a signal,
// one more each time.
struct ReloadSource {
    std::function<config::LoadResult()> read;
    const std::atomic<unsigned>* asked = nullptr;
};

struct ReloadAnswer {
    bool accepted = false;
    std::string text;  // lines, each with its end: what changes, or all that is wrong
    std::uint64_t waiting =
        0;  // its number where it waits behind another one; outcome() tells more
};

class Reload {
  public:
    // Who does what takes long.
    enum class ReloadThread : std::uint8_t { kThread, kCaller };

    // tell: one line for people, from any thread.
    Reload(Topology& topology, const Machine& machine, config::Config running, ReloadSource source,
           std::function<void(const std::string&)> tell,
           ReloadThread beside = ReloadThread::kThread);
    ~Reload();
    Reload(const Reload&) = delete;
    Reload& operator=(const Reload&) = delete;
    Reload(Reload&&) = delete;
    Reload& operator=(Reload&&) = delete;

    // From any thread; returns when workers go on by the new configuration, or wait for it, or
    // why not. dry_run: what would change.
    ReloadAnswer ask(bool dry_run);

    // From any thread: what became of one that was to wait. While it still does it has its number.
    ReloadAnswer outcome(std::uint64_t number);

    // By which workers go on from now on.
    struct Next {
        std::shared_ptr<const Plan> plan;
        config::Config config;
    };
    // On the control thread, every now and then; soon again while busy().
    std::optional<Next> step(Nanoseconds now, RotationTimers& turns, bool live);
    [[nodiscard]] bool busy() const { return busy_.load(std::memory_order_relaxed); }
    // Workers are about to return: nothing is published any more.
    void stop();

    // With ReloadThread::kCaller the next piece of what the thread would do, which waits for
    // nobody; false: there was none. Who asks does so by ReloadSource::asked.
    bool work_once();

  private:
    enum class State : std::uint8_t { kIdle, kHanded, kAdopting, kSettling, kFinishing };

    // Who waits for an answer.
    struct Request {
        bool dry_run = false;
        bool by_signal = false;  // nobody waits
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

    Topology& wiring_;
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
    std::vector<std::string> route_names_;  // by place
    std::optional<WantedConfig> waiting_;
    std::uint64_t number_ = 0;  // of the last one that was to wait
    // Of those up to a number; the oldest is overwritten.
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

    // The control thread's.
    std::unique_ptr<WorkerConfigSet> before_;
    std::vector<std::uint32_t> marks_;
    struct Warming {
        Nanoseconds stale = 0;  // a worker's time as it was when it had adopted
        std::optional<Nanoseconds> first;
    };
    std::vector<Warming> warming_;

    std::thread thread_;
};

}  // namespace unecho::control
