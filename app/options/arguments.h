// SPDX-License-Identifier: BSD-3-Clause
// Parsers for the values of options. A wrong value is Errc::kConfig with the option's name.
// base/units.h parses durations, rates and sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/join_text.h"
#include "base/result.h"
#include "base/units.h"

namespace unecho::app {

using OptionText = std::optional<std::string>;

tl::unexpected<Error> bad_option(const std::string& name, const std::string& why);

// Return the parts between commas; one empty part for empty text.
std::vector<std::string> parts_of(const std::string& text);

// Errc::kInvalidArgument, with the allowed values.
Result<std::uint64_t> parse_whole(const std::string& text);
Result<std::uint64_t> parse_positive(const std::string& text);
// Parse the number of packets of a flow that pass, in config::kFirst.
Result<unsigned> parse_first(const std::string& text);
// Parse a bound on false drops, above 0 and up to config::kMostFalseDrop.
Result<double> parse_probability(const std::string& text);
// Parse a share of packets, from 0 to 1.
Result<double> parse_share(const std::string& text);
// Parse a duration, or "inf" as filter::kInfiniteWindow.
Result<Nanoseconds> parse_window(const std::string& text);
// Parse the captured bytes of a packet, up to 262144; 0: all.
Result<std::uint64_t> parse_snap(const std::string& text);
// Return the threads of --jobs, 1 or more. Default: 2, or 1 on a single CPU.
Result<unsigned> threads_of(const OptionText& jobs);
// Return the threads that inflate: as given, or by default up to 8; at most one per CPU.
unsigned inflating_threads(unsigned threads, const OptionText& jobs);
// Parse the size of the kernel's buffer for an interface, 64KiB to 1GiB.
Result<std::uint64_t> parse_buffer(const std::string& text);

// Return "a|b|c".
template <typename Names>
std::string one_of(const Names& names) {
    return join_text(names, "|");
}

// Return "a (default), b or c".
template <typename Names>
std::string first_or(const Names& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text.append(i == 0 ? "" : i + 1 < names.size() ? ", " : " or ").append(names[i]);
        text.append(i == 0 ? " (default)" : "");
    }
    return text;
}

// Return the index of a name among the allowed ones.
template <typename Names>
Result<std::size_t> parse_name(const std::string& text, const Names& names) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) {
        return static_cast<std::size_t>(found - names.begin());
    }
    return fail(Errc::kInvalidArgument,
                "\"" + text + "\" is unknown; allowed: " + join_text(names));
}

template <typename Names>
auto name_in(const Names& names) {
    return [&names](const std::string& text) { return parse_name(text, names); };
}

// Parses the given options in turn; the first problem stays.
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
