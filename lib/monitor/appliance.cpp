// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/appliance.h"

namespace unecho::monitor {

const char* name_of(Presence presence) {
    switch (presence) {
        case Presence::kRunning:
            return "running";
        case Presence::kSilent:
            return "silent";
        case Presence::kGone:
            return "gone";
    }
    return "";
}

Json to_json(const Appliance& appliance) {
    Json out = {{"name", appliance.name},       {"state", name_of(appliance.presence)},
                {"since_ns", appliance.since},  {"answered_ns", appliance.answered},
                {"problem", appliance.problem}, {"starts", appliance.starts}};
    for (const char* dict : {"info", "counters", "reasons"}) {
        const Json& value = member(appliance.seen, dict);
        out[dict] = value.is_object() ? value : Json::object();
    }
    for (const char* list : {"ports", "routes", "workers", "filters", "audit", "events"}) {
        const Json& value = member(appliance.seen, list);
        out[list] = value.is_array() ? value : Json::array();
    }
    return out;
}

}  // namespace unecho::monitor
