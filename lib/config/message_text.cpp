// SPDX-License-Identifier: BSD-3-Clause
#include "config/message_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/core.h>

#include "base/utf8.h"
#include "config/schema.h"

namespace unecho::config {
namespace {

constexpr std::size_t kQuoteMost = 80;
constexpr std::size_t kListMost = 32;

// Return the optimal string alignment distance: changed, added, removed and swapped characters.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[a.size()][b.size()];
}

}  // namespace

std::string in_quotes(std::string_view text) {
    return "\"" + truncated(escaped(text), kQuoteMost) + "\"";
}

std::string list_in_quotes(std::span<const std::string_view> names) {
    std::string out;
    for (const std::string_view name : names.subspan(0, std::min(names.size(), kListMost))) {
        out.append(out.empty() ? "" : ", ").append(in_quotes(name));
    }
    return names.size() > kListMost ? out.append(", ...") : out;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
    std::string_view best;
    std::size_t best_distance = kNameLength.hi;
    if (word.size() > kNameLength.hi) {
        return best;
    }
    for (const std::string_view name : names) {
        if (name.size() > kNameLength.hi) {
            continue;
        }
        const std::size_t d = distance(word, name);
        if (d < best_distance && 2 * d <= std::max(word.size(), name.size())) {
            best = name;
            best_distance = d;
        }
    }
    return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> names) {
    const std::string_view best = nearest(word, names);
    return best.empty() ? std::string{} : fmt::format("; did you mean {}?", in_quotes(best));
}

std::string number_text(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
}

std::string duration_text(Nanoseconds ns) {
    if (ns != 0 && ns % kHour == 0) {
        return std::to_string(ns / kHour) + "h";
    }
    if (ns != 0 && ns % kMinute == 0) {
        return std::to_string(ns / kMinute) + "min";
    }
    return ns == 0 ? "0s" : duration_literal(ns);
}

}  // namespace unecho::config
