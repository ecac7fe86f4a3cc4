// SPDX-License-Identifier: BSD-3-Clause
// Messages about a command line that is not understood, and about the duration of a run.
#include "options/usage.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "options/command_line.h"
#include "options/help.h"
#include "options/version.h"
#include "terminal/long_run.h"

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
    EXPECT_EQ(problem_of({"pcap", "--hlep"}), "--hlep is no option; did you mean \"--help\"?");
}

TEST(Usage, options_before_any_command_are_named_too) {
    EXPECT_EQ(problem_of({"--hlep"}), "--hlep is no option; did you mean \"--help\"?");
    EXPECT_EQ(problem_of({"--verzion"}), "--verzion is no option; did you mean \"--version\"?");
    EXPECT_EQ(problem_of({"-V"}), "-V is no option; --version says the version");
    EXPECT_EQ(problem_of({"-x"}), "-x is no option");
}

TEST(Usage, options_of_dpdk_belong_behind_two_dashes) {
    for (const std::string option : {"--no-huge", "--file-prefix=x", "--in-mem", "-m512", "-n"}) {
        const std::string name =
            option.substr(0, option.find('=')).substr(0, option[1] == '-' ? 99 : 2);
        EXPECT_EQ(problem_of({"run", "link.toml", option}),
                  name +
                      " is no option; it is an option of DPDK, which belongs behind --: unecho "
                      "run CONFIG -- " +
                      option);
    }
    EXPECT_EQ(problem_of({"run", "link.toml", "--lcores=1"}),
              "--lcores is no option; DPDK's option of this name is made from the configuration: "
              "[workers] lcores and [control] lcore");
    EXPECT_EQ(problem_of({"run", "link.toml", "--durration", "1s"}),
              "--durration is no option; did you mean \"--duration\"?");
    EXPECT_EQ(problem_of({"check", "link.toml", "--no-huge"}), "--no-huge is no option");
}

TEST(Usage, the_command_that_was_meant_is_named) {
    const EalArgs none;
    Action action;
    const auto app = make_command_line(none, action);
    EXPECT_EQ(unknown_command(*app, "analyse"),
              "unknown command \"analyse\"; did you mean \"analyze\"?; allowed: pcap, analyze, "
              "compare, capture, extcap, init, check, run, reload, status, serve, size, help, "
              "version");
    EXPECT_EQ(unknown_command(*app, "frobnicate"),
              "unknown command \"frobnicate\"; allowed: pcap, analyze, compare, capture, extcap, "
              "init, check, run, reload, status, serve, size, help, version");
}

TEST(Help, ends_with_examples_of_its_command) {
    const EalArgs none;
    Action action;
    const auto app = make_command_line(none, action);
    for (const CLI::App* command : app->get_subcommands({})) {
        if (!command->get_group().empty()) {
            const std::string text = help_text(*app, command);
            EXPECT_NE(text.find("Usage: unecho " + command->get_name()), std::string::npos) << text;
            EXPECT_NE(text.find("\nExamples:\n  "), std::string::npos) << command->get_name();
        }
    }
    const std::string all = help_text(*app, nullptr);
    EXPECT_NE(all.find("\nExamples:\n  unecho pcap in.pcap -o out.pcap\n"), std::string::npos);
    EXPECT_EQ(all.find("__complete"), std::string::npos);
}

TEST(Help, without_a_command_fits_on_a_screen) {
    const EalArgs none;
    Action action;
    const auto app = make_command_line(none, action);
    const std::string text = short_help(*app);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 23);
    EXPECT_NE(text.find("\n  pcap     Remove duplicate packets"), std::string::npos) << text;
    EXPECT_NE(text.find("unecho help COMMAND"), std::string::npos);
}

TEST(Version, names_what_a_bug_report_needs) {
    const std::string text = version_text();
    EXPECT_EQ(text.find("unecho "), 0U);
    for (const char* part : {", commit ", "\nDPDK ", "\nLinux ", "\nfilter kernels up to "}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << text;
    }
}

TEST(Progress, of_a_capture_counts_packets_echoes_and_drops) {
    EXPECT_EQ(capture_progress_text(1234567, 1, 0), "1,234,567 packets, 1 echo, 0 dropped");
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
    EXPECT_EQ(progress_text({kMiB, 0}, std::chrono::seconds(9)), "1 MiB");
    EXPECT_EQ(progress_text({50 * kMiB, 100 * kMiB}, std::chrono::seconds(9)),
              "[" + std::string(20, '#') + std::string(20, ' ') + "]  50 % of 100 MiB, 9 s left");
}

}  // namespace
}  // namespace unecho::app
