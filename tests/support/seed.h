// SPDX-License-Identifier: BSD-3-Clause
// The seed of randomised tests: fixed, unless UNECHO_SEED sets another.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace unecho::test {

inline std::uint64_t seed() {
    constexpr std::uint64_t kFixed = 20231;
    const char* const given = std::getenv("UNECHO_SEED");
    return given == nullptr ? kFixed : std::strtoull(given, nullptr, 10);
}

// For SCOPED_TRACE: says how to reproduce a failure.
inline std::string seed_note() {
    return "UNECHO_SEED=" + std::to_string(seed());
}

}  // namespace unecho::test
