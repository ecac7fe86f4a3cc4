// SPDX-License-Identifier: BSD-3-Clause
// An appliance as it was last seen, and all that are known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "monitor/client/appliance_query.h"
#include "monitor/client/json_access.h"

namespace unecho::monitor {

enum class ApplianceState : std::uint8_t {
    kRunning,
    kSilent,  // it is there, and does not answer, or not to us
    kGone,    // it was there
};
// "running", "silent", "gone"
[[nodiscard]] const char* name_of(ApplianceState state);

struct ApplianceStatus {
    std::string name;
    ApplianceState state = ApplianceState::kGone;
    Nanoseconds since = 0;     // 1970, of this presence
    Nanoseconds answered = 0;  // the same, of what is below
    std::string problem;       // why it is not running, one line
    bool permitted = true;     // to ask it
    std::uint64_t starts = 0;  // processes of this name that were seen
    Nanoseconds query_time = 0;
    Json seen;  // query_appliance(), the last one that there was
    std::shared_ptr<const CounterDescriptions> descriptions;
};
using ApplianceStatuses = std::vector<std::shared_ptr<const ApplianceStatus>>;

// As /api/v1/state has it.
[[nodiscard]] Json to_json(const ApplianceStatus& appliance);

}  // namespace unecho::monitor
