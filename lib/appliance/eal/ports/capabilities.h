// SPDX-License-Identifier: BSD-3-Clause
// What this process may do that others may not, by the names of capabilities(7).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace unecho::eal {

// Those of a list that are not in effect, for a sentence: "CAP_NET_RAW is", "CAP_NET_RAW and
// CAP_NET_ADMIN are"; "" if none is missing, or nothing is known. Every name of known_drivers() is
// known here.
std::string missing_capabilities(std::span<const std::string_view> needed);

}  // namespace unecho::eal
