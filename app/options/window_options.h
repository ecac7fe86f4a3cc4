// SPDX-License-Identifier: BSD-3-Clause
// Options that define an echo, common to several commands: --key, --non-ip, --tunnels,
// --vxlan-ports, --tenant, --tags, --key-bytes, --window, --policy, --first.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "captures/dedup/options.h"
#include "options/arguments.h"

namespace unecho::app {

struct WindowOptions {
    OptionText key;
    OptionText non_ip;
    OptionText tunnels;
    OptionText vxlan_ports;
    OptionText tenant;
    OptionText tags;
    OptionText key_bytes;
    OptionText window;
    OptionText policy;
    OptionText first;

    [[nodiscard]] bool any() const {
        return key || non_ip || tunnels || vxlan_ports || tenant || tags || key_bytes || window ||
               policy || first;
    }
};

// The --help text of each option, without its values and default.
struct WindowWords {
    std::string key;
    std::string non_ip;
    std::string tunnels;
    std::string tags;
    std::string window;
    std::string policy;
    std::string first;
};

// Return the texts for commands that remove echoes.
WindowWords deciding_words();

// Options that distinguish copies from repeats: --repeats, --point, --same-port, --views,
// --second-looks, --group.
struct RepeatOptions {
    OptionText repeats;
    OptionText point;
    OptionText same_port;
    OptionText views;
    OptionText second_looks;
    std::vector<std::string> groups;

    [[nodiscard]] bool any() const {
        return repeats || point || same_port || views || second_looks || !groups.empty();
    }
};

void add_repeat_options(CLI::App& command, RepeatOptions& options);
void read_repeat_options(OptionReader& read, const RepeatOptions& given, dedup::Options& out);

void add_window_options(CLI::App& command, WindowOptions& options, const WindowWords& words);

void read_window_options(OptionReader& read, const WindowOptions& given, dedup::Options& out);

}  // namespace unecho::app
