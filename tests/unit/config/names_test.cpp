// SPDX-License-Identifier: BSD-3-Clause
#include "config/names.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"

namespace unecho::config {
namespace {

TEST(NameOfFile, is_its_own_without_folder_and_ending) {
    EXPECT_EQ(name_of_file("taps.toml"), "taps");
    EXPECT_EQ(name_of_file("/etc/unecho/link.a-b_c.toml"), "link.a-b_c");
    EXPECT_EQ(name_of_file("relative/taps"), "taps");
    EXPECT_EQ(name_of_file("/dev/stdin"), "stdin");
}

TEST(NameOfFile, has_nothing_that_a_name_cannot_have) {
    EXPECT_EQ(name_of_file("my taps (new).toml"), "my_taps__new_");
    EXPECT_EQ(name_of_file("a%b.toml"), "a_b");
    EXPECT_EQ(name_of_file("../..hidden.toml"), "hidden");
    EXPECT_EQ(name_of_file("--file-prefix=x.toml"), "file-prefix_x");
    EXPECT_EQ(name_of_file(std::string(40, 'x') + ".toml"), std::string(32, 'x'));
    for (const char* path : {"", ".", "..", "/", "---.toml", "\xc3\xa4.toml", "dir/"}) {
        EXPECT_EQ(name_of_file(path), "unecho") << path;
    }
}

TEST(NameOfRoute, is_its_ports) {
    EXPECT_EQ(name_of_route({"a"}, "tool"), "a>tool");
    EXPECT_EQ(name_of_route({"a", "b", "c"}, "tool"), "a+b+c>tool");
    const std::string longest(32, 'p');
    EXPECT_EQ(name_of_route({longest, longest}, longest), longest + "+" + longest + ">" + longest);
}

// A string in DPDK telemetry has at most 127 bytes.
TEST(NameOfRoute, is_never_too_long_and_never_that_of_another) {
    const auto port = [](unsigned i) {
        return "port-" + std::string(25, 'x') + std::to_string(10 + i);
    };
    std::set<std::string> names;
    for (unsigned first = 0; first < 32; first += 4) {
        const std::string name =
            name_of_route({port(first), port(first + 1), port(first + 2), port(first + 3)},
                          port((first + 4) % 32));
        EXPECT_LT(name.size(), 128U);
        EXPECT_TRUE(name.starts_with(port(first) + "+...+" + port(first + 3) + ">")) << name;
        EXPECT_TRUE(names.insert(name).second) << name;
    }
}

constexpr const char* kRoutes = R"(
[[port]]
name = "a"
device = "net_null0"
[[port]]
name = "b"
device = "net_null1"
[[filter]]
name = "f"
window = "1ms"
rate = "1Mpps"
[[route]]
from = ["a"]
to = "b"
filter = "f"
on_echo = "pass"
[[route]]
name = "back"
from = ["b"]
to = "a"
filter = "f"
on_echo = "pass"
)";

TEST(Names, are_those_of_the_file_or_come_from_it) {
    const LoadResult config = load_text(kRoutes, "somewhere/lab-3.toml");
    ASSERT_TRUE(config) << to_text(config.error(), "");
    EXPECT_EQ(config->run.name, "lab-3");
    EXPECT_FALSE(config->run.telemetry_group);
    EXPECT_EQ(config->routes[0].name, "a>b");
    EXPECT_EQ(config->routes[1].name, "back");
    const LoadResult named = load_text(
        std::string(kRoutes) + "[run]\nname = \"9.lab\"\ntelemetry_group = \"adm\"\n", "x.toml");
    ASSERT_TRUE(named) << to_text(named.error(), "");
    EXPECT_EQ(named->run.name, "9.lab");
    EXPECT_EQ(named->run.telemetry_group, "adm");
}

}  // namespace
}  // namespace unecho::config
