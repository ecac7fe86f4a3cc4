// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/appliance_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/join_text.h"

namespace unecho::monitor {
namespace {

// DPDK's telemetry has only whole numbers, text, lists of text, and tables of these.
constexpr std::array<std::string_view, 5> kTruths{"link_up", "answering", "enabled", "stated",
                                                  "truncated"};
constexpr std::array<std::string_view, 9> kFractions{
    "predicted_false_drop", "rate", "low", "high", "bound", "share", "hops", "lost_here",
    "max_path_loss"};
constexpr std::array<std::string_view, 8> kLists{"ages",   "answers", "crossings", "advice",
                                                 "delays", "events",  "stalls",    "from"};

bool is_one_of(const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Return true for a table by position: {"0": a, "1": b}.
bool by_position(const Json& object) {
    std::size_t next = 0;
    for (const auto& item : object.items()) {
        if (item.key() != std::to_string(next++)) {
            return false;
        }
    }
    return next != 0;
}

// Return the items of a list or of a table by position. Callers expect tables, so any other item
// becomes an empty one, and positions stay.
Json items_of(const Json& answer) {
    Json out = Json::array();
    const auto add = [&out](const Json& item) {
        out.push_back(item.is_object() ? item : Json::object());
    };
    if (answer.is_array()) {
        std::for_each(answer.begin(), answer.end(), add);
        return out;
    }
    for (std::size_t i = 0; answer.is_object() && answer.contains(std::to_string(i)); ++i) {
        add(answer[std::to_string(i)]);
    }
    return out;
}

Json fraction_of(const Json& value) {
    if (!value.is_string()) {
        return value;
    }
    const auto& text = value.get_ref<const std::string&>();
    double parsed = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, parsed);
    return problem == std::errc{} && stop == end ? Json(parsed) : value;
}

// A text too long for DPDK comes in pieces.
Json whole_texts(const Json& answer) {
    Json out = Json::array();
    for (const auto& item : answer.items()) {
        const Json& pieces = member(item.value(), "pieces");
        out.push_back(pieces.is_array() ? Json(joined(pieces)) : item.value());
    }
    return out;
}

// Here "answering" is a number of masters, not a boolean.
Json root_as_meant(Json root) {
    if (const Json applies = member(root, "applies"); applies.is_number_unsigned()) {
        root["applies"] = applies != 0;
    }
    return root;
}

Json member_as_meant(std::string_view name, const Json& value) {
    if (name == "root" && value.is_object()) {
        return root_as_meant(value);
    }
    if (is_one_of(kTruths, name) && value.is_number_unsigned()) {
        return value != 0;
    }
    if (is_one_of(kFractions, name)) {
        return fraction_of(value);
    }
    if (name == "advice" && value.is_structured()) {
        return whole_texts(value);
    }
    if (is_one_of(kLists, name) && value.is_object() && value.empty()) {
        return Json::array();
    }
    return normalise_telemetry(value);
}

// An event text too long for DPDK also comes in pieces; join them.
Json whole_event(Json event) {
    const Json pieces = member(event, "pieces");
    if (pieces.is_array()) {
        event["text"] = joined(pieces);
        event.erase("pieces");
    }
    return event;
}

class TelemetryQuery {
  public:
    explicit TelemetryQuery(TelemetryClient& client) : client_(client) {}

    // Query and normalise; null if the command is unknown.
    Result<Json> operator()(const std::string& command) {
        auto answer = client_.query(command);
        return answer ? Result<Json>(normalise_telemetry(*answer)) : answer;
    }

    // Fetch a whole list: at once, or entry by entry if it does not fit into one reply.
    Result<Json> list(const std::string& command) {
        auto all = (*this)(command);
        if (!all || !bool_or(*all, "truncated", false)) {
            return all ? Result<Json>(items_of(*all)) : all;
        }
        Json out = Json::array();
        for (std::size_t i = 0; i < kMost; ++i) {
            auto one = (*this)(command + "," + std::to_string(i));
            UNECHO_TRY(one);
            if (!one->is_object()) {
                break;
            }
            out.push_back(std::move(*one));
        }
        return out;
    }

