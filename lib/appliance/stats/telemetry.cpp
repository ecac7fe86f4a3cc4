// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/stats/telemetry.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <rte_telemetry.h>
#include <rte_version.h>
#include <unistd.h>

#include "appliance/stats/counter_log.h"
#include "base/os/clock.h"
#include "base/os/memory_reserve.h"
#include "base/utf8.h"

namespace unecho::appliance {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// DPDK cuts a reply off at this size; the command precedes it.
constexpr std::size_t kAnswerRoom = std::size_t{16} * 1024 - 256;
// DPDK omits a longer text without an error.
constexpr std::size_t kTextRoom = RTE_TEL_MAX_STRING_LEN - 1;
constexpr std::size_t kMaxPieces = 120;
constexpr std::size_t kMaxPiecesOfEvent = 20;
// Clients fetch lists piece by piece, so pieces of one list come from one report of at most this
// age. info and counters always take a new report, so a client that begins with them gets a young
// one.
constexpr std::chrono::milliseconds kSameSample{100};
constexpr std::size_t kMostIncidents = 64;  // acknowledged ones; the oldest is forgotten

// An incident that somebody takes care of, in the names of the health rules (lib/monitor/health).
struct Acknowledged {
    std::string rule;
    std::string where;
    std::uint64_t unix_ns = 0;
};

// DPDK's callbacks carry no context, hence one source per process.
struct Source {
    std::mutex mutex;
    const Plan* plan = nullptr;
    std::function<StatsReport()> report;
    ReloadCommands reload;
    unsigned reloading = 0;  // reloads being answered
    std::condition_variable reloaded;
    std::shared_ptr<const Plan> of;  // plan of `last`, if a reload may have replaced it
    ordered_json last;               // the report of the last reply
    Clock::time_point taken;
    CounterLog log;
    std::vector<Acknowledged> acknowledged;
    std::thread sampler;
    std::condition_variable detached;
};

// Never destroyed: DPDK's thread and the sampler use it until the process ends.
Source& source() {
    static Source& instance = *std::make_unique<Source>().release();
    return instance;
}

// --- to DPDK -----------------------------------------------------------------------------------

// Turn a list of objects into a dict with positions as keys: DPDK drops entries whose key has a "-"
// or ".", and names of ports and filters may have them.
ordered_json by_position(const ordered_json& list) {
    ordered_json out = ordered_json::object();
    for (std::size_t i = 0; i < list.size(); ++i) {
        out[std::to_string(i)] = list[i];
    }
    return out;
}

bool holds_objects(const ordered_json& list) {
    return std::any_of(list.begin(), list.end(),
                       [](const ordered_json& item) { return item.is_structured(); });
}

// Convert to what DPDK can send: whole numbers, short ASCII texts, lists of them, dicts.
ordered_json plain(const ordered_json& value) {
    if (value.is_boolean()) {
        return value.get<bool>() ? 1 : 0;
    }
    if (value.is_number_float()) {
        return value.dump();
    }
    if (value.is_string()) {
        return truncated(escaped_ascii(value.get_ref<const std::string&>()), kTextRoom);
    }
    if (value.is_array() && holds_objects(value)) {
        return plain(by_position(value));
    }
    if (!value.is_structured()) {
        return value;
    }
    ordered_json out = value.is_array() ? ordered_json::array() : ordered_json::object();
    for (const auto& [name, item] : value.items()) {
        if (value.is_array()) {
            out.push_back(plain(item));
        } else if (!item.is_null()) {
            out[name] = plain(item);
        }
    }
    return out;
}

// Return the first members that fit into a reply.
ordered_json fitting(const ordered_json& object) {
    std::size_t size = 2;
    ordered_json out = ordered_json::object();
    for (const auto& [name, value] : object.items()) {
        size += name.size() + value.dump().size() + 4;  // quotes, colon, comma
        if (size > kAnswerRoom || out.size() + 1 == RTE_TEL_MAX_DICT_ENTRIES) {
            out["truncated"] = 1;
            return out;
        }
        out[name] = value;
    }
    return out;
}

// Return false if memory is exhausted.
bool fill_dict(rte_tel_data* data, const ordered_json& object);

// DPDK 23.03 renamed these; a later version removed the old names.
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
constexpr auto kWholes = RTE_TEL_UINT_VAL;
constexpr auto add_whole = rte_tel_data_add_dict_uint;
constexpr auto add_array_whole = rte_tel_data_add_array_uint;
#else
constexpr auto kWholes = RTE_TEL_U64_VAL;
constexpr auto add_whole = rte_tel_data_add_dict_u64;
constexpr auto add_array_whole = rte_tel_data_add_array_u64;
#endif

struct FreeTelData {
    void operator()(rte_tel_data* data) const { rte_tel_data_free(data); }
};
using TelData = std::unique_ptr<rte_tel_data, FreeTelData>;

// Return null if memory is exhausted.
TelData array_of(const ordered_json& array) {
    TelData data(rte_tel_data_alloc());
    if (data == nullptr) {
        return data;
    }
    const bool texts = array.empty() || array.front().is_string();
    rte_tel_data_start_array(data.get(), texts ? RTE_TEL_STRING_VAL : kWholes);
    for (const auto& item : array) {
        if (texts) {
            rte_tel_data_add_array_string(data.get(), item.get<std::string>().c_str());
        } else {
            add_array_whole(data.get(), item.get<std::uint64_t>());
        }
    }
    return data;
}

// Add the container; DPDK frees it if it took it. Return false if inner is null.
bool add_container(rte_tel_data* data, const char* name, TelData inner) {
    if (inner != nullptr && rte_tel_data_add_dict_container(data, name, inner.get(), 0) == 0) {
        static_cast<void>(inner.release());
        return true;
    }
    return inner != nullptr;
}

bool add_entry(rte_tel_data* data, const char* name, const ordered_json& value) {
    if (value.is_number_integer()) {
        add_whole(data, name, value.get<std::uint64_t>());
    } else if (value.is_string()) {
        rte_tel_data_add_dict_string(data, name, value.get<std::string>().c_str());
    } else if (value.is_array()) {
        return add_container(data, name, array_of(value));
    } else if (value.is_object()) {
        TelData inner(rte_tel_data_alloc());
        if (inner == nullptr) {
            return false;
        }
        rte_tel_data_start_dict(inner.get());
        return fill_dict(inner.get(), value) && add_container(data, name, std::move(inner));
    }
    return true;
}

bool fill_dict(rte_tel_data* data, const ordered_json& object) {
    for (const auto& [name, value] : object.items()) {
        if (!add_entry(data, name.c_str(), value)) {
            return false;
        }
    }
    return true;
}

// --- answers -----------------------------------------------------------------------------------

ordered_json names_in(const ordered_json& list) {
    ordered_json out = ordered_json::array();
    for (const auto& item : list) {
        out.push_back(item["name"]);
    }
    return out;
}

ordered_json info_of(const Plan& plan, const ordered_json& all) {
    return {{"name", plan.name},
            {"version", UNECHO_VERSION},
            {"pid", getpid()},
            {"start_unix_ns", all["start_unix_ns"]},
            {"uptime_ns", all["uptime_ns"]},
            {"ports", plan.ports.size()},
            {"routes", plan.routes.size()},
            {"filters", plan.filters.size()},
            {"workers", plan.workers.size()},
            {"port_names", names_in(all["ports"])},
            {"route_names", names_in(all["routes"])},
            {"filter_names", names_in(all["filters"])},
            {"stall_threshold_ns", plan.stall_threshold},
            {"steering", plan.steering_reason}};
}

ordered_json counters_of(const ordered_json& all) {
    ordered_json out = all["totals"];
    out["reasons"] = all["reasons"];
    out["uptime_ns"] = all["uptime_ns"];
    return out;
}

// Omit what has a command of its own.
ordered_json filters_of(const ordered_json& all) {
    ordered_json out = all["filters"];
    for (ordered_json& filter : out) {
        filter.erase("audit");
    }
    return out;
}

// Split a long text into pieces that DPDK can send.
ordered_json pieces_of(const std::string& text, std::size_t most) {
    ordered_json out = ordered_json::array();
    constexpr std::size_t kPiece = 100;
    const std::string letters = truncated(escaped_ascii(text), most * kPiece);
    for (std::size_t at = 0; at < letters.size(); at += kPiece) {
        out.push_back(letters.substr(at, kPiece));
    }
    return out;
}

// Advice is longer than DPDK's texts.
ordered_json audits_of(const ordered_json& all) {
    ordered_json out = ordered_json::array();
    for (const ordered_json& filter : all["filters"]) {
        out.push_back(filter.value("audit", ordered_json::object()));
        if (const auto advice = out.back().find("advice"); advice != out.back().end()) {
            for (ordered_json& text : *advice) {
                text = {{"pieces", pieces_of(text.get<std::string>(), kMaxPiecesOfEvent)}};
            }
        }
    }
    return out;
}

// A text that DPDK would cut is also sent in pieces.
ordered_json events_since(const ordered_json& all, std::uint64_t last) {
    ordered_json out = ordered_json::array();
    for (const ordered_json& event : all["events"]) {
        if (event["number"].get<std::uint64_t>() > last) {
            out.push_back(event);
            const auto& text = event["text"].get_ref<const std::string&>();
            if (escaped_ascii(text).size() > kTextRoom) {
                out.back()["pieces"] = pieces_of(text, kMaxPiecesOfEvent);
            }
        }
    }
    return out;
}

// Return nothing if the text is not a number.
std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size()
               ? std::optional<std::uint64_t>(value)
               : std::nullopt;
}

