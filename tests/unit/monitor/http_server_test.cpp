// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/http_server.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace unecho::monitor {
namespace {

TEST(HttpServer, a_port_is_for_one) {
    const auto first = HttpServer::listen(*ListenAddress::parse("127.0.0.1:0"));
    ASSERT_TRUE(first);
    EXPECT_NE((*first)->address().port, 0);
    const auto second = HttpServer::listen((*first)->address());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::kBusy);
    EXPECT_NE(second.error().context.find("somebody listens there already"), std::string::npos);
}

// Return the path that the server reads from this request line; "" if it refuses it.
std::string path_of(const std::string& line) {
    const auto server = HttpServer::listen(*ListenAddress::parse("127.0.0.1:0"));
    std::atomic<bool> stop{false};
    std::string path;
    std::thread serving([&] {
        const Status status = (*server)->run(
            [&](const HttpRequest& request) {
                path = request.path;
                return HttpResponse{200, "text/plain", std::make_shared<const std::string>("x")};
            },
            [] { return Body(); }, stop);
        EXPECT_TRUE(status);
    });
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((*server)->address().port);
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string text = line + "\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(send(client, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    for (std::array<char, 1024> answer; recv(client, answer.data(), answer.size(), 0) > 0;) {
    }
    close(client);
    stop = true;
    serving.join();
    return path;
}

TEST(HttpServer, takes_no_path_for_another) {
    EXPECT_EQ(path_of("GET /a%20b HTTP/1.1"), "/a b");
    EXPECT_EQ(path_of("GET /metrics%00 HTTP/1.1"), "/metrics%00");
    EXPECT_EQ(path_of("GET /metrics%00.html HTTP/1.1"), "/metrics%00.html");
    EXPECT_EQ(path_of("GET /x/../metrics HTTP/1.1"), "/x/../metrics");
}

}  // namespace
}  // namespace unecho::monitor
