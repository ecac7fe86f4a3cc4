// SPDX-License-Identifier: BSD-3-Clause
// Errors for impossible options: one line that begins with the option or the command, and names
// what is allowed.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "options/command_line.h"

namespace unecho::app {
namespace {

// Return the error, or "" if the command was accepted.
std::string rejected(std::vector<std::string> args) {
    const EalArgs none;
    Action action;
    const auto app = make_command_line(none, action);
    std::reverse(args.begin(), args.end());
    app->parse(args);
    const CommandResult outcome = action();
    return outcome ? "" : outcome.error().context;
}

std::string size_problem(std::vector<std::string> options) {
    options.insert(options.begin(), {"size", "--window", "50ms", "--rate", "1Mpps"});
    return rejected(std::move(options));
}

TEST(Answers, of_a_chance_of_false_drops_name_the_option_and_its_range) {
    for (const char* given : {"2", "0.51", "0", "-1", "nan", "inf"}) {
        const std::string text = std::string("--max-false-drop: \"") + given +
                                 "\"; allowed: above 0 up to 0.5, as in 1e-6";
        EXPECT_EQ(size_problem({"--max-false-drop", given}), text);
        EXPECT_EQ(rejected({"pcap", "in.pcap", "--dry-run", "--max-false-drop", given}), text);
    }
    EXPECT_EQ(size_problem({"--max-false-drop", "1 %"}),
              "--max-false-drop: \"1 %\" is no number; allowed: above 0 up to 0.5, as in 1e-6");
}

TEST(Answers, of_size_begin_with_the_option_or_with_its_name) {
    EXPECT_EQ(rejected({"size", "--window", "50ms"}), "size: --rate or --memory is needed");
    EXPECT_EQ(size_problem({"--first", "2"}),
              "--first: counts packets of a flow; it needs key \"flow\" or \"flow-bidir\"");
    EXPECT_EQ(rejected({"size", "--window", "1h", "--rate", "1Gpps", "--max-false-drop", "1e-9"})
                  .find("size: no engine can, for instance "),
              0U);
}

}  // namespace
}  // namespace unecho::app