// Return the whole report: a new one if `now`, else one of at most kSameSample's age.
const ordered_json& everything(Source& from, bool now) {
    if (now || from.last.is_null() || Clock::now() - from.taken > kSameSample) {
        StatsReport report = from.report();
        const Plan& plan = report.plan == nullptr ? *from.plan : *report.plan;
        for (std::size_t i = 0; i < plan.filters.size() && i < report.filters.size(); ++i) {
            report.filters[i].busiest = from.log.busiest_hour(plan.filters[i].name);
        }
        from.last = to_json(plan, report);
        from.of = report.plan;
        from.taken = Clock::now();
    }
    return from.last;
}

// Return what select(plan, all, parameter) selects, as DPDK can send it. Null if that is no object,
// or nothing is attached.
template <typename Select>
ordered_json answer(std::string_view parameter, bool now, Select&& select) {
    Source& from = source();
    const std::lock_guard lock(from.mutex);
    if (from.plan == nullptr) {
        return {};
    }
    const ordered_json& all = everything(from, now);
    const ordered_json selected =
        select(from.of == nullptr ? *from.plan : *from.of, all, parameter);
    return selected.is_object() ? fitting(plain(selected)) : ordered_json();
}

// Return all of a list that fits, or one entry.
template <typename Select>
ordered_json answer_list(std::string_view parameter, Select&& select) {
    return answer(parameter, false,
                  [&](const Plan&, const ordered_json& all, std::string_view index_text) {
                      const ordered_json list = select(all);
                      if (index_text.empty()) {
                          return by_position(list);
                      }
                      const std::optional<std::uint64_t> index = number_of(index_text);
                      if (!index || *index >= list.size()) {
                          return ordered_json();
                      }
                      const ordered_json& one = list[*index];
                      return one.is_array() ? by_position(one) : one;
                  });
}

