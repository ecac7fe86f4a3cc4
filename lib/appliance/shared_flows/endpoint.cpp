// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/endpoint.h"

#include <charconv>

#include "appliance/shared_flows/layout.h"
#include "base/utf8.h"

namespace unecho::shared_flows {
namespace {

constexpr std::size_t kMostName = 260;  // characters; a host name has at most 253 (RFC 1035)

template <typename T>
bool whole(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

std::string Endpoint::text() const {
    const std::string name =
        shortened(escaped(std::string_view(host).substr(0, kMostName)), kMostName);
    const bool v6 = name.find(':') != std::string::npos;
    return (v6 ? "[" + name + "]" : name) + ":" + std::to_string(port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
    const std::string given(text);
    const auto refuse = [&] {
        return fail(
            Errc::kInvalidArgument,
            "\"" + given + R"(" is not allowed; allowed: "host:port", as "192.0.2.1:6379")");
    };
    const std::size_t colon = text.rfind(':');
    Endpoint out;
    if (colon == std::string_view::npos || !whole(text.substr(colon + 1), out.port) ||
        out.port == 0) {
        return refuse();
    }
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return refuse();
    }
    if (host.empty() || host.find_first_of(" \t[]/") != std::string_view::npos) {
        return refuse();
    }
    out.host = host;
    return out;
}

Result<Redirection> parse_redirection(std::string_view error, const Endpoint& answered) {
    const auto other = [&] { return fail(Errc::kIo, std::string(error)); };
    const std::size_t first = error.find(' ');
    const std::size_t second = error.find(' ', first == std::string_view::npos ? 0 : first + 1);
    if (!(error.starts_with("MOVED ") || error.starts_with("ASK ")) ||
        second == std::string_view::npos) {
        return other();
    }
    Redirection out;
    const std::string_view to = error.substr(second + 1);
    const std::size_t colon = to.rfind(':');
    if (!whole(error.substr(first + 1, second - first - 1), out.slot) || out.slot >= kSlots ||
        colon == std::string_view::npos || !whole(to.substr(colon + 1), out.to.port)) {
        return other();
    }
    out.to.host = colon == 0 ? answered.host : std::string(to.substr(0, colon));
    return out;
}

}  // namespace unecho::shared_flows
