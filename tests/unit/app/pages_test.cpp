// SPDX-License-Identifier: BSD-3-Clause
// The man page of a command line that has every kind of option.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "options/command_line.h"
#include "options/examples.h"
#include "pages/commands_of.h"
#include "pages/man_page.h"
#include "pages/roff.h"
#include "pages/toml_page.h"

namespace unecho::app {
namespace {

class Line {
  public:
    Line() : app_("Removes things.", "unecho") {
        app_.set_version_flag("--version", "1");
        CLI::App* clean = app_.add_subcommand("clean", "Clean captures");
        clean->add_option("IN", inputs_, "Captures")->required();
        clean->add_option("-o,--output", output_, "The result")->type_name("FILE")->required();
        clean->add_option("--key", key_, "What is compared")
            ->check(CLI::IsMember(std::vector<std::string>{"packet", "flow", "flow-bidir"}));
        clean->add_option("--engine", engine_, "The filter")->option_text("auto|exact");
        clean->add_option("--window", window_, "How long")->capture_default_str();
        clean->add_option("--table", table_, "What to load")->check(CLI::ExistingFile);
        clean->add_flag("-q,--quiet", quiet_, "Say .nothing")->group("Talk");
        clean->add_flag("--secret", quiet_, "Not for users")->group("");
        app_.add_subcommand("bare", "Without positionals")->add_flag("-x,--extra", quiet_);
        clean->footer("A word at the end.");
        app_.add_subcommand("empty", "Nothing")->group("");
    }

    [[nodiscard]] CommandPage program() const { return program_of(app_); }
    [[nodiscard]] std::vector<CommandPage> commands() const { return commands_of(app_); }
    [[nodiscard]] std::string man() const { return man_page(program(), commands()); }

