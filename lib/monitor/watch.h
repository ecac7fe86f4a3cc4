// SPDX-License-Identifier: BSD-3-Clause
// One appliance over time: keeps the connection, connects again when it was restarted, keeps the
// last hour. One thread looks, others read.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "monitor/appliance.h"
#include "monitor/history.h"
#include "monitor/places.h"
#include "monitor/telemetry_client.h"

namespace unecho::monitor {

class Watch {
  public:
    // stop: from then on nothing is waited for.
    Watch(Place place, const std::atomic<bool>& stop);

    // False: there is no unecho.
    bool look();
    void set_patience(Nanoseconds patience);

    // Null until there is something to tell.
    [[nodiscard]] std::shared_ptr<const Appliance> seen() const;
    // As History::columns().
    [[nodiscard]] std::string history(std::size_t samples) const;
    [[nodiscard]] const std::string& name() const { return place_.name; }

  private:
    Result<Json> look_once(Nanoseconds deadline);
    void running(Json seen, Nanoseconds took);
    bool missing(const Error& error);
    [[nodiscard]] bool is_same_process(const Json& seen) const;

    Place place_;
    const std::atomic<bool>& stop_;
    Nanoseconds patience_ = kPatience;
    std::optional<TelemetryClient> client_;
    std::shared_ptr<const Descriptions> descriptions_;
    Appliance last_;
    bool known_ = false;  // it was an unecho at least once
    bool ended_ = false;  // its connection broke, and nothing was seen since

    mutable std::mutex mutex_;  // of what is below
    std::shared_ptr<const Appliance> seen_;
    History history_;
};

}  // namespace unecho::monitor
