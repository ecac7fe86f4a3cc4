// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/appliance_poller.h"

#include <utility>

#include "base/os/clock.h"

namespace unecho::monitor {

AppliancePoller::AppliancePoller(TelemetrySocket place, const std::atomic<bool>& stop,
                                 std::shared_ptr<const HistoryFolder> folder)
    : name_(std::move(place.name)), stop_(stop), socket_(std::move(place.socket)) {
    last_.name = name_;
    if (folder != nullptr) {
        file_.emplace(std::move(folder), name_);
    }
}

std::shared_ptr<const ApplianceStatus> AppliancePoller::seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
}

std::string AppliancePoller::history(std::size_t seconds) const {
    const std::lock_guard lock(mutex_);
    return history_.columns(seconds);
}

void AppliancePoller::set_socket(const std::string& path) {
    const std::lock_guard lock(mutex_);
    socket_ = path;
}

std::string AppliancePoller::socket() const {
    const std::lock_guard lock(mutex_);
    return socket_;
}

void AppliancePoller::remove_history() {
    if (file_) {
        file_->remove();
    }
}

Status AppliancePoller::connect(Nanoseconds deadline) {
    const Nanoseconds now = steady_now();
    const Nanoseconds left = deadline > now ? deadline - now : 0;
    auto client = TelemetryClient::connect(socket(), left, &stop_);
    UNECHO_TRY(client);
    client_ = std::move(*client);
    client_->set_timeout(timeout_);
    descriptions_ = nullptr;
    queried_history_ = false;
    return {};
}

// The appliance adds a sample to its history every ten seconds. Query as soon as there is another.
Status AppliancePoller::query_history(Nanoseconds uptime) {
    constexpr Nanoseconds kStep = 10 * kSecond;
    const Nanoseconds newest = unsigned_or(member(before_, "totals"), "newest_uptime_ns");
    if (queried_history_ && uptime < newest + kStep) {
        return {};
    }
    auto before = query_past(*client_, span_);
    UNECHO_TRY(before);
    auto hour = query_past(*client_, 3600 * kSecond);
    UNECHO_TRY(hour);
    before_ = std::move(*before);
    hour_ = std::move(*hour);
    queried_history_ = true;
    return {};
}

Result<Json> AppliancePoller::query_once(Nanoseconds deadline) {
    const bool fresh = !client_;
    if (fresh) {
        UNECHO_TRY(connect(deadline));
    }
    client_->set_deadline(deadline);
    if (!descriptions_) {
        auto said = query_descriptions(*client_);
        UNECHO_TRY(said);
        descriptions_ = std::make_shared<const CounterDescriptions>(std::move(*said));
    }
    auto seen = query_appliance(*client_, fresh ? Json() : last_.seen);
    UNECHO_TRY(seen);
    UNECHO_TRY(query_history(unsigned_or(member(*seen, "info"), "uptime_ns")));
    return seen;
}

Status AppliancePoller::acknowledge(const Finding& finding) {
    const Nanoseconds deadline = steady_now() + timeout_;
    if (!client_) {
        UNECHO_TRY(connect(deadline));
    }
    client_->set_deadline(deadline);
    return monitor::acknowledge(*client_, std::string(finding.rule), finding.where);
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

// Take over what an earlier server kept, before the first sample.
void AppliancePoller::open_history(Nanoseconds now) {
    if (!file_ || std::exchange(opened_, true)) {
        return;
    }
    const HistoryColumns kept = file_->open(now, problem_);
    const std::lock_guard lock(mutex_);
    history_.restore(kept);
}

template <typename AddSample>
void AppliancePoller::publish(AddSample&& add_sample) {
    last_.expected = expected_;
    if (!unkept_.empty()) {
        add_unkept_history(last_.health, unkept_, unkept_from_);
    }
    HistorySample sample;
    {
        const std::lock_guard lock(mutex_);
        sample = add_sample();
        seen_ = std::make_shared<const ApplianceStatus>(last_);
    }
    // Only this thread changes the history, so reading it needs no lock.
    if (file_) {
        const Status kept = file_->append(sample, history_);
        if (const std::string why = kept ? "" : kept.error().context; why != unkept_) {
            unkept_ = why;
            unkept_from_ = unix_now();
            problem_ = why.empty() ? "the history is kept again"
                                   : why + "; the history is kept in memory only";
        }
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
    last_.health = check_health({last_.seen, before_, hour_, now});
    last_.descriptions = descriptions_;
    known_ = true;
    ended_ = false;
    open_history(now);
    publish([&] { return history_.add(last_.seen, now, same); });
}

bool AppliancePoller::record_failure(const Error& error) {
    const bool gone = error.code == Errc::kNotFound;
    if (error.code != Errc::kBusy) {
        client_.reset();
    }
    // Ignore a DPDK program that is no unecho, but report one that may be, or is expected.
    if (!known_ && !expected_ && (gone || error.code == Errc::kUnsupported)) {
        return false;
    }
    const ApplianceState state = !gone    ? ApplianceState::kSilent
                                 : known_ ? ApplianceState::kGone
                                          : ApplianceState::kAbsent;
    const Nanoseconds now = unix_now();
    if (last_.state != state || last_.since == 0) {
        last_.since = now;
    }
    last_.state = state;
    last_.problem = state == ApplianceState::kAbsent
                        ? "is expected, and has not answered since this server started"
                        : error.context;
    last_.permitted = error.code != Errc::kPermission;
    last_.health = health_of_unreachable(state, last_.problem, last_.since);
    open_history(now);
    publish([&] { return history_.add_gap(now); });
    return true;
}

}  // namespace unecho::monitor