  private:
    CLI::App app_;
    std::vector<std::string> inputs_;
    std::string output_;
    std::string key_;
    std::string engine_;
    std::string window_ = "50ms";
    std::string table_;
    bool quiet_ = false;
};

const OptionPage& option(const CommandPage& command, const std::string& name) {
    for (const OptionPage& each : command.options) {
        if (each.names.back() == name) {
            return each;
        }
    }
    throw std::out_of_range(name);
}

using Words = std::vector<std::string>;

TEST(CommandsOf, hidden_ones_are_left_out) {
    const Line line;
    ASSERT_EQ(line.commands().size(), 2U);
    EXPECT_THROW(option(line.commands()[0], "--secret"), std::out_of_range);
    EXPECT_EQ(option(line.commands()[0], "--quiet").names, (Words{"-q", "--quiet"}));
}

TEST(CommandsOf, values_are_told_from_flags) {
    const Line line;
    const CommandPage clean = line.commands()[0];
    EXPECT_FALSE(option(clean, "--quiet").takes_value);
    EXPECT_FALSE(option(clean, "--help").takes_value);
    EXPECT_FALSE(option(line.program(), "--version").takes_value);
    EXPECT_TRUE(option(clean, "--window").takes_value);
    EXPECT_EQ(option(clean, "--window").fallback, "50ms");
    EXPECT_TRUE(option(clean, "--output").required);
    EXPECT_FALSE(option(clean, "--key").required);
    EXPECT_TRUE(option(clean, "IN").positional);
    EXPECT_TRUE(option(clean, "IN").repeated);
    EXPECT_EQ(clean.options[0].names[0], "IN");
}

TEST(CommandsOf, choices_and_files_are_known) {
    const CommandPage clean = Line().commands()[0];
    EXPECT_EQ(option(clean, "--key").choices, (Words{"packet", "flow", "flow-bidir"}));
    EXPECT_EQ(option(clean, "--engine").choices, (Words{"auto", "exact"}));
    EXPECT_TRUE(option(clean, "--output").takes_file);
    EXPECT_TRUE(option(clean, "--table").takes_file);
    EXPECT_TRUE(option(clean, "IN").takes_file);
    EXPECT_FALSE(option(clean, "--window").takes_file);
    EXPECT_FALSE(option(clean, "--key").takes_file);
}

TEST(CommandsOf, usage_has_what_is_required) {
    EXPECT_EQ(usage_of(Line().commands()[0]), (Words{"IN...", "--output FILE", "[options]"}));
}

TEST(Roff, text_holds_no_request_and_no_escape) {
    EXPECT_EQ(roff_text(".x\n'y -1 a\\b ~^`"), "\\&.x\n\\&\\(aqy \\-1 a\\eb \\(ti\\(ha\\(ga");
    EXPECT_EQ(roff_argument("a \"b\""), "\"a \\(dqb\\(dq\"");
}

TEST(ManPage, option_entries_have_names_value_default_and_text) {
    const std::string man = Line().man();
    for (const char* part : {
             ".SS \"unecho clean\"\nClean captures.\n",
             ".TP\n\\fIIN\\fR ...\nCaptures.\n",
             ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\nThe result. Required.\n",
             "\\fB\\-\\-key\\fR \\fBpacket|flow|flow\\-bidir\\fR\nWhat is compared.\n",
             "\\fB\\-\\-window\\fR \\fITEXT\\fR\nHow long. Default: 50ms.\n",
             "\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\nSay .nothing.\n",
             "A word at the end.",
             ".SH EXIT STATUS\n.TP\n\\fB0\\fR\ndone\n",
         }) {
        EXPECT_NE(man.find(part), std::string::npos) << part << "\nnot in\n" << man;
    }
    EXPECT_EQ(man.find("secret"), std::string::npos);
}

TEST(CommandsOf, values_that_completions_offer_are_known) {
    const EalArgs none;
    Action action;
    const auto commands = commands_of(*make_command_line(none, action));
    const auto of = [&](const std::string& command, const std::string& name) {
        const auto found = std::find_if(commands.begin(), commands.end(),
                                        [&](const auto& one) { return one.name == command; });
        return option(*found, name);
    };
    EXPECT_EQ(of("capture", "--interface").values_of_host, "interfaces");
    EXPECT_EQ(of("status", "NAME").values_of_host, "appliances");
    EXPECT_EQ(of("run", "CONFIG").suffixes, (Words{"toml"}));
    EXPECT_EQ(of("pcap", "IN").suffixes, (Words{"pcap", "cap"}));
    EXPECT_TRUE(of("pcap", "--output").suffixes.empty());
    EXPECT_TRUE(of("pcap", "--tunnels").is_list);
    EXPECT_EQ(of("pcap", "--tunnels").value, "LIST");
    EXPECT_TRUE(of("init", "--link").is_list);
    const Words choices = of("help", "COMMAND").choices;
    EXPECT_EQ(choices.size(), commands.size());
}

TEST(ManPage, examples_of_other_commands_are_left_out) {
    EXPECT_EQ(Line().man().find("unecho size"), std::string::npos);
}

// write_pages checks the same, so the build makes no page with a broken example.
TEST(ManPage, examples_are_understood_by_the_command_line) {
    const EalArgs none;
    Action action;
    const auto app = make_command_line(none, action);
    EXPECT_TRUE(examples_not_understood(commands_of(*app)).empty());
    CLI::App* const size = app->get_subcommand("size");
    size->remove_option(size->get_option("--rate"));
    const auto left_out = examples_not_understood(commands_of(*app));
    ASSERT_EQ(left_out.size(), 1U);
    EXPECT_NE(left_out[0].find("unecho size --window 50ms --rate"), std::string::npos);
}

TEST(ManPage, every_command_has_an_example) {
    const EalArgs none;
    Action action;
    for (const CommandPage& command : commands_of(*make_command_line(none, action))) {
        EXPECT_TRUE(std::any_of(
            all_examples().begin(), all_examples().end(),
            [&](const Example& example) { return command_of(example) == command.name; }))
            << command.name;
    }
}

TEST(TomlPage, missing_key_is_an_error) {
    const auto page = toml_page("# Nothing\n\n| key | allowed | default | meaning |\n");
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().context.substr(0, 18), "no row for the key");
}

}  // namespace
}  // namespace unecho::app
