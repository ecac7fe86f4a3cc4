// SPDX-License-Identifier: BSD-3-Clause
// Reading JSON that somebody else wrote: what is missing, or of another kind, is nothing; never an
// exception.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace unecho::monitor {

using Json = nlohmann::ordered_json;

// The member; null where there is none.
[[nodiscard]] const Json& member(const Json& object, std::string_view name);

// A number that is not negative and has no fraction, and whether there is one.
[[nodiscard]] std::optional<std::uint64_t> as_unsigned(const Json& value);
[[nodiscard]] std::uint64_t unsigned_or(const Json& object, std::string_view name,
                                        std::uint64_t fallback = 0);
// Any number; of a truth value 1 or 0.
[[nodiscard]] std::optional<double> number(const Json& value);
[[nodiscard]] std::string string_or(const Json& object, std::string_view name,
                                    std::string_view fallback = "");
// Texts of a list, one behind another.
[[nodiscard]] std::string joined(const Json& pieces);
// True where it says so, or says nothing and fallback is.
[[nodiscard]] bool bool_or(const Json& object, std::string_view name, bool fallback);

// One line, or indented, in ASCII; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string dump_json(const Json& value, int indent = -1);

}  // namespace unecho::monitor
