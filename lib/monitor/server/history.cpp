// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/history.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "monitor/server/prometheus_text.h"

namespace unecho::monitor {
namespace {

// Columns of each route, beside its counters.
constexpr const char* kRoutes = "routes";
constexpr const char* kPaths = "paths";
constexpr const char* kReceived = "received";
constexpr const char* kEchoes = "echoes";
constexpr const char* kEchoShare = "echo_share";
// Blocks whose columns have a name, and those whose columns belong to a port, a route and so on.
constexpr std::array<std::string_view, 2> kFlatBlocks{"totals", "reasons"};
constexpr std::array<std::string_view, 5> kNamedBlocks{"ports", kRoutes, "workers", kPaths,
                                                       "audit"};

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
        {kPaths, "name", {"arrived", "missing"}},
    };
    return all;
}

std::string name_of(const Json& item, const char* member_name) {
    const Json& name = member(item, member_name);
    return name.is_string() ? name.get<std::string>() : dump_json(name);
}

// Most pairs of points are no path: of eight points there are 56.
bool is_recorded(const char* list, const Json& item) {
    return list != kPaths || unsigned_or(item, "came") != 0 || unsigned_or(item, "missing") != 0;
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
            if (!is_recorded(block.list, item)) {
                continue;
            }
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

// Keep three decimals of a rate where they matter, and six of a share.
std::string rate_text(const HistoryPath& path, double value) {
    const double unit = path.back() == kEchoShare ? 1e6 : value < 10'000 ? 1e3 : 1;
    return number_text(std::round(value * unit) / unit);
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

void History::add_echo_shares(std::map<Path, double>& rates) const {
    for (const auto& [path, column] : columns_) {
        if (!column.known || path[0] != kRoutes || path[2] != kReceived) {
            continue;
        }
        const auto rate_of = [&, &route = path[1]](const char* what) {
            const auto found = rates.find({kRoutes, route, what});
            return found == rates.end() ? 0 : found->second;
        };
        if (const double received = rate_of(kReceived); received > 0) {
            rates[{kRoutes, path[1], kEchoShare}] = rate_of(kEchoes) / received;
        }
    }
}

// Add a sample to every column, and drop what is older than an hour.
void History::append(const HistorySample& sample) {
    times_.push_back(sample.time);
    for (const auto& [path, rate] : sample.rates) {
        // The shares of add_echo_shares() would make columns beyond what a file may have.
        if (columns_.size() < kMaxColumns || columns_.contains(path)) {
            column_of(path).rates.append(rate_text(path, rate));
        }
    }
    std::size_t old = 0;
    while (times_.size() > kSamples || times_.front() + kSpan < sample.time) {
        times_.pop_front();
        ++old;
    }
    for (auto at = columns_.begin(); at != columns_.end();) {
        Column& column = at->second;
        while (column.rates.size() < times_.size() + old) {
            column.rates.append("null");
        }
        for (std::size_t i = 0; i < old; ++i) {
            column.rates.drop_first();
        }
        at = !column.known && column.rates.is_nothing() ? columns_.erase(at) : std::next(at);
    }
}

HistorySample History::add(const Json& seen, Nanoseconds time, bool same_process) {
    // Use the appliance's clock if reported: a delayed reply arrives long after its counters were
    // read.
    const std::uint64_t uptime = unsigned_or(member(seen, "info"), "uptime_ns");
    const Nanoseconds passed = uptime > last_uptime_                  ? uptime - last_uptime_
                               : last_seen_ != 0 && time > last_seen_ ? time - last_seen_
                                                                      : 0;
    const double seconds = same_process ? static_cast<double>(passed) / 1e9 : 0;
    last_uptime_ = uptime;
    last_seen_ = time;
    std::map<Path, std::uint64_t> now;
    visit_counters(seen, [&](const Path& path, std::uint64_t value) { now[path] = value; });
    HistorySample sample{time, {}};
    for (auto& [path, column] : columns_) {
        column.known = column.known && now.contains(path);
    }
    for (const auto& [path, value] : now) {
        const auto found = columns_.find(path);
        if (found == columns_.end() && columns_.size() >= kMaxColumns) {
            continue;
        }
        Column& column = found == columns_.end() ? columns_[path] : found->second;
        if (column.known && seconds > 0 && value >= column.last) {
            sample.rates[path] = static_cast<double>(value - column.last) / seconds;
        }
        column.last = value;
        column.known = true;
    }
    add_echo_shares(sample.rates);
    append(sample);
    return sample;
}

HistorySample History::add_gap(Nanoseconds time) {
    HistorySample sample{time, {}};
    append(sample);
    return sample;
}

bool History::is_path(const HistoryPath& path) {
    if (path.empty()) {
        return false;
    }
    const auto is_one_of = [&](const auto& names) {
        return std::find(names.begin(), names.end(), path[0]) != names.end();
    };
    return (path.size() == 2 && is_one_of(kFlatBlocks)) ||
           (path.size() == 3 && is_one_of(kNamedBlocks));
}

void History::restore(const HistoryColumns& columns) {
    times_.assign(columns.times.begin(), columns.times.end());
    for (const auto& [path, rates] : columns.rates) {
        Series& series = columns_[path].rates;
        for (const float rate : rates) {
            series.append(std::isfinite(rate) ? rate_text(path, rate) : "null");
        }
    }
}

HistoryColumns History::all() const {
    HistoryColumns out;
    out.times.assign(times_.begin(), times_.end());
    for (const auto& [path, column] : columns_) {
        std::vector<float>& rates = out.rates[path];
        rates.reserve(times_.size());
        const std::string_view text = column.rates.last(times_.size());
        for (const char* at = text.data(); rates.size() < column.rates.size();) {
            float rate = std::numeric_limits<float>::quiet_NaN();
            const char* const end = std::find(at, text.data() + text.size(), ',');
            std::from_chars(at, end, rate);  // "null" leaves it unknown
            rates.push_back(rate);
            at = end + 1;
        }
    }
    return out;
}

std::string History::columns(std::size_t seconds) const {
    // A sample may come half a second late.
    const Nanoseconds span = seconds * kSecond + kSecond / 2;
    const Nanoseconds newest = times_.empty() ? 0 : times_.back();
    const auto first = std::find_if(times_.begin(), times_.end(),
                                    [&](Nanoseconds time) { return time + span > newest; });
    const auto samples = std::min(static_cast<std::size_t>(times_.end() - first), seconds);
    std::string out = "\"times_ms\":[";
    for (std::size_t i = times_.size() - samples; i < times_.size(); ++i) {
        out += std::to_string(times_[i] / kMillisecond) + (i + 1 < times_.size() ? "," : "");
    }
    out += "]";
    const auto add_block = [&](std::string_view block) {
        out.append(",\"").append(block).append("\":{");
        const Path* before = nullptr;
        for (auto at = columns_.lower_bound(Path{std::string(block)});
             at != columns_.end() && at->first[0] == block; ++at) {
            const Path& path = at->first;
            const bool nested = path.size() == 3;  // of a port, a route and so on
            if (nested && (before == nullptr || (*before)[1] != path[1])) {
                out.append(before == nullptr ? "" : "},").append(quoted(path[1])).append(":{");
            } else {
                out.append(before == nullptr ? "" : ",");
            }
            out.append(quoted(path.back())).append(":[");
            out.append(at->second.rates.last(samples)).append("]");
            before = &path;
        }
        out.append(before != nullptr && before->size() == 3 ? "}}" : "}");
    };
    std::for_each(kFlatBlocks.begin(), kFlatBlocks.end(), add_block);
    std::for_each(kNamedBlocks.begin(), kNamedBlocks.end(), add_block);
    return out;
}

}  // namespace unecho::monitor
