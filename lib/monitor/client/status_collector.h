// SPDX-License-Identifier: BSD-3-Clause
// Queries appliances on demand, without a server, for `unecho status`.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "monitor/client/appliance_poller.h"
#include "monitor/client/appliance_status.h"

namespace unecho::monitor {

class StatusCollector {
  public:
    struct One {
        std::shared_ptr<const ApplianceStatus> appliance;
        SnapshotPair snapshots;  // the last two of the same process
    };

    // name: of one appliance, or "" for all. span: of the past that is judged. From stop on, no
    // call waits any more.
    StatusCollector(std::vector<std::string> folders, std::string name,
                    const std::atomic<bool>& stop, Nanoseconds span = kJudgedSpan);

    // Query all appliances that exist now, at the same time.
    void look();

    // Return them by name, including those that have ended since.
    [[nodiscard]] const std::vector<One>& all() const { return all_; }
    // Errc::kNotFound, with the directories searched, if there is none; Errc::kPermission.
    [[nodiscard]] Status found() const;

    // Return the names of rules that found something in the last look, each once, by name.
    [[nodiscard]] std::set<std::string> incidents() const;

    // Acknowledge what this rule found in the last look. Return the findings; Errc::kNotFound if
    // there is none.
    Result<std::vector<Finding>> acknowledge(const std::string& rule);

  private:
    void find();

    std::vector<std::string> folders_;
    std::string name_;
    const std::atomic<bool>& stop_;
    Nanoseconds span_;
    std::vector<std::unique_ptr<AppliancePoller>> pollers_;
    std::vector<One> all_;
    std::vector<std::string> problems_;
    std::string others_;  // names of appliances that were not requested
};

}  // namespace unecho::monitor
