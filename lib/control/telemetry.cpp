// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry.h"

#include <mutex>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>
#include <rte_telemetry.h>
#include <rte_version.h>

namespace unecho::control {
namespace {

using nlohmann::ordered_json;

// DPDK's callbacks carry no context, hence one source for the process.
struct Source {
    std::mutex mutex;
    const Plan* plan = nullptr;
    std::function<StatsReport()> report;
};

Source& source() {
    static Source instance;
    return instance;
}

void fill_dict(rte_tel_data* data, const ordered_json& object);

rte_tel_data* array_of(const ordered_json& array) {
    rte_tel_data* data = rte_tel_data_alloc();
    rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
    for (const auto& item : array) {
        rte_tel_data_add_array_string(data, item.get<std::string>().c_str());
    }
    return data;
}

// DPDK 23.03 gave it a new name, and a later version took the old one away.
void add_whole(rte_tel_data* data, const char* name, std::uint64_t value) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
    rte_tel_data_add_dict_uint(data, name, value);
#else
    rte_tel_data_add_dict_u64(data, name, value);
#endif
}

void add_entry(rte_tel_data* data, const char* name, const ordered_json& value) {
    if (value.is_boolean()) {
        add_whole(data, name, value.get<bool>() ? 1 : 0);
    } else if (value.is_number_integer()) {
        add_whole(data, name, value.get<std::uint64_t>());
    } else if (value.is_number_float()) {
        rte_tel_data_add_dict_string(data, name, value.dump().c_str());
    } else if (value.is_string()) {
        rte_tel_data_add_dict_string(data, name, value.get<std::string>().c_str());
    } else if (value.is_array()) {
        rte_tel_data_add_dict_container(data, name, array_of(value), 0);
    } else if (value.is_object()) {
        rte_tel_data* inner = rte_tel_data_alloc();
        rte_tel_data_start_dict(inner);
        fill_dict(inner, value);
        rte_tel_data_add_dict_container(data, name, inner, 0);
    }
}

void fill_dict(rte_tel_data* data, const ordered_json& object) {
    for (const auto& [name, value] : object.items()) {
        add_entry(data, name.c_str(), value);
    }
}

// A list of objects as a dict, by position: DPDK drops an entry whose key has a "-" or a ".", which
// names of ports and filters may have.
ordered_json by_position(const ordered_json& list) {
    ordered_json out = ordered_json::object();
    for (std::size_t i = 0; i < list.size(); ++i) {
        out[std::to_string(i)] = list[i];
    }
    return out;
}

ordered_json counters_of(const ordered_json& all) {
    ordered_json out = all["totals"];
    out["reasons"] = all["reasons"];
    out["uptime_ns"] = all["uptime_ns"];
    return out;
}

ordered_json info_of(const Plan& plan) {
    return {{"version", UNECHO_VERSION},
            {"workers", plan.workers.size()},
            {"routes", plan.routes.size()},
            {"steering", plan.steering_reason}};
}

template <typename Select>
int answer(rte_tel_data* data, Select&& select) {
    Source& from = source();
    const std::lock_guard lock(from.mutex);
    if (from.plan == nullptr) {
        return -1;
    }
    rte_tel_data_start_dict(data);
    fill_dict(data, select(*from.plan, to_json(*from.plan, from.report())));
    return 0;
}

int on_counters(const char*, const char*, rte_tel_data* data) {
    return answer(data, [](const Plan&, const ordered_json& all) { return counters_of(all); });
}
int on_info(const char*, const char*, rte_tel_data* data) {
    return answer(data, [](const Plan& plan, const ordered_json&) { return info_of(plan); });
}
int on_help(const char*, const char*, rte_tel_data* data) {
    return answer(data, [](const Plan&, const ordered_json&) { return help_json(); });
}
int on_ports(const char*, const char*, rte_tel_data* data) {
    return answer(data,
                  [](const Plan&, const ordered_json& all) { return by_position(all["ports"]); });
}
int on_routes(const char*, const char*, rte_tel_data* data) {
    return answer(data,
                  [](const Plan&, const ordered_json& all) { return by_position(all["routes"]); });
}
int on_workers(const char*, const char*, rte_tel_data* data) {
    return answer(data,
                  [](const Plan&, const ordered_json& all) { return by_position(all["workers"]); });
}
int on_filters(const char*, const char*, rte_tel_data* data) {
    return answer(data,
                  [](const Plan&, const ordered_json& all) { return by_position(all["filters"]); });
}

struct Command {
    const char* name;
    telemetry_cb callback;
    const char* help;
};

constexpr Command kCommands[] = {
    {"/unecho/info", on_info, "Version, workers, how copies reach one worker. No parameters"},
    {"/unecho/counters", on_counters,
     "All packets: received = forwarded + diverted + dropped + in_flight, and by reason. No "
     "parameters"},
    {"/unecho/ports", on_ports,
     "Packets and bytes of each port, what the device lost. No parameters"},
    {"/unecho/routes", on_routes,
     "Counters and reasons of each route, and the flows of its two taps where it reports them. No "
     "parameters"},
    {"/unecho/workers", on_workers,
     "Each worker: rx_packets + handed_in = settled + handed_out. No parameters"},
    {"/unecho/help", on_help, "What each counter counts. No parameters"},
    {"/unecho/filters", on_filters,
     "Each filter: engine, window, slack, what it counted, longest generation. No parameters"},
};

}  // namespace

Result<Telemetry> Telemetry::attach(const Plan& plan, std::function<StatsReport()> report) {
    Telemetry attached(true);
    {
        Source& to = source();
        const std::lock_guard lock(to.mutex);
        to.plan = &plan;
        to.report = std::move(report);
    }
    for (const Command& command : kCommands) {
        if (rte_telemetry_register_cmd(command.name, command.callback, command.help) != 0) {
            return fail(Errc::kNoMemory,
                        std::string("telemetry command ") + command.name + " not registered");
        }
    }
    return attached;
}

// DPDK keeps the commands; they have nothing to answer with.
Telemetry::~Telemetry() {
    if (owner_) {
        Source& from = source();
        const std::lock_guard lock(from.mutex);
        from.plan = nullptr;
        from.report = nullptr;
    }
}

Telemetry::Telemetry(Telemetry&& other) noexcept : owner_(std::exchange(other.owner_, false)) {}

}  // namespace unecho::control
