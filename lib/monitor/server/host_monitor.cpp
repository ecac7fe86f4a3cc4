// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/host_monitor.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/os/clock.h"

namespace unecho::monitor {

HostMonitor::HostMonitor(std::vector<std::string> folders, Log log, Nanoseconds interval)
    : folders_(std::move(folders)), log_(std::move(log)), interval_(interval) {
    // If a thread or memory is lacking, end the threads that already run.
    struct EndUnlessWhole {
        HostMonitor* of;
        ~EndUnlessWhole() {
            if (of != nullptr) {
                of->end();
            }
        }
    } guard{this};
    find();
    finder_ = std::thread([this] {
        Nanoseconds next = steady_now();
        while (sleep_until(next += interval_, stop_)) {
            find();
            next = std::max(next, steady_now() - interval_);
        }
    });
    guard.of = nullptr;
}

HostMonitor::~HostMonitor() {
    end();
}

// End the finder first: it may be starting another thread.
void HostMonitor::end() noexcept {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    if (finder_.joinable()) {
        finder_.join();
    }
    {
        const std::lock_guard lock(mutex_);
        for (const auto& watched : pollers_) {
            watched->stop = true;
        }
    }
    wake_.notify_all();
    for (const auto& watched : pollers_) {
        watched->thread.join();
    }
}

bool HostMonitor::sleep_until(Nanoseconds time, const std::atomic<bool>& stop) {
    std::unique_lock lock(mutex_);
    const Nanoseconds now = steady_now();
    const auto left = std::chrono::nanoseconds(time > now ? time - now : 0);
    wake_.wait_for(lock, left, [&] { return stop.load(); });
    return !stop;
}

void HostMonitor::log_change(const ApplianceStatus* before, const ApplianceStatus& after) const {
    const bool running = after.state == ApplianceState::kRunning;
    if (before != nullptr && before->state == after.state && before->starts == after.starts &&
        before->problem == after.problem) {
        return;
    }
    const bool again =
        running && after.starts > 1 && (before == nullptr || before->starts != after.starts);
    log_(after.name + (again ? " was restarted, and answers"
                       : running
                           ? " answers"
                           : " is " + std::string(name_of(after.state)) + ": it " + after.problem));
}

void HostMonitor::run(PollerThread& watched) {
    Nanoseconds next = steady_now();
    std::shared_ptr<const ApplianceStatus> before;
    do {
        if (!watched.watch.look()) {
            break;  // it may become an unecho: the finder retries while its socket exists
        }
        if (auto after = watched.watch.seen(); !watched.stop) {
            log_change(before.get(), *after);
            before = std::move(after);
        }
        next = std::max(next + interval_, steady_now());
    } while (sleep_until(next, watched.stop));
    watched.over = true;
}

void HostMonitor::start(const TelemetrySocket& place) {
    auto watched = std::make_shared<PollerThread>(place);
    PollerThread& started = *watched;
    const std::lock_guard lock(mutex_);
    pollers_.reserve(pollers_.size() + 1);  // nothing may fail once the thread runs
    started.thread = std::thread([this, &started] { run(started); });
    pollers_.push_back(std::move(watched));
}

// Remove finished threads under the lock, and join them without it. Allocate before removing any: a
// removed thread must be joined.
void HostMonitor::join_finished() {
    std::vector<std::shared_ptr<PollerThread>> over;
    {
        const std::lock_guard lock(mutex_);
        over.reserve(pollers_.size());
        const auto first = std::stable_partition(pollers_.begin(), pollers_.end(),
                                                 [](const auto& each) { return !each->over; });
        std::move(first, pollers_.end(), std::back_inserter(over));
        pollers_.erase(first, pollers_.end());
    }
    for (const auto& watched : over) {
        watched->thread.join();
    }
}

// Stop polling the appliance that has been gone for longest.
void HostMonitor::evict_longest_gone() {
    const std::lock_guard lock(mutex_);
    PollerThread* longest = nullptr;
    Nanoseconds since = 0;
    for (const auto& watched : pollers_) {
        const auto seen = watched->watch.seen();
        if (seen && seen->state == ApplianceState::kGone &&
            (longest == nullptr || seen->since < since)) {
            longest = watched.get();
            since = seen->since;
        }
    }
    if (longest != nullptr) {
        longest->stop = true;
        wake_.notify_all();
    }
}

std::vector<TelemetrySocket> HostMonitor::new_sockets(
    const std::vector<TelemetrySocket>& places) const {
    const std::lock_guard lock(mutex_);
    std::vector<TelemetrySocket> out;
    for (const TelemetrySocket& place : places) {
        if (std::none_of(pollers_.begin(), pollers_.end(),
                         [&](const auto& each) { return each->watch.name() == place.name; })) {
            out.push_back(place);
        }
    }
    return out;
}

void HostMonitor::find() {
    join_finished();
    TelemetrySockets places = find_telemetry_sockets(folders_);
    std::vector<TelemetrySocket> fresh = new_sockets(places.found);
    std::size_t room = 0;
    {
        const std::lock_guard lock(mutex_);
        problems_ = std::move(places.problems);
        room = kMost - std::min(pollers_.size(), kMost);
    }
    if (fresh.size() > room) {
        evict_longest_gone();
        fresh.resize(room);
    }
    for (const TelemetrySocket& place : fresh) {
        start(place);
    }
}

ApplianceStatuses HostMonitor::appliances() const {
    ApplianceStatuses out;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& watched : pollers_) {
            if (auto seen = watched->watch.seen()) {
                out.push_back(std::move(seen));
            }
        }
    }
    std::sort(out.begin(), out.end(),
              [](const auto& a, const auto& b) { return a->name < b->name; });
    return out;
}

std::vector<std::string> HostMonitor::problems() const {
    const std::lock_guard lock(mutex_);
    return problems_;
}

std::optional<std::string> HostMonitor::history(const std::string& name,
                                                std::size_t samples) const {
    std::vector<std::shared_ptr<PollerThread>> found;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& each : pollers_) {
            if (each->watch.seen() && (name.empty() || each->watch.name() == name)) {
                found.push_back(each);
            }
        }
    }
    if (found.size() != 1) {
        return std::nullopt;
    }
    const AppliancePoller& watch = found.front()->watch;
    return "{\"name\":" + dump_json(Json(watch.name())) +
           ",\"interval_ms\":" + std::to_string(interval_ / kMillisecond) + "," +
           watch.history(samples) + "}";
}

}  // namespace unecho::monitor
