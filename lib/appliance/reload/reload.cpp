// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/reload/reload.h"

#include <array>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include <fmt/core.h>
#include <pthread.h>
#include <sched.h>

#include "appliance/appliance.h"
#include "appliance/stats/events.h"
#include "base/os/clock.h"

namespace unecho::appliance {
namespace {

// Workers apply a setup in microseconds; a request is answered after this time in any case.
constexpr std::chrono::seconds kPatience{5};

// A file that cannot be read within this time is refused.
constexpr Nanoseconds kReadPatience = 10 * kSecond;

constexpr const char* kNoMemory = "no memory is left\n";
constexpr const char* kNothing = "nothing changes\n";

std::string lines_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

// Return a function that owns all that it uses.
std::function<WantedResult()> reader_of(std::function<config::LoadResult()> load,
                                        const Machine& machine,
                                        std::vector<eal::DeviceInfo> facts) {
    return [load = std::move(load), machine, facts = std::move(facts)]() -> WantedResult {
        config::LoadResult wanted = load();
        UNECHO_TRY(std::move(wanted));
        return WantedConfig::make(std::move(*wanted), machine, facts);
    };
}

// Make the attempt. If memory runs out or it fails unexpectedly, the running configuration stays.
template <typename Attempt>
ReloadAnswer with_memory(Attempt&& attempt) {
    try {
        return attempt();
    } catch (const std::bad_alloc&) {
        return {false, kNoMemory};
    } catch (const std::exception& error) {
        return {false, fmt::format("it failed: {}\n", error.what())};
    }
}

// Join the lines of an answer to one line.
std::string told(const ReloadAnswer& answer) {
    std::string text = answer.accepted ? "reload: " : "reload refused: ";
    for (const char c : answer.text.substr(0, answer.text.find_last_not_of('\n') + 1)) {
        text += c == '\n' ? std::string("; ") : std::string(1, c);
    }
    return text;
}

}  // namespace

Reload::Reload(Topology& topology, const Machine& machine, config::Config running,
               ReloadSource source, std::function<void(const std::string&)> tell,
               ReloadThread beside)
    : topology_(topology),
      beside_(beside),
      read_(reader_of(std::move(source.read), machine, facts_of(*topology.present().plan))),
      reader_(read_),
      asked_(source.asked),
      tell_(std::move(tell)),
      seen_(asked_ == nullptr ? 0 : asked_->load(std::memory_order_relaxed)),
      running_(std::move(running)) {
    for (const RoutePlan& route : topology.present().plan->routes) {
        route_names_.push_back(route.name);
    }
    if (beside_ == ReloadThread::kThread) {
        thread_ = std::thread([this] { work(); });
    }
}

Reload::~Reload() {
    stop();
}

void Reload::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    reader_.stop();
    if (thread_.joinable()) {
        thread_.join();
    }
}

ReloadAnswer Reload::ask(bool dry_run) {
    const auto request = std::make_shared<Request>();
    request->dry_run = dry_run;
    std::unique_lock lock(mutex_);
    requests_.push_back(request);
    changed_.notify_all();
    changed_.wait(lock, [&] { return request->answered || stop_; });
    return request->answered ? request->answer : ReloadAnswer{false, "it is stopping\n"};
}

// --- the reload thread -------------------------------------------------------------------------

// A request during a reading may mean a newer file, so the file is read again for it.
void Reload::work() {
    const sched_param ordinary{};  // whatever the thread that started this one has
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary);
    std::unique_lock lock(mutex_);
    while (!stop_) {
        changed_.wait(lock, [this] { return stop_ || has_work(); });
        if (!stop_) {
            work_once(lock);
        }
    }
}

bool Reload::work_once() {
    std::unique_lock lock(mutex_);
    if (stop_ || !has_work()) {
        return false;
    }
    work_once(lock);
    return true;
}

bool Reload::has_work() const {
    return !requests_.empty() || !old_.empty() || (waiting_ && state_ == State::kIdle);
}

void Reload::work_once(std::unique_lock<std::mutex>& lock) {
    if (!old_.empty()) {
        auto old = std::exchange(old_, {});
        lock.unlock();
        old.clear();
        lock.lock();
        return;
    }
    const auto requests = std::exchange(requests_, {});
    const auto waited = requests.empty() ? std::exchange(waiting_, std::nullopt) : std::nullopt;
    lock.unlock();
    if (waited) {
        const ReloadAnswer answer = with_memory([&] { return take_over(*waited, false); });
        say(answer);
        settle_waiting(answer);
    } else {
        serve(requests);
    }
    lock.lock();
}

