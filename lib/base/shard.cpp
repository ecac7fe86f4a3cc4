// SPDX-License-Identifier: BSD-3-Clause
#include "base/shard.h"

#include <charconv>
#include <string_view>
#include <system_error>

namespace unecho {
namespace {

// Return the number that the whole text is, or 0 if it is not a number.
std::uint32_t number_in(std::string_view text) {
    std::uint32_t value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && stop == text.data() + text.size() ? value : 0;
}

}  // namespace

Result<Shard> parse_shard(const std::string& text) {
    const std::size_t slash = text.find('/');
    if (slash != std::string::npos) {
        const std::string_view all(text);
        const Shard shard{number_in(all.substr(0, slash)), number_in(all.substr(slash + 1))};
        if (shard.index != 0 && shard.index <= shard.count && shard.count <= kMaxShards) {
            return shard;
        }
    }
    return fail(
        Errc::kInvalidArgument,
        "\"" + text +
            "\"; allowed: I/N, the shard's number from 1 to N and how many there are, up to " +
            std::to_string(kMaxShards) + ", as in 2/3");
}

}  // namespace unecho