ordered_json on_counters(std::string_view parameter) {
    return answer(parameter, true, [](const Plan&, const ordered_json& all, std::string_view) {
        return counters_of(all);
    });
}
ordered_json on_info(std::string_view parameter) {
    return answer(parameter, true, [](const Plan& plan, const ordered_json& all, std::string_view) {
        return info_of(plan, all);
    });
}
ordered_json member_of(const ordered_json& all, std::string_view member) {
    return member.empty() ? all : all.value(std::string(member), ordered_json());
}
ordered_json on_help(std::string_view parameter) {
    return answer(parameter, false, [](const Plan&, const ordered_json&, std::string_view member) {
        return member_of(help_json(), member);
    });
}
ordered_json on_kinds(std::string_view parameter) {
    return answer(parameter, false, [](const Plan&, const ordered_json&, std::string_view member) {
        return member_of(kinds_json(), member);
    });
}
ordered_json on_ports(std::string_view parameter) {
    return answer_list(parameter, [](const ordered_json& all) { return all["ports"]; });
}
ordered_json on_routes(std::string_view parameter) {
    return answer_list(parameter, [](const ordered_json& all) { return all["routes"]; });
}
ordered_json on_workers(std::string_view parameter) {
    return answer_list(parameter, [](const ordered_json& all) { return all["workers"]; });
}
ordered_json on_filters(std::string_view parameter) {
    return answer_list(parameter, filters_of);
}
ordered_json on_audit(std::string_view parameter) {
    return answer_list(parameter, audits_of);
}
ordered_json on_paths(std::string_view parameter) {
    return answer_list(parameter, [](const ordered_json& all) { return all["paths"]; });
}
ordered_json on_stalls(std::string_view parameter) {
    return answer_list(parameter, [](const ordered_json& all) { return all["stalls"]; });
}
ordered_json on_events(std::string_view parameter) {
    return answer(parameter, false,
                  [](const Plan&, const ordered_json& all, std::string_view number) {
                      const auto last = number.empty() ? 0 : number_of(number);
                      return last ? by_position(events_since(all, *last)) : ordered_json();
                  });
}

