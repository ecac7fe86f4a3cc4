// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/host_monitor.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "base/option_names.h"
#include "base/os/clock.h"
#include "base/utf8.h"

namespace unecho::monitor {

namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Return the named socket's path; "" if it does not exist.
std::string socket_of(const std::vector<TelemetrySocket>& places, const std::string& name) {
    const auto found =
        std::find_if(places.begin(), places.end(),
                     [&](const TelemetrySocket& place) { return place.name == name; });
    return found == places.end() ? "" : found->socket;
}

bool is_away(const ApplianceStatus* status) {
    return status == nullptr || status->state == ApplianceState::kGone ||
           status->state == ApplianceState::kAbsent;
}

}  // namespace

HostMonitor::HostMonitor(HostMonitorSpec spec, Log log)
    : spec_(std::move(spec)), log_(std::move(log)) {
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
        while (sleep_until(next += spec_.interval, stop_)) {
            find();
            next = std::max(next, steady_now() - spec_.interval);
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
                           : fmt::format(" is {}: it {}", name_of(after.state), after.problem)));
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
        if (const std::string problem = watched.watch.take_problem(); !problem.empty()) {
            log_(fmt::format("{}: {}", watched.watch.name(), problem));
        }
        next = std::max(next + spec_.interval, steady_now());
    } while (sleep_until(next, watched.stop));
    watched.over = true;
}

void HostMonitor::start(const TelemetrySocket& place, bool expected) {
    auto watched = std::make_shared<PollerThread>(place, spec_.history);
    PollerThread& started = *watched;
    started.watch.expect(expected);
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
        if (watched->stop) {  // forgotten; others may come back
            watched->watch.remove_history();
        }
    }
}

// Tell the pollers which appliances are expected, and where one that was away is now.
void HostMonitor::follow(const std::vector<TelemetrySocket>& places,
                         const std::vector<std::string>& expected) {
    const std::lock_guard lock(mutex_);
    for (const auto& each : pollers_) {
        AppliancePoller& watch = each->watch;
        watch.expect(has(expected, watch.name()));
        const std::string socket = socket_of(places, watch.name());
        if (!socket.empty() && socket != watch.socket() && is_away(watch.seen().get())) {
            watch.set_socket(socket);
        }
    }
}

void HostMonitor::forget_old() {
    const std::lock_guard lock(mutex_);
    const Nanoseconds now = unix_now();
    for (const auto& each : pollers_) {
        const auto seen = each->seen();
        if (seen && seen->state == ApplianceState::kGone && !each->watch.expected() &&
            seen->since + spec_.forget_after < now) {
            each->stop = true;
            log_(fmt::format("{} is forgotten: it was not expected, and is gone for {}", seen->name,
                             format_duration(spec_.forget_after)));
        }
    }
    wake_.notify_all();
}

Status HostMonitor::forget(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(pollers_.begin(), pollers_.end(), [&](const auto& each) {
        return each->watch.name() == name && each->seen();
    });
    const std::string quoted = "\"" + escaped(name) + "\"";
    if (found == pollers_.end()) {
        return fail(Errc::kNotFound, "no appliance is called " + quoted);
    }
    if ((*found)->watch.expected()) {
        return fail(Errc::kBusy,
                    fmt::format("{} is expected, and stays; first remove it from what {} lists",
                                quoted, option::kExpect));
    }
    if (const auto seen = (*found)->seen(); seen->state != ApplianceState::kGone) {
        return fail(Errc::kBusy, fmt::format("{} is {}; allowed: an appliance that is gone", quoted,
                                             name_of(seen->state)));
    }
    (*found)->stop = true;
    wake_.notify_all();
    log_(escaped(name) + " is forgotten, as somebody asked");
    return {};
}

// Stop polling the unexpected appliance that has been gone for longest.
void HostMonitor::evict_longest_gone() {
    const std::lock_guard lock(mutex_);
    PollerThread* longest = nullptr;
    Nanoseconds since = 0;
    for (const auto& watched : pollers_) {
        const auto seen = watched->seen();
        if (seen && seen->state == ApplianceState::kGone && !watched->watch.expected() &&
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

// Return the sockets and expected appliances that no thread polls yet, the expected ones first.
std::vector<TelemetrySocket> HostMonitor::new_sockets(
    const std::vector<TelemetrySocket>& places, const std::vector<std::string>& expected) const {
    std::vector<TelemetrySocket> out;
    for (const std::string& name : expected) {
        const std::string socket = socket_of(places, name);
        out.push_back({name, socket.empty() ? default_socket(spec_.folders, name) : socket});
    }
    std::copy_if(places.begin(), places.end(), std::back_inserter(out),
                 [&](const TelemetrySocket& place) { return !has(expected, place.name); });
    const std::lock_guard lock(mutex_);
    std::erase_if(out, [&](const TelemetrySocket& place) {
        return std::any_of(pollers_.begin(), pollers_.end(),
                           [&](const auto& each) { return each->watch.name() == place.name; });
    });
    return out;
}

void HostMonitor::find() {
    join_finished();
    TelemetrySockets places = find_telemetry_sockets(spec_.folders);
    const std::vector<std::string> expected =
        spec_.expected ? spec_.expected() : std::vector<std::string>();
    follow(places.found, expected);
    forget_old();
    std::vector<TelemetrySocket> fresh = new_sockets(places.found, expected);
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
        start(place, has(expected, place.name));
    }
}

ApplianceStatuses HostMonitor::appliances() const {
    ApplianceStatuses out;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& watched : pollers_) {
            if (auto seen = watched->seen()) {
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
                                                std::size_t seconds) const {
    std::vector<std::shared_ptr<PollerThread>> found;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& each : pollers_) {
            if (each->seen() && (name.empty() || each->watch.name() == name)) {
                found.push_back(each);
            }
        }
    }
    if (found.size() != 1) {
        return std::nullopt;
    }
    const AppliancePoller& watch = found.front()->watch;
    return "{\"name\":" + dump_json(Json(watch.name())) +
           ",\"interval_ms\":" + std::to_string(spec_.interval / kMillisecond) + "," +
           watch.history(seconds) + "}";
}

}  // namespace unecho::monitor
