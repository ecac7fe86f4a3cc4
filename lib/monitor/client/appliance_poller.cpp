// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/appliance_poller.h"

#include <utility>

#include "base/os/clock.h"

namespace unecho::monitor {

AppliancePoller::AppliancePoller(TelemetrySocket place, const std::atomic<bool>& stop)
    : place_(std::move(place)), stop_(stop) {
    last_.name = place_.name;
}

std::shared_ptr<const ApplianceStatus> AppliancePoller::seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
}

std::string AppliancePoller::history(std::size_t samples) const {
    const std::lock_guard lock(mutex_);
    return history_.columns(samples);
}

Result<Json> AppliancePoller::query_once(Nanoseconds deadline) {
    const bool fresh = !client_;
    if (fresh) {
        const Nanoseconds now = steady_now();
        const Nanoseconds left = deadline > now ? deadline - now : 0;
        auto client = TelemetryClient::connect(place_.socket, left, &stop_);
        UNECHO_TRY(client);
        client_ = std::move(*client);
        client_->set_timeout(timeout_);
        descriptions_ = nullptr;
    }
    client_->set_deadline(deadline);
    if (!descriptions_) {
        auto said = query_descriptions(*client_);
        UNECHO_TRY(said);
        descriptions_ = std::make_shared<const CounterDescriptions>(std::move(*said));
    }
    return query_appliance(*client_, fresh ? Json() : last_.seen);
}

bool AppliancePoller::look() {
    const bool connected = client_.has_value();
    const Nanoseconds begin = steady_now();
    auto seen = query_once(begin + timeout_);
    if (!seen && connected && seen.error().code == Errc::kNotFound) {
        // The process ended since the last query; another one may have started already.
        ended_ = true;
        client_.reset();
        seen = query_once(begin + timeout_);
    }
    if (seen) {
        record_reply(std::move(*seen), steady_now() - begin);
        return true;
    }
    return record_failure(seen.error());
}

// Compare what the appliance reports of itself: no two processes start in the same nanosecond.
// Older versions report only their uptime; a broken connection then means another process.
bool AppliancePoller::is_same_process(const Json& seen) const {
    const Json& now = member(seen, "info");
    const Json& before = member(last_.seen, "info");
    for (const char* mark : {"pid", "start_unix_ns", "version"}) {
        if (member(now, mark) != member(before, mark)) {
            return false;
        }
    }
    const bool told = now.contains("start_unix_ns");
    return told || (!ended_ && unsigned_or(now, "uptime_ns") >= unsigned_or(before, "uptime_ns"));
}

void AppliancePoller::set_timeout(Nanoseconds patience) {
    timeout_ = patience;
    if (client_) {
        client_->set_timeout(patience);
    }
}

void AppliancePoller::record_reply(Json seen, Nanoseconds took) {
    const Nanoseconds now = unix_now();
    const bool same = last_.starts != 0 && is_same_process(seen);
    if (!same || last_.state != ApplianceState::kRunning) {
        last_.since = now;
    }
    last_.starts += same ? 0 : 1;
    last_.state = ApplianceState::kRunning;
    last_.problem.clear();
    last_.permitted = true;
    last_.answered = now;
    last_.query_time = took;
    last_.seen = std::move(seen);
    last_.descriptions = descriptions_;
    known_ = true;
    ended_ = false;
    const std::lock_guard lock(mutex_);
    history_.add(last_.seen, now, same);
    seen_ = std::make_shared<const ApplianceStatus>(last_);
}

bool AppliancePoller::record_failure(const Error& error) {
    const bool gone = error.code == Errc::kNotFound;
    if (error.code != Errc::kBusy) {
        client_.reset();
    }
    // Ignore a DPDK program that is no unecho, but report one that may be.
    if (!known_ && (gone || error.code == Errc::kUnsupported)) {
        return false;
    }
    const ApplianceState state = gone ? ApplianceState::kGone : ApplianceState::kSilent;
    const Nanoseconds now = unix_now();
    if (last_.state != state || last_.since == 0) {
        last_.since = now;
    }
    last_.state = state;
    last_.problem = error.context;
    last_.permitted = error.code != Errc::kPermission;
    const std::lock_guard lock(mutex_);
    history_.add_gap(now);
    seen_ = std::make_shared<const ApplianceStatus>(last_);
    return true;
}

}  // namespace unecho::monitor
