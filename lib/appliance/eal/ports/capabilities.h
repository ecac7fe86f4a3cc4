// SPDX-License-Identifier: BSD-3-Clause
// Privileges of this process, by the names of capabilities(7).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace unecho::eal {

// Return those of a list that are not in effect, for a sentence: "CAP_NET_RAW is", "CAP_NET_RAW and
// CAP_NET_ADMIN are"; "" if none is missing or nothing is known. Knows all names of
// known_drivers().
std::string missing_capabilities(std::span<const std::string_view> needed);

}  // namespace unecho::eal
