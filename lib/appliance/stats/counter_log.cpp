// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/stats/counter_log.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace unecho::appliance {
namespace {

using nlohmann::ordered_json;

constexpr const char* kTotals = "totals";

// The log keeps these counters of each list. `reasons` are those of to_json()'s "reasons".
struct Kept {
    const char* list;
    const char* name;  // the member that names an item
    std::vector<const char*> counters;
    std::vector<const char*> reasons;
};

const std::vector<Kept>& kept() {
    static const std::vector<Kept> all{
        {"ports", "name", {"rx_packets", "rx_missed", "rx_no_mbuf"}, {}},
        {"routes",
         "name",
         {"received", "dropped"},
         {"echo", "echo_passed", "echo_diverted", "doubt", "tx_lost"}},
        {"workers", "lcore", {"busy_ns", "idle_ns", "stalls", "gaps"}, {}},
        {"filters",
         "name",
         {"insertions", "shifts", "early_turns", "evicted_early", "misses_explained"},
         {}},
        {"paths", "name", {"arrived", "missing", "timed", "late"}, {}},
    };
    return all;
}

const std::vector<const char*>& echo_reasons() {
    static const std::vector<const char*> all{"echo", "echo_passed", "echo_diverted"};
    return all;
}
// Steps with fewer packets say nothing about a share, nor do fewer steps about what is usual.
constexpr std::uint64_t kLeastPackets = 50;
constexpr std::size_t kLeastSteps = 6;

std::uint64_t value_of(const ordered_json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// A filter's misses with a known reason, of its audit.
std::uint64_t misses_explained(const ordered_json& filter) {
    std::uint64_t sum = 0;
    const ordered_json::json_pointer where("/audit/misses/explained");
    if (filter.contains(where)) {
        for (const auto& [reason, count] : filter[where].items()) {
            sum += count.get<std::uint64_t>();
        }
    }
    return sum;
}

std::string name_of(const ordered_json& item, const char* member) {
    const ordered_json& name = item[member];
    return name.is_string() ? name.get<std::string>() : name.dump();
}

}  // namespace

void CounterLog::add(const ordered_json& report, std::uint64_t unix_ns) {
    Sample sample;
    sample.uptime = value_of(report, "uptime_ns");
    sample.unix_ns = unix_ns;
    Places places;
    const auto keep = [&](const char* list, const std::string& item, const char* counter,
                          std::uint64_t value) {
        places.push_back({list, item, counter});
        sample.values.push_back(value);
    };
    for (const auto& [counter, value] : report["totals"].items()) {
        keep(kTotals, "", counter.c_str(), value.get<std::uint64_t>());
    }
    for (const Kept& one : kept()) {
        for (const ordered_json& item : report[one.list]) {
            const std::string name = name_of(item, one.name);
            for (const char* counter : one.counters) {
                keep(one.list, name, counter,
                     counter == std::string_view("misses_explained") ? misses_explained(item)
                                                                     : value_of(item, counter));
            }
            for (const char* reason : one.reasons) {
                keep(one.list, name, reason, value_of(item["reasons"], reason));
            }
        }
    }
    const bool same = !samples_.empty() && *samples_.back().places == places;
    sample.places =
        same ? samples_.back().places : std::make_shared<const Places>(std::move(places));
    samples_.push_back(std::move(sample));  // first: where memory is short, nothing has changed
    note_growth();
    // Keep one sample that is at least an hour old.
    while (samples_.size() > 1 && samples_.back().uptime - samples_[1].uptime >= kSpan) {
        samples_.pop_front();
    }
    note_busiest(samples_.front(), samples_.back());
}

// Growth is noticed up to a step late, so it began at the sample before.
void CounterLog::note_growth() {
    const Sample& sample = samples_.back();
    const std::uint64_t before =
        samples_[samples_.size() - std::min<std::size_t>(2, samples_.size())].unix_ns;
    std::map<Place, Growth> now;
    for (std::size_t i = 0; i < sample.values.size(); ++i) {
        const Place& place = (*sample.places)[i];
        const auto found = growth_.find(place);
        Growth growth = found == growth_.end() ? Growth{} : found->second;
        const std::uint64_t value = sample.values[i];
        if (value > growth.value || (value < growth.value && value != 0)) {  // it began again at 0
            if (growth.last == 0 || sample.uptime > growth.last + kQuiet) {
                growth.from = before;
            }
            growth.last = std::max<Nanoseconds>(sample.uptime, 1);
        }
        growth.value = value;
        now.emplace(place, growth);
    }
    growth_ = std::move(now);
}

void CounterLog::note_busiest(const Sample& first, const Sample& last) {
    const Nanoseconds span = last.uptime - first.uptime;
    if (span < kSpan || first.places != last.places) {
        return;
    }
    for (std::size_t i = 0; i < last.values.size(); ++i) {
        const Place& place = (*last.places)[i];
        // A filter that a reload made anew counts from 0: wait until it is an hour old.
        const auto begins_again = [&](const Sample& one, const Sample& next) {
            return one.places != next.places || next.values[i] < one.values[i];
        };
        if (place.counter != "insertions" ||
            std::adjacent_find(samples_.begin(), samples_.end(), begins_again) != samples_.end()) {
            continue;
        }
        const double rate = static_cast<double>(last.values[i] - first.values[i]) * kSecond /
                            static_cast<double>(span);
        BusiestHour& busiest = busiest_[place.item];
        if (rate >= busiest.rate) {
            busiest = {rate, first.unix_ns};
        }
    }
}

// Return null if nothing is known from so long ago: then the process was about to start.
const CounterLog::Sample* CounterLog::at(Nanoseconds ago) const {
    const Sample* out = nullptr;
    for (const Sample& sample : samples_) {
        if (sample.uptime + ago > samples_.back().uptime) {
            break;
        }
        out = &sample;
    }
    return out;
}

// The median, because a share of the whole hour would still tell of an incident long after its end.
std::optional<std::uint64_t> CounterLog::usual_echo_ppm(const std::string& route,
                                                        const Sample& until) const {
    std::vector<std::uint64_t> shares;
    const Places* known = nullptr;
    std::vector<std::size_t> echoes;
    std::size_t received = 0;  // its place, or the number of places
    for (std::size_t i = 1; i < samples_.size() && samples_[i].uptime <= until.uptime; ++i) {
        const Sample& before = samples_[i - 1];
        const Sample& after = samples_[i];
        if (before.places != after.places) {
            continue;
        }
        if (known != after.places.get()) {
            known = after.places.get();
            received = known->size();
            echoes.clear();
            for (std::size_t at = 0; at < known->size(); ++at) {
                const Place& place = (*known)[at];
                if (place.list != "routes" || place.item != route) {
                    continue;
                }
                if (place.counter == "received") {
                    received = at;
                } else if (std::find(echo_reasons().begin(), echo_reasons().end(), place.counter) !=
                           echo_reasons().end()) {
                    echoes.push_back(at);
                }
            }
        }
        const auto grown = [&](std::size_t at) {
            return after.values[at] - std::min(before.values[at], after.values[at]);
        };
        const std::uint64_t all = received < known->size() ? grown(received) : 0;
        if (all < kLeastPackets) {
            continue;
        }
        std::uint64_t copies = 0;
        for (const std::size_t at : echoes) {
            copies += grown(at);
        }
        shares.push_back(std::min(copies, all) * 1'000'000 / all);
    }
    if (shares.size() < kLeastSteps) {
        return std::nullopt;
    }
    const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
    std::nth_element(shares.begin(), middle, shares.end());
    return *middle;
}

ordered_json CounterLog::past(std::string_view list, Nanoseconds ago) const {
    const Sample* const sample = at(ago);
    if (list == kTotals) {
        ordered_json out = {{"uptime_ns", sample == nullptr ? 0 : sample->uptime},
                            {"newest_uptime_ns", samples_.empty() ? 0 : samples_.back().uptime}};
        for (std::size_t i = 0; sample != nullptr && i < sample->values.size(); ++i) {
            const Place& place = (*sample->places)[i];
            if (place.list == kTotals) {
                out[place.counter] = sample->values[i];
            }
        }
        return out;
    }
    if (std::none_of(kept().begin(), kept().end(),
                     [&](const Kept& one) { return one.list == list; })) {
        return {};
    }
    ordered_json items = ordered_json::object();
    const auto item = [&](const std::string& name) -> ordered_json& {
        ordered_json& out = items[name];
        out["name"] = name;
        return out;
    };
    for (std::size_t i = 0; sample != nullptr && i < sample->values.size(); ++i) {
        const Place& place = (*sample->places)[i];
        if (place.list == list) {
            item(place.item)[place.counter] = sample->values[i];
        }
    }
    for (const auto& [place, growth] : growth_) {
        if (place.list == list && growth.last != 0) {
            item(place.item)[place.counter + "_from_ns"] = growth.from;
            item(place.item)[place.counter + "_quiet_ns"] = samples_.back().uptime - growth.last;
        }
    }
    ordered_json out = ordered_json::array();
    for (auto& [name, one] : items.items()) {
        if (list == "routes" && sample != nullptr) {
            if (const auto usual = usual_echo_ppm(name, *sample)) {
                one["usual_echo_ppm"] = *usual;
            }
        }
        out.push_back(one);
    }
    return out;
}

BusiestHour CounterLog::busiest_hour(const std::string& filter) const {
    const auto found = busiest_.find(filter);
    return found == busiest_.end() ? BusiestHour{} : found->second;
}

}  // namespace unecho::appliance
