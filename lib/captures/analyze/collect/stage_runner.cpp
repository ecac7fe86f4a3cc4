// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/stage_runner.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace unecho::analyze {
namespace {

class StagedRun {
  public:
    StagedRun(const StageSet& stages, std::size_t places)
        : stages_(stages), places_(places), states_(stages.others.size() + 1) {}
    ~StagedRun() {
        stop();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }
    StagedRun(const StagedRun&) = delete;
    StagedRun& operator=(const StagedRun&) = delete;

    void start(std::size_t more) {
        try {
            for (std::size_t i = 0; i < more; ++i) {
                // Every second thread prefers the last stages.
                threads_.emplace_back([this, from_end = i % 2 == 0] { work(from_end); });
            }
        } catch (const std::system_error&) {  // the threads that exist do the work
        }
    }

    void work(bool from_end) {
        std::unique_lock lock(mutex_);
        while (!finished()) {
            const std::optional<std::size_t> stage = next(from_end);
            if (!stage) {
                changed_.wait(lock);
                continue;
            }
            State& state = states_[*stage];
            const std::size_t place = state.done % places_;
            state.busy = true;
            lock.unlock();
            const bool made = run(*stage, place);
            lock.lock();
            state.busy = false;
            state.done += made ? 1 : 0;
            ended_ = ended_ || !made;
            changed_.notify_all();
        }
    }

  private:
    struct State {
        std::uint64_t done = 0;
        bool busy = false;
    };

    bool run(std::size_t stage, std::size_t place) {
        if (stage == 0) {
            return stages_.begin(place);
        }
        stages_.others[stage - 1](place);
        return true;
    }

    [[nodiscard]] bool finished() const {
        return stopped_ || (ended_ && states_.back().done == states_.front().done);
    }

    [[nodiscard]] bool can_run(std::size_t stage) const {
        const State& state = states_[stage];
        if (state.busy) {
            return false;
        }
        if (stage == 0) {
            const std::uint64_t on_way = state.done - states_.back().done;
            return !ended_ && on_way < places_ && (on_way == 0 || stages_.can_begin());
        }
        return states_[stage - 1].done > state.done &&
               (stage != stages_.exclusive_stage + 1 || states_.back().done == state.done ||
                !stages_.is_exclusive(state.done % places_));
    }

    [[nodiscard]] std::optional<std::size_t> next(bool from_end) const {
        for (std::size_t i = 0; i < states_.size(); ++i) {
            const std::size_t stage = from_end ? states_.size() - 1 - i : i;
            if (can_run(stage)) {
                return stage;
            }
        }
        return std::nullopt;
    }

    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }

    const StageSet& stages_;
    std::size_t places_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<State> states_;
    bool ended_ = false;    // there are no more blocks
    bool stopped_ = false;  // the run is being destroyed
    std::vector<std::thread> threads_;
};

void run_alone(const StageSet& stages) {
    while (stages.begin(0)) {
        for (const auto& stage : stages.others) {
            stage(0);
        }
    }
}

}  // namespace

void run_stages(const StageSet& stages, unsigned threads, std::size_t places) {
    if (threads < 2) {
        run_alone(stages);
        return;
    }
    StagedRun run(stages, places);
    run.start(std::min<std::size_t>(threads, stages.others.size() + 1) - 1);
    run.work(false);
}

}  // namespace unecho::analyze