// Parameter: LIST,SECONDS or LIST,SECONDS,INDEX; without: the totals five minutes ago.
ordered_json on_past(std::string_view parameter) {
    if (parameter.empty()) {
        parameter = "totals,300";
    }
    const auto next = [&parameter] {
        const std::string_view word = parameter.substr(0, parameter.find(','));
        parameter.remove_prefix(std::min(word.size() + 1, parameter.size()));
        return word;
    };
    const std::string_view list = next();
    const std::optional<std::uint64_t> seconds = number_of(next());
    Source& from = source();
    const std::lock_guard lock(from.mutex);
    if (from.plan == nullptr || !seconds || *seconds > CounterLog::kSpan / kSecond) {
        return {};
    }
    const ordered_json all = from.log.past(list, *seconds * kSecond);
    if (!all.is_array()) {
        return all;
    }
    if (parameter.empty()) {
        return fitting(plain(by_position(all)));
    }
    const std::optional<std::uint64_t> index = number_of(parameter);
    return index && *index < all.size() ? plain(all[*index]) : ordered_json();
}

// Parameter: RULE or RULE,WHERE; without: acknowledges nothing.
ordered_json on_acknowledge(std::string_view parameter) {
    const std::string_view rule = parameter.substr(0, parameter.find(','));
    const std::string_view where = parameter.substr(std::min(rule.size() + 1, parameter.size()));
    Acknowledged one{truncated(escaped_ascii(rule), kTextRoom),
                     truncated(escaped_ascii(where), kTextRoom), unix_now()};
    Source& to = source();
    const std::lock_guard lock(to.mutex);
    if (to.plan == nullptr) {
        return {};
    }
    if (rule.empty()) {
        return {{"accepted", 0}};
    }
    std::erase_if(to.acknowledged, [&](const Acknowledged& known) {
        return known.rule == one.rule && known.where == one.where;
    });
    if (to.acknowledged.size() == kMostIncidents) {
        to.acknowledged.erase(to.acknowledged.begin());
    }
    to.acknowledged.push_back(std::move(one));
    return {{"accepted", 1}};
}