    // Add the events after the known ones, and keep the newest kEvents.
    Result<Json> events(Json known) {
        if (!known.is_array()) {
            known = Json::array();
        }
        for (std::size_t turn = 0; turn < kEvents; ++turn) {
            const std::uint64_t last = known.empty() ? 0 : unsigned_or(known.back(), "number");
            auto answer = (*this)("/unecho/events," + std::to_string(last));
            UNECHO_TRY(answer);
            const Json fresh = items_of(*answer);
            for (const Json& event : fresh) {
                known.push_back(whole_event(event));
            }
            if (fresh.empty() || !bool_or(*answer, "truncated", false)) {
                break;
            }
        }
        while (known.size() > kEvents) {
            known.erase(known.begin());
        }
        return known;
    }

  private:
    static constexpr std::size_t kMost = 256;  // entries of one list
    static constexpr std::size_t kEvents = 64;
    TelemetryClient& client_;
};

tl::unexpected<Error> no_unecho() {
    return fail(Errc::kUnsupported, "is no unecho, or does not run yet");
}

// Such as "tap-a+tap-b>tool".
std::string route_name(const Json& route) {
    const auto name = [](const Json& port) {
        return port.is_string() ? port.get<std::string>() : "";
    };
    return join_text(member(route, "from"), "+", name) + ">" + string_or(route, "to");
}

void name_routes(Json& routes) {
    for (Json& route : routes) {
        if (route.is_object() && string_or(route, "name").empty()) {
            route["name"] = route_name(route);
        }
    }
}

Json audits_of(const Json& filters) {
    Json out = Json::array();
    for (const Json& filter : filters) {
        const Json& audit = member(filter, "audit");
        if (audit.is_object()) {
            Json one = {{"filter", string_or(filter, "name")}};
            one.update(audit);
            out.push_back(std::move(one));
        }
    }
    return out;
}

// Telemetry reports audits apart from filters.
Status add_audits(TelemetryQuery& query, Json& filters) {
    for (std::size_t i = 0; i < filters.size(); ++i) {
        auto audit = query("/unecho/audit," + std::to_string(i));
        UNECHO_TRY(audit);
        if (!audit->is_object() || audit->empty()) {
            break;
        }
        filters[i]["audit"] = std::move(*audit);
    }
    return {};
}

// Fetch the stalls of workers that stalled since `before`, or are not in it.
Status add_stalls(TelemetryQuery& query, const Json& before, Json& workers) {
    for (std::size_t i = 0; i < workers.size(); ++i) {
        const std::uint64_t stalls = unsigned_or(workers[i], "stalls");
        const Json& was = before.is_array() && i < before.size() ? before[i] : member(Json(), "");
        if (stalls == 0) {
            continue;
        }
        if (was.is_object() && unsigned_or(was, "stalls") == stalls && was.contains("stall_log")) {
            workers[i]["stall_log"] = was["stall_log"];
            continue;
        }
        auto answer = query("/unecho/stalls," + std::to_string(i));
        UNECHO_TRY(answer);
        workers[i]["stall_log"] = items_of(*answer);
    }
    return {};
}

}  // namespace

Json normalise_telemetry(const Json& answer) {
    if (!answer.is_object()) {
        return answer;
    }
    if (by_position(answer)) {
        Json out = Json::array();
        for (const auto& item : answer.items()) {
            out.push_back(normalise_telemetry(item.value()));
        }
        return out;
    }
    Json out = Json::object();
    for (const auto& item : answer.items()) {
        out[item.key()] = member_as_meant(item.key(), item.value());
    }
    return out;
}

namespace {

// Fetch a table of blocks: at once, or block by block if it does not fit into one reply.
Result<Json> blocks(TelemetryClient& client, const std::string& command) {
    auto all = client.query(command);
    if (!all || !all->contains("truncated")) {
        return all;
    }
    all->erase("truncated");
    for (const char* block :
         {"reasons", "ports", "routes", "taps", "workers", "filters", "audit", "paths"}) {
        auto one = client.query(command + "," + block);
        UNECHO_TRY(one);
        if (one->is_object()) {
            (*all)[block] = std::move(*one);
        }
    }
    return all;
}

}  // namespace

Result<CounterDescriptions> query_descriptions(TelemetryClient& client) {
    auto help = blocks(client, "/unecho/help");
    UNECHO_TRY(help);
    if (!help->is_object()) {
        return no_unecho();
    }
    auto kinds = blocks(client, "/unecho/kinds");
    UNECHO_TRY(kinds);
    return CounterDescriptions{std::move(*help), std::move(*kinds)};
}

namespace {

// Return {"info", "counters", "reasons"}.
Result<Json> totals(TelemetryQuery& query) {
    auto info = query("/unecho/info");
    UNECHO_TRY(info);
    auto counters = query("/unecho/counters");
    UNECHO_TRY(counters);
    if (!info->is_object() || !counters->is_object()) {
        return no_unecho();
    }
    // Use the time of the counters: a reply may come late, and rates refer to this time.
    if (const auto uptime = as_unsigned(member(*counters, "uptime_ns"))) {
        (*info)["uptime_ns"] = *uptime;
    }
    Json out = {{"info", std::move(*info)}, {"counters", Json()}};
    out["reasons"] = member(*counters, "reasons");
    counters->erase("reasons");
    counters->erase("uptime_ns");
    out["counters"] = std::move(*counters);
    return out;
}

}  // namespace

Result<Json> query_appliance(TelemetryClient& client, const Json& before) {
    TelemetryQuery query(client);
    auto out = totals(query);
    UNECHO_TRY(out);
    for (const char* list : {"ports", "routes", "workers", "filters"}) {
        auto answer = query.list(std::string("/unecho/") + list);
        UNECHO_TRY(answer);
        (*out)[list] = std::move(*answer);
    }
    name_routes((*out)["routes"]);
    UNECHO_TRY(add_stalls(query, member(before, "workers"), (*out)["workers"]));
    UNECHO_TRY(add_audits(query, (*out)["filters"]));
    (*out)["audit"] = audits_of((*out)["filters"]);
    // An appliance of an earlier version knows no paths.
    auto paths = query.list("/unecho/paths");
    UNECHO_TRY(paths);
    (*out)["paths"] = std::move(*paths);
    auto events = query.events(member(before, "events"));
    UNECHO_TRY(events);
    (*out)["events"] = std::move(*events);
    auto acknowledged = query.list("/unecho/acknowledged");
    UNECHO_TRY(acknowledged);
    (*out)["acknowledged"] = std::move(*acknowledged);
    return out;
}

Result<Json> query_past(TelemetryClient& client, Nanoseconds ago) {
    TelemetryQuery query(client);
    const std::string seconds = "," + std::to_string(std::min<Nanoseconds>(ago / kSecond, 3600));
    auto totals = query("/unecho/past,totals" + seconds);
    if (!totals || !totals->is_object()) {
        return totals;
    }
    Json out = {{"totals", std::move(*totals)}};
    for (const char* list : {"ports", "routes", "workers", "filters", "paths"}) {
        auto answer = query.list(fmt::format("/unecho/past,{}{}", list, seconds));
        UNECHO_TRY(answer);
        out[list] = std::move(*answer);
    }
    return out;
}

Status acknowledge(TelemetryClient& client, const std::string& rule, const std::string& where) {
    const auto answer = client.query(
        fmt::format("/unecho/acknowledge,{}{}", rule, where.empty() ? "" : "," + where));
    UNECHO_TRY(answer);
    return unsigned_or(*answer, "accepted") == 1
               ? Status{}
               : fail(Errc::kPermission,
                      "only root and the user of unecho run may acknowledge an incident");
}

}  // namespace unecho::monitor
