// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace unecho::shared_flows {

struct Endpoint {
    std::string host;
    std::uint16_t port = 0;

    auto operator<=>(const Endpoint&) const = default;
    // For messages: escaped and cut, because other nodes choose these names.
    [[nodiscard]] std::string text() const;
};

// Parse "host:port", "192.0.2.1:6379" or "[2001:db8::1]:6379".
Result<Endpoint> parse_endpoint(std::string_view text);

// Parse "MOVED 3999 127.0.0.1:6381" or "ASK ...". Without a host, the answering node's is meant.
// Errc::kIo: it is neither.
struct Redirection {
    unsigned slot = 0;
    Endpoint to;
};
Result<Redirection> parse_redirection(std::string_view error, const Endpoint& answered);

}  // namespace unecho::shared_flows
