// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/endpoint.h"

#include <gtest/gtest.h>

namespace unecho::shared_flows {
namespace {

TEST(Endpoint, is_a_host_and_a_port) {
    EXPECT_EQ(parse_endpoint("192.0.2.1:6379"), (Endpoint{"192.0.2.1", 6379}));
    EXPECT_EQ(parse_endpoint("redis-1.example.net:1"), (Endpoint{"redis-1.example.net", 1}));
    EXPECT_EQ(parse_endpoint("[2001:db8::1]:65535"), (Endpoint{"2001:db8::1", 65535}));
    EXPECT_EQ(parse_endpoint("[2001:db8::1]:65535")->text(), "[2001:db8::1]:65535");
    EXPECT_EQ(parse_endpoint("a:7")->text(), "a:7");
}

// Any node of a cluster can name others, with bytes of its choice.
TEST(Endpoint, is_told_escaped_and_cut) {
    EXPECT_EQ((Endpoint{"a\x1B[31m\xFF", 7}).text(), R"(a\x1b[31m\xff:7)");
    const std::string text = Endpoint{std::string(1'000'000, '\n'), 7}.text();
    EXPECT_LT(text.size(), 300U);
    EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(Endpoint, that_is_none_is_refused_with_what_is_allowed) {
    for (const char* const text : {"", "a", ":7", "a:", "a:0", "a:65536", "a:-1", "a:7x", "a: 7",
                                   "2001:db8::1:6379", "[]:7", "a b:7", "redis://a:7", "[a:7"}) {
        const Result<Endpoint> parsed = parse_endpoint(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_NE(parsed.error().context.find(R"(allowed: "host:port")"), std::string::npos);
    }
}

TEST(Redirection, names_a_slot_and_where_it_is) {
    const Endpoint here{"192.0.2.9", 6379};
    const auto moved = parse_redirection("MOVED 3999 127.0.0.1:6381", here);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->slot, 3999U);
    EXPECT_EQ(moved->to, (Endpoint{"127.0.0.1", 6381}));
    // A node that does not know its own address omits it.
    EXPECT_EQ(parse_redirection("MOVED 1 :7002", here)->to, (Endpoint{"192.0.2.9", 7002}));
    EXPECT_EQ(parse_redirection("ASK 16383 2001:db8::1:7002", here)->to,
              (Endpoint{"2001:db8::1", 7002}));
}

TEST(Redirection, that_is_another_error_is_told_from_it) {
    const Endpoint here{"192.0.2.9", 6379};
    for (const char* const text :
         {"", "MOVED", "MOVED 1", "MOVED x 127.0.0.1:1", "MOVED 16384 127.0.0.1:1",
          "MOVED 1 127.0.0.1", "MOVED 1 127.0.0.1:x", "ERR MOVED 1 127.0.0.1:1", "ASKING 1 a:1"}) {
        EXPECT_FALSE(parse_redirection(text, here)) << text;
    }
}

}  // namespace
}  // namespace unecho::shared_flows
