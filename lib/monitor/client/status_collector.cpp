// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/status_collector.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/join_text.h"
#include "base/utf8.h"
#include "monitor/client/discovery.h"

namespace unecho::monitor {

StatusCollector::StatusCollector(std::vector<std::string> folders, std::string name,
                                 const std::atomic<bool>& stop, Nanoseconds span)
    : folders_(std::move(folders)), name_(escaped(name)), stop_(stop), span_(span) {}

void StatusCollector::find() {
    TelemetrySockets places = find_telemetry_sockets(folders_);
    problems_ = std::move(places.problems);
    others_.clear();
    for (const TelemetrySocket& place : places.found) {
        if (!name_.empty() && place.name != name_) {
            others_ += (others_.empty() ? "" : ", ") + place.name;
        } else if (std::none_of(pollers_.begin(), pollers_.end(),
                                [&](const auto& watch) { return watch->name() == place.name; })) {
            pollers_.push_back(std::make_unique<AppliancePoller>(place, stop_));
            pollers_.back()->set_span(span_);
        }
    }
    std::sort(pollers_.begin(), pollers_.end(),
              [](const auto& a, const auto& b) { return a->name() < b->name(); });
}

void StatusCollector::look() {
    find();
    {
        std::vector<std::jthread> lookers;  // jthread: joined even if a later thread cannot start
        lookers.reserve(pollers_.size());
        for (const auto& watch : pollers_) {
            lookers.emplace_back([&watch] { watch->look(); });
        }
    }
    std::vector<One> now;
    for (const auto& watch : pollers_) {
        const auto seen = watch->seen();
        if (!seen) {
            continue;
        }
        One one{seen, {Json(), seen->seen, 0}};
        const auto before = std::find_if(all_.begin(), all_.end(), [&](const One& each) {
            return each.appliance->name == seen->name;
        });
        if (before != all_.end() && before->appliance->starts == seen->starts) {
            const bool fresh = seen->answered > before->appliance->answered;
            one.snapshots.before = fresh ? before->snapshots.after : before->snapshots.before;
            one.snapshots.between =
                fresh ? seen->answered - before->appliance->answered : before->snapshots.between;
        }
        now.push_back(std::move(one));
    }
    all_ = std::move(now);
}

Status StatusCollector::found() const {
    if (!all_.empty()) {
        return {};
    }
    if (!problems_.empty()) {
        return fail(Errc::kPermission, problems_.front());
    }
    if (!name_.empty() && !others_.empty()) {
        return fail(Errc::kNotFound,
                    fmt::format("no appliance is called \"{}\"; there are: {}", name_, others_));
    }
    return fail(Errc::kNotFound, "no appliance is running; looked in " +
                                     join_text(folders_, " and ", escaped) +
                                     " (RUNTIME_DIRECTORY names another place)");
}

std::set<std::string> StatusCollector::incidents() const {
    std::set<std::string> out;
    for (const One& one : all_) {
        if (one.appliance->state == ApplianceState::kRunning) {
            for (const Finding& finding : one.appliance->health.findings) {
                out.emplace(finding.rule);
            }
        }
    }
    return out;
}

Result<std::vector<Finding>> StatusCollector::acknowledge(const std::string& rule) {
    std::vector<Finding> out;
    for (const auto& poller : pollers_) {
        const auto seen = poller->seen();
        if (!seen || seen->state != ApplianceState::kRunning) {
            continue;
        }
        for (const Finding& finding : seen->health.findings) {
            if (finding.rule != rule) {
                continue;
            }
            if (const Status told = poller->acknowledge(finding); !told) {
                return fail(told.error().code, seen->name + ": " + told.error().context);
            }
            out.push_back(finding);
        }
    }
    if (out.empty()) {
        const std::set<std::string> others = incidents();
        return fail(Errc::kNotFound, "nothing to acknowledge: no incident of this name; " +
                                         (others.empty() ? "nothing is wrong now"
                                                         : "there are: " + join_text(others)));
    }
    return out;
}

}  // namespace unecho::monitor
