// SPDX-License-Identifier: BSD-3-Clause
#include "config/devices/device.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "config/message_text.h"

namespace unecho::config {
namespace {

constexpr std::size_t kMaxNameBytes = 63;  // RTE_DEV_NAME_MAX_LEN without its end

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
}

bool all_hex(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_hex);
}

// Split at commas, except those inside [] or () of a value: "representor=[0,1]".
std::vector<std::string_view> split_args(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        depth += (c == '[' || c == '(') ? 1 : 0;
        depth -= (c == ']' || c == ')') ? 1 : 0;
        if (c == ',' && depth <= 0) {
            parts.push_back(text.substr(start, i - start));
            start = i + 1;
        }
    }
    parts.push_back(text.substr(start));
    return parts;
}

// Return "0000:3b:00.0" for "3b:00.0", "0000:3B:00.0" and "00000000:3b:00.0".
std::optional<std::string> pci_address(std::string_view text) {
    const auto colons = std::count(text.begin(), text.end(), ':');
    std::string address = colons == 1 ? "0000:" : "";
    address.append(text);
    const std::size_t domain = address.find(':');
    const std::string_view rest =
        domain == std::string::npos ? "" : std::string_view(address).substr(domain + 1);
    const bool shaped = colons >= 1 && colons <= 2 && rest.size() == 7 && rest[2] == ':' &&
                        rest[5] == '.' && all_hex(rest.substr(0, 2)) &&
                        all_hex(rest.substr(3, 2)) && rest[6] >= '0' && rest[6] <= '7';
    if (!shaped || domain < 4 || domain > 8 ||
        !all_hex(std::string_view(address).substr(0, domain))) {
        return std::nullopt;
    }
    for (char& c : address) {
        c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    // DPDK writes a domain in at least four digits.
    const std::size_t zeros = std::min(address.find_first_not_of('0'), domain - 4);
    return address.substr(zeros);
}

// Split at commas before an argument's name: file names may have commas, equals signs, brackets.
std::vector<std::string_view> split_args_with_files(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t start = 0;
    for (std::size_t at = text.find(','); at != std::string_view::npos;
         at = text.find(',', at + 1)) {
        const std::string_view rest = text.substr(at + 1);
        if (parts.empty() || is_argument_with_files(rest.substr(0, rest.find(',')))) {
            parts.push_back(text.substr(start, at - start));
            start = at + 1;
        }
    }
    parts.push_back(text.substr(start));
    return parts;
}

// A misspelt argument would become part of the file name before it.
Status check_spelling(std::string_view file) {
    for (std::size_t at = file.find(','); at != std::string_view::npos;
         at = file.find(',', at + 1)) {
        std::string_view key = file.substr(at + 1);
        key = key.substr(0, key.find(','));
        const std::size_t equals = key.find('=');
        if (equals == std::string_view::npos) {
            continue;
        }
        key = key.substr(0, equals);
        if (const std::string hint = suggestion(key, arguments_with_files()); !hint.empty()) {
            return fail(Errc::kInvalidArgument,
                        fmt::format("{} is no argument of net_pcap{}", in_quotes(key), hint));
        }
    }
    return {};
}

bool is_vdev(std::string_view name) {
    return name.starts_with("net_") && name.size() > 4 && name.size() <= kMaxNameBytes &&
           std::all_of(name.begin(), name.end(), is_word);
}

}  // namespace

Result<Device> parse_device(std::string_view text) {
    std::vector<std::string_view> parts = split_args(text);
    Device device;
    if (std::optional<std::string> address = pci_address(parts.front())) {
        device.bus = Bus::kPci;
        device.name = std::move(*address);
    } else if (is_vdev(parts.front())) {
        device.name = parts.front();
    } else {
        return fail(Errc::kInvalidArgument, in_quotes(parts.front()) + " is not a device");
    }
    if (device.has_files()) {
        parts = split_args_with_files(text);
    }
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const std::size_t equals = std::min(parts[i].find('='), parts[i].size());
        const std::string_view key = parts[i].substr(0, equals);
        const std::string_view value = parts[i].substr(std::min(equals + 1, parts[i].size()));
        if (key.empty() || !std::all_of(key.begin(), key.end(), is_word)) {
            return fail(Errc::kInvalidArgument,
                        in_quotes(parts[i]) + " is not an argument of a device, key=value");
        }
        if (device.has_files()) {
            UNECHO_TRY(check_spelling(value));
        } else if (value.find('=') != std::string_view::npos) {
            return fail(Errc::kInvalidArgument,
                        in_quotes(parts[i]) +
                            " has a second \"=\", from which on DPDK would read "
                            "another argument");
        }
        device.args.emplace_back(key, value);
    }
    return device;
}

}  // namespace unecho::config
