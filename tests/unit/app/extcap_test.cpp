// SPDX-License-Identifier: BSD-3-Clause
// The answers to Wireshark's extcap calls, and the protocol of its toolbar.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "extcap/extcap_dialogue.h"
#include "extcap/extcap_toolbar.h"

namespace unecho::app {
namespace {

TEST(Toolbar, a_message_is_as_wireshark_reads_it) {
    EXPECT_EQ(toolbar_bytes({.control = 2, .command = ToolbarCommand::kSet, .text = "717"}),
              std::string("T\0\0\5\2\1", 6) + "717");
    const std::string all = toolbar_bytes({.control = 0, .text = std::string(70000, 'x')});
    EXPECT_EQ(all.substr(0, 6), std::string("T\1\x11\x72\0\1", 6));
}

TEST(Toolbar, messages_are_found_wherever_the_bytes_are_parted) {
    const std::vector<ToolbarMessage> sent{{.control = 1, .text = "T\x01T"},
                                           {.command = ToolbarCommand::kInitialized, .text = ""},
                                           {.control = 255, .text = "end"}};
    std::string bytes = "noise";
    for (const ToolbarMessage& message : sent) {
        bytes += toolbar_bytes(message);
    }
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
        ToolbarReader reader;
        std::vector<ToolbarMessage> got = reader.take(std::string_view(bytes).substr(0, first));
        for (const char rest : bytes.substr(first)) {
            for (ToolbarMessage& one : reader.take(std::string_view(&rest, 1))) {
                got.push_back(std::move(one));
            }
        }
        ASSERT_EQ(got.size(), sent.size()) << first;
        for (std::size_t i = 0; i < sent.size(); ++i) {
            EXPECT_EQ(got[i].control, sent[i].control);
            EXPECT_EQ(got[i].command, sent[i].command);
            EXPECT_EQ(got[i].text, sent[i].text);
        }
    }
}

TEST(Toolbar, a_length_that_cannot_be_is_skipped) {
    ToolbarReader reader;
    const auto got = reader.take(std::string("T\0\0\1\0\0", 6) + toolbar_bytes({.text = "7"}));
    ASSERT_EQ(got.size(), 1);
    EXPECT_EQ(got[0].text, "7");
}

TEST(Dialogue, interfaces_that_cannot_be_said_or_are_of_no_network_are_left_out) {
    const auto one = [](const char* name, bool network) {
        return capture::LiveInterface{
            .name = name, .description = "", .up = true, .network = network};
    };
    const std::string said = interface_sentences(
        {one("eth0", true), one("usbmon0", false), one("a}b", true), one("a\nb", true)});
    EXPECT_NE(said.find("interface {value=unecho-eth0}{display=eth0 without echoes (unecho)}\n"),
              std::string::npos);
    EXPECT_EQ(said.find("interface "), said.rfind("interface "));
}

TEST(Dialogue, offers_the_other_interfaces_of_the_network_together) {
    const auto one = [](const char* name, bool network = true) {
        return capture::LiveInterface{
            .name = name, .description = "", .up = true, .network = network};
    };
    const std::vector<capture::LiveInterface> all{one("any"), one("eth0"), one("usbmon0", false),
                                                  one("a}b"), one("a,b"),  one("tap0"),
                                                  one("tap1")};
    EXPECT_EQ(other_interfaces("eth0", all), (std::vector<std::string>{"tap0", "tap1"}));
    EXPECT_TRUE(other_interfaces("any", all).empty());
    const std::string said = dialogue_sentences({"tap0", "tap1"});
    const auto at = said.find("{call=--with}{display=Together with}");
    ASSERT_NE(at, std::string::npos);
    EXPECT_NE(said.find("{type=multicheck}{group=Capturing}\n"
                        "value {arg=7}{value=tap0}{display=tap0}{default=false}\n"
                        "value {arg=7}{value=tap1}{display=tap1}{default=false}\n"
                        "arg {number=8}{call=--alone}{display=On its own}",
                        at),
              std::string::npos)
        << said;
    EXPECT_EQ(dialogue_sentences({}).find("multicheck"), std::string::npos);
}

TEST(Dialogue, a_value_names_its_interface) {
    EXPECT_EQ(interface_of("unecho-eth0"), "eth0");
    EXPECT_EQ(interface_of("unecho-unecho-"), "unecho-");
    EXPECT_FALSE(interface_of("unecho-"));
    EXPECT_FALSE(interface_of("eth0"));
    EXPECT_FALSE(interface_of(""));
}

}  // namespace
}  // namespace unecho::app
