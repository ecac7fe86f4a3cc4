// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>

namespace unecho::analyze {

std::vector<std::size_t> order_by_echoes(const std::vector<InterfaceInfo>& interfaces) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < interfaces.size(); ++i) {
        if (interfaces[i].total.packets != 0) {
            out.push_back(i);
        }
    }
    const auto weight = [&](std::size_t i) {
        return std::tuple(interfaces[i].copied.packets, interfaces[i].echoes.packets,
                          interfaces[i].total.packets);
    };
    std::stable_sort(out.begin(), out.end(),
                     [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
    return out;
}

std::size_t count_hidden_interfaces(const Report& report, const std::vector<std::size_t>& order,
                                    std::size_t shown) {
    shown = std::min(shown, order.size());
    const std::size_t last = report.interfaces.size() - 1;
    const bool lumped = std::find(order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                                  last) != order.end();
    return order.size() - shown + (lumped ? report.other_interfaces : 0);
}

bool has_rate(const Report& report) noexcept {
    constexpr std::uint64_t kMinPackets = 100;
    return report.total.packets >= kMinPackets && report.duration >= kMillisecond &&
           report.total.packets >= report.duration / kSecond;
}

std::vector<Note> merge_equal_notes(const std::vector<Note>& notes) {
    std::vector<Note> out;
    std::map<std::string, std::size_t> places;
    std::vector<std::size_t> others;  // number of other inputs, by index in `out`
    for (const Note& note : notes) {
        const auto [at, fresh] = places.emplace(note.text, out.size());
        if (fresh) {
            out.push_back(note);
            others.push_back(0);
            continue;
        }
        Note& same = out[at->second];
        same.times += note.times;
        others[at->second] += note.file == same.file ? 0 : 1;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (others[i] != 0) {
            out[i].text += fmt::format("; {} {}", format_count(others[i]),
                                       others[i] == 1 ? "other input too" : "other inputs too");
        }
    }
    return out;
}

Count copies_cut_short(const Report& report) noexcept {
    Count most;
    for (const KeyBytes& row : report.key_bytes) {
        most = most.packets < row.cut.packets ? row.cut : most;
    }
    return most;
}

bool any_key_bytes(const Report& report) noexcept {
    return std::any_of(report.key_bytes.begin(), report.key_bytes.end(), [](const KeyBytes& row) {
        return row.cut.packets + row.others.packets != 0;
    });
}

}  // namespace unecho::analyze
