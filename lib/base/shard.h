// SPDX-License-Identifier: BSD-3-Clause
// One of N processes that share the work on the same captures: which of them it is. Whose a packet
// is follows from a digest of its flow (packets/keys/digests.h): each has those for which
// reduce(owner, count) + 1 is its index.
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

// "2/3". Errc::kInvalidArgument, with what is allowed.
Result<Shard> parse_shard(const std::string& text);

}  // namespace unecho