void Reload::serve(std::vector<std::shared_ptr<Request>> requests) {
    std::array<std::optional<ReloadAnswer>, 2> answers;
    for (const auto& request : requests) {
        std::optional<ReloadAnswer>& answer = answers.at(request->dry_run ? 1 : 0);
        if (!answer) {
            answer = with_memory([&] { return serve_one(request->dry_run); });
        }
        if (!request->dry_run && (request->by_signal || answer->text != kNothing)) {
            say(*answer);
        }
        const std::lock_guard lock(mutex_);
        request->answer = with_memory([&] { return *answer; });
        request->answered = true;
        changed_.notify_all();
    }
}

// Log the answer, unless no memory is left for the line.
void Reload::say(const ReloadAnswer& answer) const {
    try {
        tell_(told(answer));
    } catch (const std::bad_alloc&) {  // nothing can be done
    }
}

ReloadAnswer Reload::refused(const std::vector<config::Problem>& problems) {
    return {false, config::to_text(problems, running_.path)};
}

Result<WantedResult> Reload::read() {
    return beside_ == ReloadThread::kCaller ? read_() : reader_.read(kReadPatience);
}

tl::expected<ReloadPlan, std::vector<config::Problem>> Reload::plan(const WantedConfig& wanted) {
    ReloadInput input;
    input.running = &running_;
    input.wanted = &wanted;
    input.present = &topology_.present();
    input.route_names = &route_names_;
    input.now_unix = unix_now();
    return plan_reload(input);
}

ReloadAnswer Reload::serve_one(bool dry_run) {
    const Result<WantedResult> read = this->read();
    if (!read) {
        const std::string& why = read.error().context;
        return {false, why.empty() ? kNoMemory
                                   : fmt::format("{}: {}; nothing changed\n", running_.path, why)};
    }
    const WantedResult& wanted = *read;
    if (!wanted) {
        return refused(wanted.error());
    }
    bool overtakes = false;
    {
        const std::lock_guard lock(mutex_);
        if (state_ != State::kIdle) {
            if (!dry_run) {
                waiting_ = *wanted;
                ++number_;
            }
            return {true,
                    "it waits: a reload is underway, and a filter may be warmed; then the "
                    "newest configuration is planned and taken over\n",
                    dry_run ? 0 : number_};
        }
        // This configuration is newer than the one that waits, and takes its place.
        overtakes = !dry_run && waiting_.has_value();
        if (overtakes) {
            waiting_.reset();
        }
    }
    ReloadAnswer answer = with_memory([&] { return take_over(*wanted, dry_run); });
    if (overtakes) {
        settle_waiting(answer);
    }
    return answer;
}

// Record the result for all that waited: only the newest of them was kept.
void Reload::settle_waiting(const ReloadAnswer& answer) {
    ReloadAnswer kept = with_memory([&] { return answer; });
    const std::lock_guard lock(mutex_);
    outcomes_[next_outcome_++ % outcomes_.size()] = {number_, std::move(kept)};
}

ReloadAnswer Reload::outcome(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const Outcome* first = nullptr;
    for (const Outcome& one : outcomes_) {
        if (one.up_to >= number && (first == nullptr || one.up_to < first->up_to)) {
            first = &one;
        }
    }
    if (number == 0 || number > number_) {
        return {false, "no reload waits under this number\n"};
    }
    return first != nullptr ? first->answer : ReloadAnswer{true, "", number};
}

ReloadAnswer Reload::take_over(const WantedConfig& wanted, bool dry_run) {
    auto planned = plan(wanted);
    if (!planned) {
        return refused(planned.error());
    }
    if (planned->lines.empty()) {
        return {true, kNothing};
    }
    if (dry_run) {
        return {true, lines_of(planned->lines)};
    }
    return carry_out(wanted.config, std::move(*planned));
}

