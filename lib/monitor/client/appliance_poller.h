// SPDX-License-Identifier: BSD-3-Clause
// Queries one appliance again and again: keeps the connection, connects anew after a restart, and
// keeps an hour of history. One thread calls look(); any thread may read.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "monitor/client/appliance_status.h"
#include "monitor/client/discovery.h"
#include "monitor/client/telemetry_client.h"
#include "monitor/server/history.h"

namespace unecho::monitor {

class AppliancePoller {
  public:
    // From stop on, no call waits any more.
    AppliancePoller(TelemetrySocket place, const std::atomic<bool>& stop);

    // Query the appliance once. Return false if the socket is not that of an unecho.
    bool look();
    void set_timeout(Nanoseconds patience);

    // Return the last known status; null before the first.
    [[nodiscard]] std::shared_ptr<const ApplianceStatus> seen() const;
    [[nodiscard]] std::string history(std::size_t samples) const;
    [[nodiscard]] const std::string& name() const { return place_.name; }

  private:
    Result<Json> query_once(Nanoseconds deadline);
    void record_reply(Json seen, Nanoseconds took);
    bool record_failure(const Error& error);
    [[nodiscard]] bool is_same_process(const Json& seen) const;

    TelemetrySocket place_;
    const std::atomic<bool>& stop_;
    Nanoseconds timeout_ = kReplyTimeout;
    std::optional<TelemetryClient> client_;
    std::shared_ptr<const CounterDescriptions> descriptions_;
    ApplianceStatus last_;
    bool known_ = false;  // some reply came from an unecho
    bool ended_ = false;  // the connection broke, and no reply came since

    mutable std::mutex mutex_;  // guards the members below
    std::shared_ptr<const ApplianceStatus> seen_;
    History history_;
};

}  // namespace unecho::monitor
