// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace unecho::root {

struct Endpoint {
    std::string host;
    std::uint16_t port = 0;

    auto operator<=>(const Endpoint&) const = default;
    // For messages: nodes are named by other nodes, too, so it is escaped, and long names are cut.
    [[nodiscard]] std::string text() const;
};

// "host:port", "192.0.2.1:6379", "[2001:db8::1]:6379".
Result<Endpoint> parse_endpoint(std::string_view text);

// Of "MOVED 3999 127.0.0.1:6381" or "ASK ...": where to; the host is that of who answered if it
// names none. Errc::kIo if it is neither.
struct Redirection {
    unsigned slot = 0;
    Endpoint to;
};
Result<Redirection> parse_redirection(std::string_view error, const Endpoint& answered);

}  // namespace unecho::root
