// SPDX-License-Identifier: BSD-3-Clause
// An appliance as it was last seen, and all that are known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "monitor/json_value.h"
#include "monitor/look.h"

namespace unecho::monitor {

enum class Presence : std::uint8_t {
    kRunning,
    kSilent,  // it is there, and does not answer, or not to us
    kGone,    // it was there
};
// "running", "silent", "gone"
[[nodiscard]] const char* name_of(Presence presence);

struct Appliance {
    std::string name;
    Presence presence = Presence::kGone;
    Nanoseconds since = 0;     // 1970, of this presence
    Nanoseconds answered = 0;  // the same, of what is below
    std::string problem;       // why it is not running, one line
    bool permitted = true;     // to ask it
    std::uint64_t starts = 0;  // processes of this name that were seen
    Nanoseconds look_took = 0;
    Json seen;  // look_at(), the last one that there was
    std::shared_ptr<const Descriptions> descriptions;
};
using Appliances = std::vector<std::shared_ptr<const Appliance>>;

// As /api/v1/state has it.
[[nodiscard]] Json to_json(const Appliance& appliance);

}  // namespace unecho::monitor
