// SPDX-License-Identifier: BSD-3-Clause
// Messages about a command line that is not understood, and about the duration of a run.
#include "usage.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "command_line.h"
#include "long_run.h"

namespace unecho::app {
namespace {

std::string problem_of(std::vector<std::string> args) {
    const EalArgs none;
    Action action;
    const auto app = make_command_line(none, action);
    std::reverse(args.begin(), args.end());
    try {
        app->parse(args);
    } catch (const CLI::ParseError& error) {
        return usage_problem(*app, error);
    }
    return "";
}

TEST(Usage, the_option_that_was_meant_is_named) {
    EXPECT_EQ(problem_of({"pcap", "a.pcap", "--windw", "5ms"}),
              "--windw is no option; did you mean \"--window\"?");
    EXPECT_EQ(problem_of({"pcap", "a.pcap", "-o", "b", "--droped=x"}),
              "--droped is no option; did you mean \"--dropped\"?");
    EXPECT_EQ(problem_of({"pcap", "a.pcap", "--completely-different"}),
              "--completely-different is no option");
    EXPECT_EQ(problem_of({"pcap", "a.pcap", "-o", "b", "-Q"}), "-Q is no option");
    EXPECT_EQ(problem_of({"pcap", "a.pcap", "-o", "b", "--dropped", "d"}), "");
}

TEST(Usage, habits_of_other_tools_get_their_hint) {
    EXPECT_EQ(problem_of({"pcap", "a.pcap", "-w", "b.pcap"}),
              "-w is no option; the output is -o FILE (tcpdump -w), the window --window W "
              "(editcap -w)");
    EXPECT_EQ(problem_of({"pcap", "-r", "a.pcap", "-w", "b.pcap"}),
              "-r is no option; inputs are named without an option: unecho pcap IN... -o OUT");
    EXPECT_EQ(problem_of({"pcap", "a.pcap", "-wb.pcap"}),
              problem_of({"pcap", "a.pcap", "-w", "b.pcap"}));
}

TEST(Usage, what_is_missing_is_named) {
    EXPECT_EQ(problem_of({"pcap"}), "IN is required");
}

TEST(Usage, the_command_that_was_meant_is_named) {
    const EalArgs none;
    Action action;
    const auto app = make_command_line(none, action);
    EXPECT_EQ(unknown_command(*app, "analyse"),
              "unknown command \"analyse\"; did you mean \"analyze\"?; allowed: run, check, size, "
              "pcap, capture, extcap, analyze, serve, reload, status");
    EXPECT_EQ(unknown_command(*app, "frobnicate"),
              "unknown command \"frobnicate\"; allowed: run, check, size, pcap, capture, extcap, "
              "analyze, serve, reload, status");
}

TEST(Progress, says_how_much_time_is_left) {
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
    const auto left = [](std::uint64_t done, double seconds) {
        const std::string text =
            progress_text({done * kMiB, 100 * kMiB}, std::chrono::duration<double>(seconds));
        const std::size_t comma = text.find(", ");
        return comma == std::string::npos ? "" : text.substr(comma + 2);
    };
    EXPECT_EQ(left(25, 4), "12 s left");
    EXPECT_EQ(left(50, 0.5), "1 s left");
    EXPECT_EQ(left(10, 20), "3 min 00 s left");
    EXPECT_EQ(left(1, 60), "1 h 39 min left");
    EXPECT_EQ(left(100, 60), "0 s left");
    EXPECT_EQ(left(0, 60), "");
    EXPECT_EQ(progress_text({kMiB, 0}, std::chrono::seconds(9)), "1MiB");
    EXPECT_EQ(progress_text({50 * kMiB, 100 * kMiB}, std::chrono::seconds(9)),
              "[" + std::string(20, '#') + std::string(20, ' ') + "]  50 % of 100MiB, 9 s left");
}

}  // namespace
}  // namespace unecho::app
