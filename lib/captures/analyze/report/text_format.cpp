// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/text_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "config/schema.h"

namespace unecho::analyze {

std::string_view text_of(engines::Engine engine) {
    return engines::info_of(engine).name;
}

std::string_view text_of(engines::Policy policy) {
    return engines::kPolicyNames.at(static_cast<std::size_t>(policy));
}

std::string_view text_of(packet::NonIp non_ip) {
    return config::kNonIpNames.at(static_cast<std::size_t>(non_ip));
}

std::string_view text_of(packet::Repeats repeats) {
    return packet::kRepeatsNames.at(static_cast<std::size_t>(repeats));
}
std::string_view text_of(packet::Tags tags) {
    return packet::kTagsNames.at(static_cast<std::size_t>(tags));
}

std::string_view text_of(packet::Point point) {
    return packet::kPointNames.at(static_cast<std::size_t>(point));
}

std::string_view text_of(packet::SecondLooks second_looks) {
    return packet::kSecondLooksNames.at(static_cast<std::size_t>(second_looks));
}

std::string_view text_of(packet::Tenant tenant) {
    return config::kTenantNames.at(static_cast<std::size_t>(tenant));
}

std::string date_text(Nanoseconds since_1970) {
    const auto seconds = static_cast<std::time_t>(since_1970 / kSecond);
    std::tm parts{};
    std::array<char, 64> text{};
    if (gmtime_r(&seconds, &parts) == nullptr) {
        return "?";
    }
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
    return text.data();
}

std::string wrapped(std::string_view text, std::string_view indent, std::size_t columns) {
    std::string out;
    std::string line(indent);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        if (line.size() > indent.size() && line.size() + 1 + word.size() > columns) {
            out += line + "\n";
            line = indent;
        }
        line += (line.size() > indent.size() ? " " : "") + std::string(word);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return line.size() > indent.size() ? out + line + "\n" : out;
}

std::string shell_word(const std::string& path) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+,@%-";
    std::string out;
    for (const char c : path) {
        out += c == '\'' ? "'\\''" : std::string(1, c);
    }
    const std::string begin = path.starts_with('-') && path.size() > 1 ? "./" : "";
    return begin + (path.find_first_not_of(kPlain) == std::string::npos ? out : "'" + out + "'");
}

std::string bar(double share, std::size_t width) {
    const double marks = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
    const auto whole = static_cast<std::size_t>(std::round(marks));
    return std::string(share > 0 ? std::max<std::size_t>(whole, 1) : 0, '#');
}

}  // namespace unecho::analyze
