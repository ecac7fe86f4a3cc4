// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/http_api.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/os/clock.h"
#include "base/utf8.h"
#include "monitor/page/page.h"
#include "monitor/server/metrics.h"

namespace unecho::monitor {
namespace {

constexpr Nanoseconds kCacheTime = 200 * kMillisecond;
constexpr std::size_t kMaxRecent = 16;
constexpr const char* kJsonType = "application/json";
constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kTextType = "text/plain; charset=utf-8";

Body body_of(std::string text) {
    return std::make_shared<const std::string>(std::move(text));
}

HttpResponse refused(unsigned status, const std::string& why) {
    return {status, kTextType, body_of(why + "\n")};
}

std::optional<std::size_t> seconds_of(const HttpRequest& request) {
    const auto given = request.query.find("seconds");
    if (given == request.query.end()) {
        return History::kSamples;
    }
    std::size_t value = 0;
    const char* const end = given->second.data() + given->second.size();
    const auto [stop, problem] = std::from_chars(given->second.data(), end, value);
    const bool allowed =
        problem == std::errc{} && stop == end && value >= 1 && value <= History::kSamples;
    return allowed ? std::optional(value) : std::nullopt;
}

// Return why the appliance is not ready; "" if it is.
std::string not_ready_reason(const ApplianceStatus& appliance) {
    if (appliance.state != ApplianceState::kRunning) {
        return fmt::format("is {}: it {}", name_of(appliance.state), appliance.problem);
    }
    for (const Json& worker : member(appliance.seen, "workers")) {
        if (!bool_or(worker, "answering", true)) {
            return "has a worker that does not answer, on lcore " +
                   dump_json(member(worker, "lcore"));
        }
    }
    return "";
}

}  // namespace

const HttpApi::Path HttpApi::kPaths[] = {
    {"/", &HttpApi::page, "the page, for a browser"},
    {"/runbook", &HttpApi::runbook, "what each warning means, and what to do; for a browser"},
    {"/api/v1", &HttpApi::index, "this list"},
    {"/metrics", &HttpApi::metrics, "for Prometheus"},
    {"/healthz", &HttpApi::health, "200: the server runs"},
    {"/readyz", &HttpApi::readiness, "200: all appliances answer and their workers move; else 503"},
    {"/api/v1/state", &HttpApi::state, "all appliances, as JSON"},
    {"/api/v1/history", &HttpApi::history,
     "the last ?seconds=3600 of the appliance ?name=NAME, as JSON"},
    {"/api/v1/stream", &HttpApi::stream, "the state once a second, as server-sent events"},
    {"/api/v1/forget", &HttpApi::forget, "forgets the appliance ?name=NAME, which is gone", "POST"},
};

HttpApi::HttpApi(HostMonitor& watcher, const ListenAddress& address)
    : monitor_(watcher),
      url_(address.url()),
      changes_(address.loopback || address.is_unix()),
      started_(unix_now()) {}

template <typename Make>
Body HttpApi::cached(const std::string& key, Make&& make) {
    const Nanoseconds now = steady_now();
    std::erase_if(cache_, [&](const auto& item) { return item.second.made + kCacheTime < now; });
    if (const auto found = cache_.find(key); found != cache_.end()) {
        return found->second.body;
    }
    Body body = body_of(make());
    if (cache_.size() < kMaxRecent) {
        cache_[key] = {body, now};
    }
    return body;
}

HttpResponse HttpApi::answer(const HttpRequest& request) {
    for (const Path& path : kPaths) {
        if (request.path != path.path) {
            continue;
        }
        if (request.method != path.method) {
            HttpResponse wrong = refused(405, fmt::format("only {} is allowed", path.method));
            wrong.allowed = path.method;
            return wrong;
        }
        return (this->*path.answer)(request);
    }
    return refused(404, "nothing is there; /api/v1 lists what is");
}

HttpResponse HttpApi::page(const HttpRequest&) {
    static const Body html = body_of(std::string(page_html()));
    return {200, "text/html; charset=utf-8", html, false, page_policy()};
}

HttpResponse HttpApi::runbook(const HttpRequest&) {
    static const Body html = body_of(std::string(runbook_html()));
    return {200, "text/html; charset=utf-8", html, false, runbook_policy()};
}

HttpResponse HttpApi::index(const HttpRequest&) {
    std::string text = "unecho " UNECHO_VERSION ", serve\n\n";
    for (const Path& path : kPaths) {
        text.append(path.method == std::string_view("GET") ? "" : "POST ");
        text.append(path.path).append("  ").append(path.help).append("\n");
    }
    return {200, kTextType, body_of(text)};
}

HttpResponse HttpApi::metrics(const HttpRequest&) {
    return {200, kMetricsType,
            cached("metrics", [&] { return metrics_text(monitor_.appliances()); })};
}

HttpResponse HttpApi::health(const HttpRequest&) {
    return {200, kTextType, body_of("ok\n")};
}

HttpResponse HttpApi::readiness(const HttpRequest&) {
    const ApplianceStatuses appliances = monitor_.appliances();
    if (appliances.empty()) {
        return refused(503, "no appliance is running");
    }
    std::string problems;
    for (const auto& appliance : appliances) {
        if (const std::string why = not_ready_reason(*appliance); !why.empty()) {
            problems += fmt::format("{}{} {}", problems.empty() ? "" : "\n", appliance->name, why);
        }
    }
    return problems.empty() ? HttpResponse{200, kTextType, body_of("ready\n")}
                            : refused(503, problems);
}

Json HttpApi::state_json() const {
    const Nanoseconds now = unix_now();
    Json out = {{"server",
                 {{"version", UNECHO_VERSION},
                  {"url", url_},
                  {"started_ns", started_},
                  {"now_ns", now},
                  {"interval_ms", monitor_.spec().interval / kMillisecond},
                  {"history_seconds", History::kSamples},
                  {"changes", changes_},
                  {"forget_after_ns", monitor_.spec().forget_after},
                  {"problems", monitor_.problems()}}},
                {"appliances", Json::array()}};
    for (const auto& appliance : monitor_.appliances()) {
        Json one = to_json(*appliance);
        one["expected"] = appliance->expected;
        out["appliances"].push_back(std::move(one));
    }
    return out;
}

HttpResponse HttpApi::state(const HttpRequest&) {
    return {200, kJsonType, cached("state", [&] { return dump_json(state_json()) + "\n"; })};
}

HttpResponse HttpApi::history(const HttpRequest& request) {
    const auto seconds = seconds_of(request);
    if (!seconds) {
        return refused(
            400, "seconds: allowed: a whole number from 1 to " + std::to_string(History::kSamples));
    }
    const auto given = request.query.find("name");
    const std::string name = given == request.query.end() ? "" : given->second;
    const ApplianceStatuses known = monitor_.appliances();
    const bool found =
        name.empty() ? known.size() == 1
                     : std::any_of(known.begin(), known.end(),
                                   [&](const auto& appliance) { return appliance->name == name; });
    if (!found) {
        return refused(404, name.empty() ? "name: one of several appliances, or of none, is meant"
                                         : "name: no such appliance");
    }
    return {200, kJsonType, cached(fmt::format("history {} {}", *seconds, name), [&] {
                return monitor_.history(name, *seconds).value_or("{}") + "\n";
            })};
}

HttpResponse HttpApi::stream(const HttpRequest&) {
    HttpResponse out;
    out.stream = true;
    return out;
}

HttpResponse HttpApi::forget(const HttpRequest& request) {
    if (!changes_) {
        return refused(403, "changes are accepted on a loopback address and on a Unix socket only");
    }
    if (!request.deliberate) {
        return refused(403, std::string("a change needs the header ") + kChangeHeader);
    }
    const auto given = request.query.find("name");
    if (given == request.query.end()) {
        return refused(400, "name: is missing; it says which appliance to forget");
    }
    if (const Status done = monitor_.forget(given->second); !done) {
        return refused(done.error().code == Errc::kNotFound ? 404 : 409, done.error().context);
    }
    cache_.clear();
    return {200, kTextType, body_of(escaped(given->second) + " is forgotten\n")};
}

Body HttpApi::event() {
    return cached("event",
                  [&] { return "event: state\ndata: " + dump_json(state_json()) + "\n\n"; });
}

}  // namespace unecho::monitor
