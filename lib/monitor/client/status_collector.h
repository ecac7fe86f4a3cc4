// SPDX-License-Identifier: BSD-3-Clause
// Looks at appliances when it is told to, without a server: what `unecho status` shows.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "monitor/client/appliance_poller.h"
#include "monitor/client/appliance_status.h"
#include "monitor/status/health.h"

namespace unecho::monitor {

class StatusCollector {
  public:
    struct One {
        std::shared_ptr<const ApplianceStatus> appliance;
        SnapshotPair snapshots;  // the last two at the same process
    };

    // name: of one appliance; "": all. stop: from then on nothing is waited for.
    StatusCollector(std::vector<std::string> folders, std::string name,
                    const std::atomic<bool>& stop);

    // At all that are there now, at the same time.
    void look();

    // By name; those that were seen once, too.
    [[nodiscard]] const std::vector<One>& all() const { return all_; }
    // Errc::kNotFound: there is none, with where it was looked for; Errc::kPermission.
    [[nodiscard]] Status found() const;

  private:
    void find();

    std::vector<std::string> folders_;
    std::string name_;
    const std::atomic<bool>& stop_;
    std::vector<std::unique_ptr<AppliancePoller>> watches_;
    std::vector<One> all_;
    std::vector<std::string> problems_;
    std::string others_;  // names of those that are not asked for
};

}  // namespace unecho::monitor
