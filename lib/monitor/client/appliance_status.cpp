// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/appliance_status.h"

namespace unecho::monitor {

const char* name_of(ApplianceState state) {
    switch (state) {
        case ApplianceState::kRunning:
            return "running";
        case ApplianceState::kSilent:
            return "silent";
        case ApplianceState::kGone:
            return "gone";
        case ApplianceState::kAbsent:
            return "absent";
    }
    return "";
}

Json to_json(const ApplianceStatus& appliance) {
    Json out = {{"name", appliance.name},
                {"state", name_of(appliance.state)},
                {"since_ns", appliance.since},
                {"answered_ns", appliance.answered},
                {"problem", appliance.problem},
                {"starts", appliance.starts},
                {"health", to_json(appliance.health)}};
    for (const char* dict : {"info", "counters", "reasons"}) {
        const Json& value = member(appliance.seen, dict);
        out[dict] = value.is_object() ? value : Json::object();
    }
    for (const char* list : {"ports", "routes", "workers", "filters", "audit", "paths", "events"}) {
        const Json& value = member(appliance.seen, list);
        out[list] = value.is_array() ? value : Json::array();
    }
    return out;
}

}  // namespace unecho::monitor
