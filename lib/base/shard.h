// SPDX-License-Identifier: BSD-3-Clause
// A shard: one of N processes that share the work on the same captures. The owner digest of a
// packet's flow (packets/keys/digests.h) decides which shard handles it: the one whose index is
// reduce(owner, count) + 1.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace unecho {

inline constexpr std::uint32_t kMaxShards = 65536;

struct Shard {
    std::uint32_t index = 1;  // from 1 to count
    std::uint32_t count = 1;

    [[nodiscard]] bool whole() const { return count == 1; }
    [[nodiscard]] std::string text() const {
        return std::to_string(index) + "/" + std::to_string(count);
    }
};

// Parse "2/3". Return Errc::kInvalidArgument, with what is allowed, for anything else.
Result<Shard> parse_shard(const std::string& text);

}  // namespace unecho
