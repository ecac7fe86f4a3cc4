// SPDX-License-Identifier: BSD-3-Clause
// One appliance over time: keeps the connection, connects again when it was restarted, keeps the
// last hour. One thread looks, others read.
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
    // stop: from then on nothing is waited for.
    AppliancePoller(TelemetrySocket place, const std::atomic<bool>& stop);

    // False: there is no unecho.
    bool look();
    void set_timeout(Nanoseconds patience);

    // Null until there is something to tell.
    [[nodiscard]] std::shared_ptr<const ApplianceStatus> seen() const;
    // As History::columns().
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
    bool known_ = false;  // it was an unecho at least once
    bool ended_ = false;  // its connection broke, and nothing was seen since

    mutable std::mutex mutex_;  // of what is below
    std::shared_ptr<const ApplianceStatus> seen_;
    History history_;
};

}  // namespace unecho::monitor
