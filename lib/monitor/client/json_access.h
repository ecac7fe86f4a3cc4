// SPDX-License-Identifier: BSD-3-Clause
// Access to foreign JSON. A value that is missing, or of another type, is null or the fallback;
// never an exception.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace unecho::monitor {

using Json = nlohmann::ordered_json;

// Return the member; null if there is none.
[[nodiscard]] const Json& member(const Json& object, std::string_view name);

// Return a number without sign and fraction; nothing for other values.
[[nodiscard]] std::optional<std::uint64_t> as_unsigned(const Json& value);
[[nodiscard]] std::uint64_t unsigned_or(const Json& object, std::string_view name,
                                        std::uint64_t fallback = 0);
// Return any number, or 1 or 0 for a boolean.
[[nodiscard]] std::optional<double> number(const Json& value);
[[nodiscard]] std::string string_or(const Json& object, std::string_view name,
                                    std::string_view fallback = "");
// Concatenate the texts of a list.
[[nodiscard]] std::string joined(const Json& pieces);
[[nodiscard]] bool bool_or(const Json& object, std::string_view name, bool fallback);

// Format in one line, or indented, in ASCII; invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string dump_json(const Json& value, int indent = -1);

}  // namespace unecho::monitor
