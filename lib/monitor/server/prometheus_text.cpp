// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/prometheus_text.h"

#include <array>
#include <charconv>

#include <fmt/core.h>

#include "base/utf8.h"

namespace unecho::monitor {
namespace {

// HELP takes quotation marks as they are; a label's value has them escaped.
std::string escaped_text(std::string_view text, bool quoted) {
    std::string out;
    for (const char c : valid_utf8(text)) {
        if (c == '\\' || (quoted && c == '"')) {
            out += '\\';
        }
        c == '\n' ? out += "\\n" : out += c;
    }
    return out;
}

std::string labels_text(const Labels& labels) {
    std::string out;
    for (const auto& [name, value] : labels) {
        out += (out.empty() ? "{" : ",") + name + "=\"" + escaped_text(value, true) + "\"";
    }
    return out.empty() ? out : out + "}";
}

// Names come from the appliance. One with other characters could end the line and inject another.
bool is_name(std::string_view text) {
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";
    return text.find_first_not_of(kAllowed) == std::string_view::npos;
}

constexpr std::array<std::string_view, 3> kTypes{"counter", "gauge", "histogram"};

}  // namespace

std::string& PrometheusText::samples_of(const std::string& family, Type type,
                                        std::string_view help) {
    const auto [at, fresh] = by_name_.try_emplace(family, families_.size());
    if (fresh) {
        std::string head =
            fmt::format("# HELP {} {}\n# TYPE {} ", family, escaped_text(help, false), family);
        head.append(kTypes.at(static_cast<std::size_t>(type))).append("\n");
        families_.push_back({std::move(head), ""});
    }
    return families_[at->second].samples;
}

void PrometheusText::add(const std::string& family, Type type, std::string_view help,
                         const Labels& labels, std::string_view value) {
    if (!is_name(family)) {
        return;
    }
    samples_of(family, type, help)
        .append(family)
        .append(labels_text(labels))
        .append(" ")
        .append(value)
        .append("\n");
}

void PrometheusText::add_histogram(const std::string& family, std::string_view help,
                                   const Labels& labels, const Buckets& buckets,
                                   std::string_view sum) {
    if (buckets.empty()) {
        return;
    }
    std::string& samples = samples_of(family, Type::kHistogram, help);
    for (const auto& [bound, count] : buckets) {
        Labels with_bound = labels;
        with_bound.emplace_back("le", bound);
        samples += fmt::format("{}_bucket{} {}\n", family, labels_text(with_bound), count);
    }
    if (!sum.empty()) {
        samples += fmt::format("{}_sum{} {}\n", family, labels_text(labels), sum);
    }
    samples += fmt::format("{}_count{} {}\n", family, labels_text(labels), buckets.back().second);
}

std::string PrometheusText::text() const {
    std::string out;
    for (const Family& family : families_) {
        out += family.head + family.samples;
    }
    return out;
}

std::string seconds_text(std::uint64_t nanoseconds) {
    constexpr std::uint64_t kBillion = 1'000'000'000;
    std::string out = std::to_string(nanoseconds / kBillion);
    if (const std::uint64_t rest = nanoseconds % kBillion; rest != 0) {
        const std::string digits = std::to_string(kBillion + rest).substr(1);
        out += "." + digits.substr(0, digits.find_last_not_of('0') + 1);
    }
    return out;
}

std::string number_text(double value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

}  // namespace unecho::monitor