ordered_json on_acknowledged(std::string_view parameter) {
    return answer_list(parameter, [](const ordered_json&) {
        ordered_json out = ordered_json::array();
        for (const Acknowledged& one : source().acknowledged) {
            out.push_back({{"rule", one.rule}, {"where", one.where}, {"unix_ns", one.unix_ns}});
        }
        return out;
    });
}

// Counts a reload as being answered while it exists.
class Reloading {
  public:
    explicit Reloading(Source& of) : of_(of) { ++of_.reloading; }
    ~Reloading() {
        const std::lock_guard lock(of_.mutex);
        --of_.reloading;
        of_.reloaded.notify_all();
    }
    Reloading(const Reloading&) = delete;
    Reloading& operator=(const Reloading&) = delete;

  private:
    Source& of_;
};

// Waiting here delays no other client: the thread serves this one only.
ordered_json on_reload(std::string_view parameter) {
    const std::optional<std::uint64_t> number = number_of(parameter);
    if (!parameter.empty() && parameter != "dry-run" && !number) {
        return {};
    }
    Source& from = source();
    ReloadCommands reload;
    std::optional<Reloading> reloading;
    {
        const std::lock_guard lock(from.mutex);
        if (from.plan == nullptr || !from.reload.ask) {
            return {};
        }
        reload = from.reload;
        reloading.emplace(from);
    }
    const ReloadAnswer answer = number ? reload.outcome(*number) : reload.ask(!parameter.empty());
    reloading.reset();
    ordered_json out = {{"accepted", answer.accepted ? 1 : 0},
                        {"text", pieces_of(answer.text, kMaxPieces)}};
    if (answer.waiting != 0) {
        out["waiting"] = answer.waiting;
    }
    return out;
}

using Select = ordered_json (*)(std::string_view parameter);

// Answer a command with an error if memory is short or a bug throws: forwarding comes before
// reporting. A reserve of memory is held meanwhile, because freeing documents may allocate.
template <Select select>
int guarded(const char*, const char* params, rte_tel_data* data) noexcept {
    try {
        const MemoryReserve reserve;
        const ordered_json out = select(params == nullptr ? "" : params);
        if (!out.is_object()) {
            return -EINVAL;
        }
        rte_tel_data_start_dict(data);
        return fill_dict(data, out) ? 0 : -ENOMEM;
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    } catch (const std::exception&) {
        return -EIO;
    }
}

enum class Access : std::uint8_t { kRead, kChange };

struct Command {
    const char* name;
    Select select;
    telemetry_cb callback;  // select, in DPDK's form
    Access access;
    const char* help;
};

template <Select select>
constexpr Command command(const char* name, const char* help, Access access = Access::kRead) {
    return {name, select, guarded<select>, access, help};
}

// DPDK takes help texts of at most 127 characters.
constexpr Command kCommands[] = {
    command<on_info>("/unecho/info",
                     "Name, version, start, and how many and which ports, routes, filters, "
                     "workers. No parameters"),
    command<on_counters>(
        "/unecho/counters",
        "All packets: received = forwarded + diverted + dropped + in_flight, and by reason. No "
        "parameters"),
    command<on_ports>("/unecho/ports",
                      "Packets and bytes of each port, what the device lost. Parameter: index; "
                      "without: as many as "
                      "fit"),
    command<on_routes>("/unecho/routes",
                       "Counters and reasons of each route, flows of its taps. Parameter: index; "
                       "without: as many as "
                       "fit"),
    command<on_workers>(
        "/unecho/workers",
        "Each worker: rx_packets + handed_in = settled + handed_out. Parameter: index; without: as "
        "many as fit"),
    command<on_filters>("/unecho/filters",
                        "Each filter: engine, window, slack, what it counted. Parameter: index; "
                        "without: as many as "
                        "fit"),
    command<on_audit>(
        "/unecho/audit",
        "What the audit of each filter measured. Parameter: index; without: as many as fit"),
    command<on_paths>("/unecho/paths",
                      "Loss and delays from one point to another, in the sample of the audit. "
                      "Parameter: index; without: as many as fit"),
    command<on_stalls>("/unecho/stalls",
                       "Each worker's last stalls: rounds above stall_threshold. Parameter: index; "
                       "without: as many "
                       "as fit"),
    command<on_past>(
        "/unecho/past",
        "Counters as they were, and when each grew. Parameters: totals, ports, routes, "
        "workers, filters or paths; seconds ago"),
    command<on_acknowledge>("/unecho/acknowledge",
                            "Says that an incident is taken care of. Parameters: name of its rule; "
                            "where it is",
                            Access::kChange),
    command<on_acknowledged>(
        "/unecho/acknowledged",
        "The incidents that were acknowledged, and when. Parameter: index; without: "
        "as many as fit"),
    command<on_events>("/unecho/events",
                       "Start, links, stalls, steps of time. Parameter: a number, for those behind "
                       "it; without: from "
                       "the oldest"),
    command<on_reload>("/unecho/reload",
                       "Reads the configuration again and takes it over, or says what is wrong. "
                       "Parameter: dry-run; a number: what became of it",
                       Access::kChange),
    command<on_help>("/unecho/help",
                     "What each counter counts. Parameter: a member, as workers; without: all"),
    command<on_kinds>(
        "/unecho/kinds",
        "Each counter's unit, if it only grows; each reason's fate. Parameter: a member; without: "
        "all"),
};

