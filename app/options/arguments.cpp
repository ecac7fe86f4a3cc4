// SPDX-License-Identifier: BSD-3-Clause
#include "options/arguments.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <thread>

#include <fmt/core.h>

#include "base/option_names.h"
#include "captures/dedup/options.h"
#include "config/schema.h"
#include "dedup/engines/planning/spec_problems.h"

namespace unecho::app {
namespace {

template <typename T>
std::optional<T> number_text(const std::string& text) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    return problem == std::errc{} && stop == end ? std::optional<T>(value) : std::nullopt;
}

}  // namespace

tl::unexpected<Error> bad_option(const std::string& name, const std::string& why) {
    return fail(Errc::kConfig, fmt::format("{}: {}", name, why));
}

std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

Result<std::uint64_t> parse_whole(const std::string& text) {
    const auto value = number_text<std::uint64_t>(text);
    if (!value) {
        return fail(Errc::kInvalidArgument, fmt::format("\"{}\" is no whole number", text));
    }
    return *value;
}

Result<std::uint64_t> parse_positive(const std::string& text) {
    const auto number = parse_whole(text);
    return number && *number != 0
               ? number
               : Result<std::uint64_t>(
                     fail(Errc::kInvalidArgument, fmt::format("\"{}\"; allowed: 1 or more", text)));
}

Result<unsigned> threads_of(const OptionText& jobs) {
    if (!jobs) {
        return std::thread::hardware_concurrency() > 1 ? 2 : 1;
    }
    const auto number = parse_whole(*jobs);
    if (!number || *number == 0) {
        return bad_option(option::kJobs, fmt::format("\"{}\"; allowed: 1 or more threads", *jobs));
    }
    return static_cast<unsigned>(std::min<std::uint64_t>(*number, UINT32_MAX));
}

unsigned inflating_threads(unsigned threads, const OptionText& jobs) {
    constexpr unsigned kMost = 8;  // more threads find no work in what is read ahead
    const unsigned cpus = std::max(std::thread::hardware_concurrency(), 1U);
    return std::min(jobs ? threads : kMost, cpus);
}

Result<unsigned> parse_first(const std::string& text) {
    const auto value = parse_whole(text);
    if (!value || !config::kFirst.contains(*value)) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("\"{}\"; allowed: a whole number from {} to {}", text,
                                config::kFirst.lo, config::kFirst.hi));
    }
    return static_cast<unsigned>(*value);
}

Result<double> parse_share(const std::string& text) {
    const auto value = number_text<double>(text);
    if (!value || !config::kShare.contains(*value)) {
        return fail(Errc::kInvalidArgument, "\"" + text + "\"; allowed: a number from 0 to 1");
    }
    return *value;
}

Result<double> parse_probability(const std::string& text) {
    const auto value = number_text<double>(text);
    if (!value || !engines::is_false_drop(*value)) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("\"{}\"{}; allowed: {}", text, value ? "" : " is no number",
                                engines::false_drops_allowed()));
    }
    return *value;
}

Result<std::uint64_t> parse_snap(const std::string& text) {
    constexpr std::uint64_t kMost = 262144;
    const auto bytes = parse_whole(text);
    return bytes && *bytes <= kMost ? bytes
                                    : Result<std::uint64_t>(fail(
                                          Errc::kInvalidArgument,
                                          fmt::format("\"{}\"; allowed: 0 to 262144 bytes", text)));
}

Result<std::uint64_t> parse_buffer(const std::string& text) {
    constexpr std::uint64_t kLeast = std::uint64_t{64} << 10;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
    const auto bytes = parse_size(text);
    return bytes && *bytes >= kLeast && *bytes <= kMost
               ? bytes
               : Result<std::uint64_t>(fail(Errc::kInvalidArgument,
                                            "\"" + text + "\"; allowed: 64KiB to 1GiB, as 16MiB"));
}

Result<Nanoseconds> parse_window(const std::string& text) {
    return text == "inf" ? Result<Nanoseconds>(filter::kInfiniteWindow) : parse_duration(text);
}

}  // namespace unecho::app
