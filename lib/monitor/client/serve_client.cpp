// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/serve_client.h"

#include <array>
#include <string_view>

#include <fmt/core.h>
#include <sys/socket.h>

#include "base/utf8.h"
#include "monitor/server/http_server.h"

namespace unecho::monitor {
namespace {

constexpr std::size_t kLongestAnswer = std::size_t{64} << 10;

std::string percent_encoded(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        (out += '%') += kDigits[byte >> 4U];
        out += kDigits[byte & 15U];
    }
    return out;
}

// Return all that comes until the other side closes; "" if it does not within its time.
std::string read_all(int socket) {
    std::string out;
    std::array<char, 4096> piece{};
    for (;;) {
        const ssize_t n = recv(socket, piece.data(), piece.size(), 0);
        if (n == 0) {
            return out;
        }
        if (n < 0 || out.size() > kLongestAnswer) {
            return "";
        }
        out.append(piece.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace

Result<std::string> forget_appliance(const ListenAddress& address, const std::string& name,
                                     Nanoseconds patience) {
    const auto connection = address.connect(patience);
    UNECHO_TRY(connection);
    const std::string request = fmt::format(
        "POST /api/v1/forget?name={} HTTP/1.1\r\n"
        "Host: localhost\r\n"
        "Connection: close\r\n"
        "{}: 1\r\n"
        "Content-Length: 0\r\n"
        "\r\n",
        percent_encoded(name), kChangeHeader);
    const bool sent = send(connection->get(), request.data(), request.size(), MSG_NOSIGNAL) ==
                      static_cast<ssize_t>(request.size());
    const std::string answer = sent ? read_all(connection->get()) : "";
    constexpr std::string_view kVersion = "HTTP/1.1 ";
    const std::size_t head = answer.find("\r\n\r\n");
    if (!answer.starts_with(kVersion) || head == std::string::npos) {
        return fail(Errc::kIo, address.url() + ": does not answer as unecho serve does");
    }
    std::string text = escaped_lines(answer.substr(head + 4));
    text.resize(text.find_last_not_of('\n') + 1);
    return answer.compare(kVersion.size(), 3, "200") == 0 ? Result<std::string>(std::move(text))
                                                          : fail(Errc::kBusy, text);
}

}  // namespace unecho::monitor
