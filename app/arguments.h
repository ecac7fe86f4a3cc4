// SPDX-License-Identifier: BSD-3-Clause
// From the text of an option to its value. What is wrong with one is told as Errc::kConfig with the
// option's name; base/units.h has durations, rates and sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace unecho::app {

using OptionText = std::optional<std::string>;

tl::unexpected<Error> bad_option(const std::string& name, const std::string& why);

// Errc::kInvalidArgument, with what is allowed.
Result<std::uint64_t> parse_whole(const std::string& text);
// 1 or more.
Result<std::uint64_t> parse_positive(const std::string& text);
// Packets of a flow that pass, config::kFirst.
Result<unsigned> parse_first(const std::string& text);
// A chance of false drops, above 0 up to config::kMostFalseDrop.
Result<double> parse_probability(const std::string& text);
// Of packets, from 0 to 1.
Result<double> parse_share(const std::string& text);
// A duration, or inf: filter::kInfiniteWindow.
Result<Nanoseconds> parse_window(const std::string& text);
// Bytes of a packet that are captured, up to 262144; 0: all.
Result<std::uint64_t> parse_snap(const std::string& text);
// Of --jobs: 1 or more; if it was not given 2, or 1 where one CPU is all that there is.
Result<unsigned> threads_of(const OptionText& jobs);
// Of so many, or of as many as there are CPUs if --jobs was not given: those that inflate.
unsigned inflating_threads(unsigned threads, const OptionText& jobs);
// The kernel's buffer for an interface, 64KiB to 1GiB.
Result<std::uint64_t> parse_buffer(const std::string& text);

// "a|b|c"
template <typename Names>
std::string one_of(const Names& names) {
    std::string text;
    for (const std::string_view name : names) {
        text.append(text.empty() ? "" : "|").append(name);
    }
    return text;
}

// "a (default), b or c"
template <typename Names>
std::string first_or(const Names& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text.append(i == 0 ? "" : i + 1 < names.size() ? ", " : " or ").append(names[i]);
        text.append(i == 0 ? " (default)" : "");
    }
    return text;
}

// The place of a name among those allowed.
template <typename Names>
Result<std::size_t> parse_name(const std::string& text, const Names& names) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) {
        return static_cast<std::size_t>(found - names.begin());
    }
    std::string allowed;
    for (const std::string_view name : names) {
        allowed += (allowed.empty() ? "" : ", ") + std::string(name);
    }
    return fail(Errc::kInvalidArgument, "\"" + text + "\" is unknown; allowed: " + allowed);
}

template <typename Names>
auto name_in(const Names& names) {
    return [&names](const std::string& text) { return parse_name(text, names); };
}

// Reads the options that were given, one after the other; the first problem stays.
class OptionReader {
  public:
    template <typename Parse, typename Set>
    void operator()(const std::string& option, const OptionText& text, Parse parse, Set set) {
        if (!status_ || !text) {
            return;
        }
        const auto value = parse(*text);
        if (value) {
            set(*value);
        } else {
            status_ = bad_option(option, value.error().context);
        }
    }
    [[nodiscard]] const Status& status() const { return status_; }

  private:
    Status status_;
};

}  // namespace unecho::app
