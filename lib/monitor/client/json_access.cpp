// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/json_access.h"

namespace unecho::monitor {

const Json& member(const Json& object, std::string_view name) {
    static const Json nothing;
    if (!object.is_object()) {
        return nothing;
    }
    const auto found = object.find(std::string(name));
    return found == object.end() ? nothing : *found;
}

std::optional<std::uint64_t> as_unsigned(const Json& value) {
    const bool negative =
        !value.is_number_unsigned() && value.is_number_integer() && value.get<std::int64_t>() < 0;
    return value.is_number_integer() && !negative ? std::optional(value.get<std::uint64_t>())
                                                  : std::nullopt;
}

std::uint64_t unsigned_or(const Json& object, std::string_view name, std::uint64_t fallback) {
    return as_unsigned(member(object, name)).value_or(fallback);
}

std::optional<double> number(const Json& value) {
    if (value.is_number()) {
        return value.get<double>();
    }
    return value.is_boolean() ? std::optional(value.get<bool>() ? 1.0 : 0.0) : std::nullopt;
}

std::string string_or(const Json& object, std::string_view name, std::string_view fallback) {
    const Json& value = member(object, name);
    return value.is_string() ? value.get<std::string>() : std::string(fallback);
}

std::string joined(const Json& pieces) {
    std::string out;
    for (const Json& piece : pieces) {
        out += piece.is_string() ? piece.get<std::string>() : "";
    }
    return out;
}

bool bool_or(const Json& object, std::string_view name, bool fallback) {
    const Json& value = member(object, name);
    return value.is_boolean() ? value.get<bool>() : fallback;
}

std::string dump_json(const Json& value, int indent) {
    return value.dump(indent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace unecho::monitor
