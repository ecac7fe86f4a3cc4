// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/connection.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace unecho::shared_flows {
namespace {

// The queried server, on loopback.
class Peer {
  public:
    Peer() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(listen(listener_.get(), 1), 0);
        getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
        at_ = {"127.0.0.1", ntohs(address.sin_port)};
    }
    // Return a connection that is established and known to be.
    Connection connect() {
        Connection out = *Connection::open(at_, (**Lookup::begin(at_)->answer())[0]);
        accepted_ = Descriptor(accept(listener_.get(), nullptr, nullptr));
        EXPECT_TRUE(out.write());
        return out;
    }
    void say(std::string_view text) const {
        EXPECT_EQ(send(accepted_.get(), text.data(), text.size(), 0),
                  static_cast<ssize_t>(text.size()));
    }
    std::string hear() const {
        std::array<char, 65536> bytes{};
        const ssize_t got = recv(accepted_.get(), bytes.data(), bytes.size(), 0);
        return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    }
    void leave() { accepted_ = Descriptor(); }
    [[nodiscard]] const Endpoint& at() const { return at_; }

  private:
    Descriptor listener_;
    Descriptor accepted_;
    Endpoint at_;
};

void await(const Connection& connection, short events) {
    pollfd polled{connection.descriptor(), events, 0};
    ASSERT_EQ(poll(&polled, 1, 5000), 1);
}

constexpr std::array<std::string_view, 1> kPing{"PING"};

TEST(Connection, asks_and_is_answered_in_pieces) {
    Peer peer;
    Connection connection = peer.connect();
    const std::array<std::string_view, 3> words{"FCALL", "", std::string_view("a\r\n\0b", 5)};
    connection.append(words);
    EXPECT_TRUE(connection.wants_to_write());
    ASSERT_TRUE(connection.write());
    EXPECT_FALSE(connection.wants_to_write());
    EXPECT_EQ(peer.hear(), std::string("*3\r\n$5\r\nFCALL\r\n$0\r\n\r\n$5\r\na\r\n\0b\r\n", 32));
    for (const std::string_view piece : {"*2\r\n$2", "\r\n01\r", "\n:3\r\n+O"}) {
        EXPECT_EQ(*connection.next(), nullptr);
        peer.say(piece);
        await(connection, POLLIN);
        ASSERT_TRUE(connection.read());
    }
    const Result<Reply> reply = connection.next();
    ASSERT_TRUE(reply);
    ASSERT_EQ((*reply)->elements, 2U);
    EXPECT_EQ(text_of(*(*reply)->element[0]), "01");
    EXPECT_EQ((*reply)->element[1]->integer, 3);
    EXPECT_EQ(*connection.next(), nullptr);
}

// SIGPIPE would end the process.
TEST(Connection, to_one_that_left_is_an_error_and_no_signal) {
    Peer peer;
    Connection connection = peer.connect();
    peer.leave();
    connection.append(kPing);
    EXPECT_TRUE(connection.write());  // the peer answers that the connection is closed
    await(connection, POLLERR);
    connection.append(kPing);
    const Status again = connection.write();
    ASSERT_FALSE(again);
    EXPECT_NE(again.error().context.find(peer.at().text()), std::string::npos);
}

TEST(Connection, sends_what_does_not_fit_at_once_bit_by_bit) {
    Peer peer;
    Connection connection = peer.connect();
    const std::string large(std::size_t{8} << 20, 'x');
    const std::array<std::string_view, 1> words{large};
    connection.append(words);
    std::size_t heard = 0;
    bool waited = false;
    while (connection.wants_to_write()) {
        ASSERT_TRUE(connection.write());
        waited = waited || connection.wants_to_write();
        heard += peer.hear().size();
    }
    EXPECT_TRUE(waited);
    while (heard < large.size()) {
        heard += peer.hear().size();
    }
    EXPECT_GE(heard, large.size());
}

TEST(Connection, ends_with_who_closes_it) {
    Peer peer;
    Connection connection = peer.connect();
    EXPECT_TRUE(connection.read());  // nothing yet
    peer.leave();
    await(connection, POLLIN);
    EXPECT_FALSE(connection.read());
}

TEST(Connection, to_nobody_is_an_error_in_time) {
    Endpoint nobody;
    {
        const Peer gone;
        nobody = gone.at();
    }
    Result<Connection> connection =
        Connection::open(nobody, (**Lookup::begin(nobody)->answer())[0]);
    if (connection) {
        await(*connection, POLLOUT);
        EXPECT_FALSE(connection->write());
    }
}

TEST(Connection, takes_no_answer_without_end) {
    for (const char* const begin : {"*16385\r\n", "*2147483647\r\n", "*1\r\n*16385\r\n"}) {
        Peer peer;
        Connection connection = peer.connect();
        peer.say(begin);
        await(connection, POLLIN);
        ASSERT_TRUE(connection.read());
        const Result<Reply> reply = connection.next();
        ASSERT_FALSE(reply) << begin;
        EXPECT_NE(reply.error().context.find("without end"), std::string::npos);
    }
    for (const std::string_view begin : {"$2000000000\r\n", "*16384\r\n", "+"}) {
        Peer peer;
        Connection connection = peer.connect();
        peer.say(begin);
        std::string some;
        while (some.size() < 60000) {
            some += begin[0] == '*' ? ":1\r\n" : "x";
        }
        std::size_t bytes = 0;
        bool ended = false;
        for (; !ended && bytes < 2 * Connection::kMostBytes; bytes += some.size()) {
            peer.say(some);
            await(connection, POLLIN);
            ASSERT_TRUE(connection.read());
            ended = !connection.next();
            some = begin[0] == '*' ? "*16384\r\n" : some;
        }
        EXPECT_TRUE(ended) << begin;
    }
}

TEST(Lookup, of_an_address_is_known_at_once) {
    for (const auto& [host, family] :
         {std::pair{"192.0.2.1", AF_INET}, std::pair{"2001:db8::1", AF_INET6}}) {
        const Result<Lookup> lookup = Lookup::begin({host, 6379});
        ASSERT_TRUE(lookup);
        ASSERT_NE(lookup->answer(), nullptr);
        ASSERT_EQ((*lookup->answer())->size(), 1U);
        EXPECT_EQ((**lookup->answer())[0].socket.ss_family, family);
    }
}

TEST(Lookup, of_a_name_comes_later_IPv4_first) {
    const Result<Lookup> lookup = Lookup::begin({"localhost", 6379});
    ASSERT_TRUE(lookup);
    for (int i = 0; lookup->answer() == nullptr && i < 5000; ++i) {
        usleep(1000);
    }
    ASSERT_NE(lookup->answer(), nullptr);
    ASSERT_TRUE(*lookup->answer()) << lookup->answer()->error().context;
    EXPECT_EQ((**lookup->answer())[0].socket.ss_family, AF_INET);
}

}  // namespace
}  // namespace unecho::shared_flows