// Add a sample every step, until telemetry is detached. A step is left out if memory is short.
void sample_until_detached() noexcept {
    Source& from = source();
    std::unique_lock lock(from.mutex);
    while (!from.detached.wait_for(lock, std::chrono::nanoseconds(CounterLog::kStep),
                                   [&] { return from.plan == nullptr; })) {
        try {
            const MemoryReserve reserve;
            from.log.add(everything(from, true), unix_now());
        } catch (const std::exception&) {
            continue;
        }
    }
}

}  // namespace

Result<Telemetry> Telemetry::attach(const Plan& plan, std::function<StatsReport()> report,
                                    ReloadCommands reload) {
    Telemetry attached(true);
    {
        Source& to = source();
        const std::lock_guard lock(to.mutex);
        to.plan = &plan;
        to.report = std::move(report);
        to.reload = std::move(reload);
        to.of = nullptr;
        to.last = nullptr;
        to.log = {};
        to.acknowledged.clear();
    }
    for (const Command& command : kCommands) {
        if (rte_telemetry_register_cmd(command.name, command.callback, command.help) != 0) {
            return fail(Errc::kNoMemory,
                        std::string("telemetry command ") + command.name + " not registered");
        }
    }
    try {
        source().sampler = std::thread(sample_until_detached);
    } catch (const std::system_error& error) {
        return fail(Errc::kNoMemory, std::string("no thread for telemetry: ") + error.what());
    }
    return attached;
}

std::string answer_read_command(std::string_view asked) {
    const std::string_view name = asked.substr(0, asked.find(','));
    const std::string_view parameter =
        name.size() == asked.size() ? std::string_view() : asked.substr(name.size() + 1);
    const auto* const found = std::find_if(
        std::begin(kCommands), std::end(kCommands),
        [&](const Command& one) { return one.name == name && one.access == Access::kRead; });
    const std::string key = escaped_ascii(truncated(name, kTextRoom));
    const ordered_json out = {
        {key, found == std::end(kCommands) ? ordered_json() : found->select(parameter)}};
    return out.dump();
}

// DPDK cannot unregister the commands, but they have no source any more.
Telemetry::~Telemetry() {
    if (owner_) {
        Source& from = source();
        std::unique_lock lock(from.mutex);
        from.plan = nullptr;
        from.report = nullptr;
        from.reload = {};
        from.reloaded.wait(lock, [&] { return from.reloading == 0; });
        from.detached.notify_all();
        lock.unlock();
        if (from.sampler.joinable()) {
            from.sampler.join();
        }
    }
}

Telemetry::Telemetry(Telemetry&& other) noexcept : owner_(std::exchange(other.owner_, false)) {}

}  // namespace unecho::appliance
