// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/watch.h"

#include <utility>

#include "monitor/clock.h"

namespace unecho::monitor {

Watch::Watch(Place place, const std::atomic<bool>& stop) : place_(std::move(place)), stop_(stop) {
    last_.name = place_.name;
}

std::shared_ptr<const Appliance> Watch::seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
}

std::string Watch::history(std::size_t samples) const {
    const std::lock_guard lock(mutex_);
    return history_.columns(samples);
}

Result<Json> Watch::look_once(Nanoseconds deadline) {
    const bool fresh = !client_;
    if (fresh) {
        const Nanoseconds now = steady_now();
        const Nanoseconds left = deadline > now ? deadline - now : 0;
        auto client = TelemetryClient::connect(place_.socket, left, &stop_);
        if (!client) {
            return tl::unexpected(client.error());
        }
        client_ = std::move(*client);
        client_->set_patience(patience_);
        descriptions_ = nullptr;
    }
    client_->set_deadline(deadline);
    if (!descriptions_) {
        auto said = describe(*client_);
        if (!said) {
            return tl::unexpected(said.error());
        }
        descriptions_ = std::make_shared<const Descriptions>(std::move(*said));
    }
    return look_at(*client_, fresh ? Json() : last_.seen);
}

bool Watch::look() {
    const bool connected = client_.has_value();
    const Nanoseconds begin = steady_now();
    auto seen = look_once(begin + patience_);
    if (!seen && connected && seen.error().code == Errc::kNotFound) {
        // It ended since the last look; perhaps another one is there already.
        ended_ = true;
        client_.reset();
        seen = look_once(begin + patience_);
    }
    if (seen) {
        running(std::move(*seen), steady_now() - begin);
        return true;
    }
    return missing(seen.error());
}

// By what it tells of itself: two processes never begin in the same nanosecond. Older versions tell
// nothing but how long they run; one whose connection broke has ended.
bool Watch::is_same_process(const Json& seen) const {
    const Json& now = member(seen, "info");
    const Json& before = member(last_.seen, "info");
    for (const char* mark : {"pid", "start_unix_ns", "version"}) {
        if (member(now, mark) != member(before, mark)) {
            return false;
        }
    }
    const bool told = now.contains("start_unix_ns");
    return told || (!ended_ && whole_or(now, "uptime_ns") >= whole_or(before, "uptime_ns"));
}

void Watch::set_patience(Nanoseconds patience) {
    patience_ = patience;
    if (client_) {
        client_->set_patience(patience);
    }
}

void Watch::running(Json seen, Nanoseconds took) {
    const Nanoseconds now = unix_now();
    const bool same = last_.starts != 0 && is_same_process(seen);
    if (!same || last_.presence != Presence::kRunning) {
        last_.since = now;
    }
    last_.starts += same ? 0 : 1;
    last_.presence = Presence::kRunning;
    last_.problem.clear();
    last_.permitted = true;
    last_.answered = now;
    last_.look_took = took;
    last_.seen = std::move(seen);
    last_.descriptions = descriptions_;
    known_ = true;
    ended_ = false;
    const std::lock_guard lock(mutex_);
    history_.add(last_.seen, now, same);
    seen_ = std::make_shared<const Appliance>(last_);
}

bool Watch::missing(const Error& error) {
    const bool gone = error.code == Errc::kNotFound;
    if (error.code != Errc::kBusy) {
        client_.reset();
    }
    // A program of DPDK that is no unecho is none of ours; one that may be is told of.
    if (!known_ && (gone || error.code == Errc::kUnsupported)) {
        return false;
    }
    const Presence presence = gone ? Presence::kGone : Presence::kSilent;
    const Nanoseconds now = unix_now();
    if (last_.presence != presence || last_.since == 0) {
        last_.since = now;
    }
    last_.presence = presence;
    last_.problem = error.context;
    last_.permitted = error.code != Errc::kPermission;
    const std::lock_guard lock(mutex_);
    history_.add_nothing(now);
    seen_ = std::make_shared<const Appliance>(last_);
    return true;
}

}  // namespace unecho::monitor