// Call only while no other reload is underway.
ReloadAnswer Reload::carry_out(const config::Config& wanted, ReloadPlan plan) {
    // Free what the previous reload left before allocating: files in [state] are named after their
    // filter, and this reload may bring one of those filters back.
    std::vector<std::unique_ptr<WorkerConfigSet>> old;
    {
        const std::lock_guard lock(mutex_);
        old = std::exchange(old_, {});
    }
    old.clear();
    plan.change.tx_retry_cycles = Appliance::cycles_of(wanted.run.tx_retry);
    auto steps = topology_.prepare(plan.change);
    if (!steps) {
        return {false,
                fmt::format("{}: {}; nothing changed\n", running_.path, steps.error().context)};
    }
    // Do all that may fail before handing over.
    config::Config running = wanted;
    Next next{plan.change.plan, wanted};
    std::string text = lines_of(plan.lines);
    std::unique_lock lock(mutex_);
    route_names_ = std::move(plan.route_names);
    running_ = std::move(running);
    steps_ = std::move(*steps);
    next_ = std::move(next);
    state_ = State::kHanded;
    busy_.store(true, std::memory_order_relaxed);
    if (beside_ == ReloadThread::kCaller) {
        return {true, std::move(text)};
    }
    const bool adopted = changed_.wait_for(lock, kPatience, [this] {
        return stop_ || (state_ != State::kHanded && state_ != State::kAdopting);
    });
    if (!adopted) {
        text += "not adopted yet: a worker does not poll; it will when it does\n";
    }
    return {true, std::move(text)};
}

// --- the control thread ------------------------------------------------------------------------

std::optional<Reload::Next> Reload::step(Nanoseconds now, RotationTimers& turns, bool live) {
    if (asked_ != nullptr) {
        if (const unsigned asked = asked_->load(std::memory_order_relaxed); asked != seen_) {
            seen_ = asked;
            const std::lock_guard lock(mutex_);
            auto request = std::make_shared<Request>();
            request->by_signal = true;
            requests_.push_back(std::move(request));
            changed_.notify_all();
        }
    }
    if (!busy()) {
        return std::nullopt;
    }
    const std::lock_guard lock(mutex_);
    switch (state_) {
        case State::kIdle:
            break;
        case State::kHanded:
            // Timers of new filters start before a worker uses the filter.
            turns.follow(*steps_.first, live, now);
            before_ = topology_.publish(std::move(steps_.first));
            state_ = State::kAdopting;
            return std::exchange(next_, std::nullopt);
        case State::kAdopting:
            if (topology_.adopted()) {  // planted: configuration-freed-too-soon
                settle();
            }
            break;
        case State::kSettling:
            if (settled()) {
                turns.follow(*steps_.last, live, now);
                before_ = topology_.publish(std::move(steps_.last));
                state_ = State::kFinishing;
            }
            break;
        case State::kFinishing:
            if (topology_.adopted()) {
                end();
            }
            break;
    }
    return std::nullopt;
}

// Continue after all workers have applied the first setup.
void Reload::settle() {
    old_.push_back(std::move(before_));
    if (steps_.last == nullptr) {
        return end();
    }
    marks_ = steps_.drains ? topology_.rings().mark() : std::vector<std::uint32_t>();
    warming_.clear();
    for (std::size_t w = 0; w < topology_.workers(); ++w) {
        warming_.push_back(
            {topology_.shared(w).time.load(std::memory_order_relaxed), std::nullopt});
    }
    state_ = State::kSettling;
    changed_.notify_all();
}

// Measure warming by each worker's own time, which stands still while the worker is away.
bool Reload::settled() {
    if (!topology_.rings().passed(marks_)) {  // planted: route-closed-too-soon
        return false;
    }
    bool warm = true;
    for (std::size_t w = 0; steps_.warming != 0 && w < warming_.size(); ++w) {
        const Nanoseconds time = topology_.shared(w).time.load(std::memory_order_relaxed);
        Warming& worker = warming_[w];
        if (!worker.first && time != worker.stale) {
            worker.first = time;
        }
        // planted: warm-up-half-a-window
        warm &= worker.first && time - *worker.first >= steps_.warming;
    }
    return warm;
}

void Reload::end() {
    if (before_ != nullptr) {
        old_.push_back(std::move(before_));
    }
    state_ = State::kIdle;
    busy_.store(false, std::memory_order_relaxed);
    changed_.notify_all();
}

}  // namespace unecho::appliance
