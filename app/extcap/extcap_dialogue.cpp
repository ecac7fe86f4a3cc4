// SPDX-License-Identifier: BSD-3-Clause
#include "extcap/extcap_dialogue.h"

#include <algorithm>
#include <string_view>

#include "base/option_names.h"
#include "base/utf8.h"
#include "captures/dedup/options.h"
#include "config/schema.h"
#include "extcap/extcap_toolbar.h"
#include "options/arguments.h"

namespace unecho::app {
namespace {

constexpr std::string_view kPrefix = "unecho-";
constexpr std::string_view kAnyOf = "multicheck";  // chosen values come with commas between

// Replace characters that would end a value or a sentence.
std::string value_text(std::string_view text) {
    std::string out = printable(text);
    std::replace(out.begin(), out.end(), '{', '(');
    std::replace(out.begin(), out.end(), '}', ')');
    return out;
}

bool is_offered(const capture::LiveInterface& one) {
    return one.network && value_text(one.name) == one.name;
}

struct ShownOption {
    const option::Name& option;
    const char* display;
    const char* tooltip;
    const char* type;
    const char* group;
    std::string fallback;  // the first of choices, if one of them is chosen
    std::vector<std::string> choices;
};

template <typename Names>
std::vector<std::string> words(const Names& names) {
    return {names.begin(), names.end()};
}

std::vector<ShownOption> questions(const std::vector<std::string>& others) {
    constexpr const char* kEchoes = "Echoes";
    constexpr const char* kCapturing = "Capturing";
    constexpr const char* kMemory = "Memory";
    constexpr const char* kOneOf = "selector";
    constexpr const char* kText = "string";
    constexpr const char* kFlag = "boolflag";
    return {
        {option::kWindow,
         "Window",
         "A copy younger than this is an echo: 5ms, 50ms, 1s, inf",
         kText,
         kEchoes,
         duration_literal(dedup::kDefaultWindow),
         {}},
        {option::kMark,
         "Mark instead of drop",
         "Echoes stay, each with a comment that names the packet it repeats",
         kFlag,
         kEchoes,
         "false",
         {}},
        {option::kKey, "Key",
         "What makes packets the same: the IP packet without what hops change, its flow, or every "
         "byte",
         kOneOf, kEchoes, "", words(config::kKeyNames)},
        {option::kTunnels,
         "Tunnels",
         "Encapsulations to look into, for the key of the packet inside: none, all, or names with "
         "commas between, as vxlan,gre",
         kText,
         kEchoes,
         "none",
         {}},
        {option::kNonIp, "Frames without IP",
         "Whether equal ones are echoes too: with frame they are", kOneOf, kEchoes, "",
         words(config::kNonIpNames)},
        {option::kPolicy, "Policy", "With refresh an echo prolongs the window", kOneOf, kEchoes, "",
         words(config::kPolicyNames)},
        {option::kFirst,
         "Packets of a flow",
         "That pass in each window, with a key of flows",
         "unsigned",
         kEchoes,
         "1",
         {}},
        {option::kWith, kTogetherWith,
         "Captured with this interface, so that a packet seen on several of them is shown once",
         kAnyOf.data(), kCapturing, "", others},
        {option::kAlone,
         kOnItsOwn,
         "Capture even if this Wireshark also captures from another interface without echoes; the "
         "two captures do not see each other's packets",
         kFlag,
         kCapturing,
         "false",
         {}},
        {option::kLongNotPromiscuous,
         "Packets for this host alone",
         "Not promiscuous",
         kFlag,
         kCapturing,
         "false",
         {}},
        {option::kLongSnap,
         "Snapshot length",
         "So many bytes of each packet; 0: all",
         "unsigned",
         kCapturing,
         "0",
         {}},
        {option::kBuffer,
         "Kernel's buffer",
         "64KiB to 1GiB; empty: libpcap's default",
         kText,
         kCapturing,
         "",
         {}},
        {option::kMemory,
         "Memory",
         "At most this much in all",
         kText,
         kMemory,
         size_literal(dedup::kDefaultMemory),
         {}},
        {option::kEngine, "Engine",
         "How echoes are found: auto is exact as long as the memory allows, then a filter", kOneOf,
         kMemory, "", words(config::kEngineNames)},
    };
}

std::string sentences_of(const ShownOption& question, const std::string& number) {
    std::string out = "arg {number=" + number + "}{call=" + std::string(question.option) +
                      "}{display=" + question.display + "}{tooltip=" + question.tooltip +
                      "}{type=" + question.type + "}{group=" + question.group + "}";
    const bool one_of = !question.choices.empty() && question.type != kAnyOf;
    const std::string fallback = one_of ? question.choices.front() : question.fallback;
    out += fallback.empty() ? "\n" : "{default=" + fallback + "}\n";
    for (const std::string& choice : question.choices) {
        out += "value {arg=" + number + "}{value=" + choice + "}{display=" + choice +
               "}{default=" + (choice == fallback ? "true" : "false") + "}\n";
    }
    return out;
}

}  // namespace

std::string interface_sentences(const std::vector<capture::LiveInterface>& interfaces) {
    std::string out =
        "extcap {version=" UNECHO_VERSION "}{display=Captures without echoes (unecho)}\n";
    for (const capture::LiveInterface& one : interfaces) {
        if (is_offered(one)) {
            out += "interface {value=" + std::string(kPrefix) + one.name + "}{display=" + one.name +
                   " without echoes (unecho)}\n";
        }
    }
    return out + toolbar_sentences();
}

std::string link_sentences(const capture::LiveLink& link) {
    return "dlt {number=" + std::to_string(link.dlt) + "}{name=" + value_text(link.name) +
           "}{display=" + value_text(link.description) + "}\n";
}

std::vector<std::string> other_interfaces(const std::string& interface,
                                          const std::vector<capture::LiveInterface>& interfaces) {
    std::vector<std::string> others;
    for (const capture::LiveInterface& one : interfaces) {
        const bool is_other = one.name != interface && interface != capture::kAnyInterface &&
                              one.name != capture::kAnyInterface;
        if (is_other && is_offered(one) && one.name.find(',') == std::string::npos) {
            others.push_back(one.name);
        }
    }
    return others;
}

std::string dialogue_sentences(const std::vector<std::string>& others) {
    std::string out;
    std::size_t number = 0;
    for (const ShownOption& question : questions(others)) {
        if (question.type != kAnyOf || !question.choices.empty()) {
            out += sentences_of(question, std::to_string(number++));
        }
    }
    return out;
}

std::optional<std::string> interface_of(const std::string& value) {
    return value.starts_with(kPrefix) && value.size() > kPrefix.size()
               ? std::optional(value.substr(kPrefix.size()))
               : std::nullopt;
}

}  // namespace unecho::app
