// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/history.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "monitor/server/prometheus_text.h"

namespace unecho::monitor {
namespace {

constexpr std::size_t kMaxColumns = 2'000;  // about 50 MB; 32 ports, routes and filters have 700
// Columns of each route, beside its counters.
constexpr const char* kRoutes = "routes";
constexpr const char* kReceived = "received";
constexpr const char* kEchoes = "echoes";
constexpr const char* kEchoShare = "echo_share";

struct Block {
    const char* list;
    const char* name;  // the member that names an item
    std::vector<std::string_view> counters;
};

const std::vector<Block>& blocks() {
    static const std::vector<Block> all{
        {"ports",
         "name",
         {"rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "rx_missed", "rx_no_mbuf"}},
        {kRoutes, "name", {kReceived, "forwarded", "diverted", "dropped"}},
        {"workers", "lcore", {"rx_packets", "busy_ns", "idle_ns", "stalls"}},
    };
    return all;
}

std::string name_of(const Json& item, const char* member_name) {
    const Json& name = member(item, member_name);
    return name.is_string() ? name.get<std::string>() : dump_json(name);
}

// The reasons of a route's echoes, for every action.
constexpr std::array<std::string_view, 3> kEchoReasons{"echo", "echo_passed", "echo_diverted"};

std::uint64_t echoes_of(const Json& reasons) {
    std::uint64_t sum = 0;
    for (const std::string_view name : kEchoReasons) {
        sum += unsigned_or(reasons, name);
    }
    return sum;
}

// Call visit(path, value) for each recorded counter.
template <typename Visit>
void visit_counters(const Json& seen, const Visit& visit) {
    const auto all_of = [&](const char* block, const Json& table,
                            const std::vector<std::string>& prefix) {
        for (const auto& item : table.items()) {
            if (const auto value = as_unsigned(item.value())) {
                auto path = prefix;
                path.emplace_back(block);
                path.push_back(item.key());
                visit(path, *value);
            }
        }
    };
    all_of("totals", member(seen, "counters"), {});
    all_of("reasons", member(seen, "reasons"), {});
    for (const Block& block : blocks()) {
        for (const Json& item : member(seen, block.list)) {
            for (const std::string_view counter : block.counters) {
                if (const auto value = as_unsigned(member(item, counter))) {
                    visit({block.list, name_of(item, block.name), std::string(counter)}, *value);
                }
            }
        }
    }
    for (const Json& route : member(seen, "routes")) {
        visit({kRoutes, name_of(route, "name"), kEchoes}, echoes_of(member(route, "reasons")));
    }
    for (const Json& audit : member(seen, "audit")) {
        all_of(string_or(audit, "filter").c_str(), member(audit, "counters"), {"audit"});
    }
}

std::string quoted(const std::string& text) {
    return dump_json(Json(text));
}

// Keep three decimals where they matter.
std::string rate_text(double rate) {
    const double unit = rate < 10'000 ? 1000 : 1;
    return number_text(std::round(rate * unit) / unit);
}

std::string share_text(double share) {
    return number_text(std::round(share * 1e6) / 1e6);
}

}  // namespace

void History::Series::append(const std::string& number) {
    text_.append(number).append(",");
    ++size_;
    nulls_ += number == "null" ? 1 : 0;
}

void History::Series::drop_first() {
    const std::size_t end = text_.find(',', begin_);
    nulls_ -= text_.compare(begin_, end - begin_, "null") == 0 ? 1 : 0;
    --size_;
    begin_ = end + 1;
    if (begin_ > text_.size() / 2) {
        text_.erase(0, begin_);
        begin_ = 0;
    }
}

std::string_view History::Series::last(std::size_t samples) const {
    if (size_ == 0 || samples == 0) {
        return "";
    }
    std::size_t from = begin_;
    if (samples < size_) {
        from = text_.size() - 1;
        for (std::size_t i = 0; i < samples; ++i) {
            from = text_.rfind(',', from - 1);
        }
        ++from;
    }
    return std::string_view(text_).substr(from, text_.size() - 1 - from);
}

// Return a column as long as the others, without the sample being made.
History::Column& History::column_of(const Path& path) {
    Column& column = columns_[path];
    while (column.rates.size() + 1 < times_.size()) {
        column.rates.append("null");
    }
    return column;
}

void History::add_echo_shares(const std::map<Path, double>& rates) {
    const auto rate_of = [&](const std::string& route, const char* what) {
        const auto found = rates.find({kRoutes, route, what});
        return found == rates.end() ? 0 : found->second;
    };
    std::vector<std::string> routes;
    for (const auto& [path, column] : columns_) {
        if (column.known && path[0] == kRoutes && path[2] == kReceived) {
            routes.push_back(path[1]);
        }
    }
    for (const std::string& route : routes) {
        Column& column = column_of({kRoutes, route, kEchoShare});
        column.known = true;
        const double received = rate_of(route, kReceived);
        column.rates.append(received > 0 ? share_text(rate_of(route, kEchoes) / received) : "null");
    }
}

// Complete the sample in every column, and drop the oldest beyond an hour.
void History::close_sample() {
    const bool full = times_.size() > kSamples;
    for (auto at = columns_.begin(); at != columns_.end();) {
        Column& column = at->second;
        if (column.rates.size() < times_.size()) {
            column.rates.append("null");
        }
        if (full) {
            column.rates.drop_first();
        }
        at = !column.known && column.rates.is_nothing() ? columns_.erase(at) : std::next(at);
    }
    if (full) {
        times_.drop_first();
    }
}

void History::add(const Json& seen, Nanoseconds time, bool same_process) {
    // Use the appliance's clock if reported: a delayed reply arrives long after its counters were
    // read.
    const std::uint64_t uptime = unsigned_or(member(seen, "info"), "uptime_ns");
    const Nanoseconds passed = uptime > last_uptime_                  ? uptime - last_uptime_
                               : last_seen_ != 0 && time > last_seen_ ? time - last_seen_
                                                                      : 0;
    const double seconds = same_process ? static_cast<double>(passed) / 1e9 : 0;
    last_uptime_ = uptime;
    times_.append(std::to_string(time / kMillisecond));
    std::map<Path, std::uint64_t> now;
    visit_counters(seen, [&](const Path& path, std::uint64_t value) { now[path] = value; });
    std::map<Path, double> rates;
    for (const auto& [path, value] : now) {
        if (columns_.size() >= kMaxColumns && !columns_.contains(path)) {
            continue;
        }
        Column& column = column_of(path);
        std::optional<double> rate;
        if (column.known && seconds > 0 && value >= column.last) {
            rate = static_cast<double>(value - column.last) / seconds;
            rates[path] = *rate;
        }
        column.rates.append(rate ? rate_text(*rate) : "null");
        column.last = value;
    }
    for (auto& [path, column] : columns_) {
        column.known = now.contains(path);
    }
    add_echo_shares(rates);
    last_seen_ = time;
    close_sample();
}

void History::add_gap(Nanoseconds time) {
    times_.append(std::to_string(time / kMillisecond));
    close_sample();
}

std::string History::columns(std::size_t samples) const {
    std::string out;
    const auto list = [&](const Series& series) {
        out.append("[").append(series.last(samples)).append("]");
    };
    out += "\"times_ms\":";
    list(times_);
    for (const char* block : {"totals", "reasons", "ports", "routes", "workers", "audit"}) {
        out.append(",\"").append(block).append("\":{");
        const Path* before = nullptr;
        for (auto at = columns_.lower_bound(Path{block});
             at != columns_.end() && at->first[0] == block; ++at) {
            const Path& path = at->first;
            const bool nested = path.size() == 3;  // of a port, a route and so on
            if (nested && (before == nullptr || (*before)[1] != path[1])) {
                out.append(before == nullptr ? "" : "},").append(quoted(path[1])).append(":{");
            } else {
                out.append(before == nullptr ? "" : ",");
            }
            out.append(quoted(path.back())).append(":");
            list(at->second.rates);
            before = &path;
        }
        out.append(before != nullptr && before->size() == 3 ? "}}" : "}");
    }
    return out;
}

}  // namespace unecho::monitor
