// SPDX-License-Identifier: BSD-3-Clause
#include "window_options.h"

#include "base/option_names.h"
#include "config/schema.h"

namespace unecho::app {

void add_window_options(CLI::App& command, WindowOptions& options, const WindowWords& words) {
    const auto one = [&](const option::Name& name, Text& text, const std::string& help,
                         const auto& names) {
        command.add_option(name, text, help + ": " + first_or(names))->type_name(one_of(names));
    };
    one(option::kKey, options.key, words.key, config::kKeyNames);
    one(option::kNonIp, options.non_ip, words.non_ip, config::kNonIpNames);
    command
        .add_option(
            option::kWindow, options.window,
            words.window + ": " + format_duration(offline::kDefaultWindow) + " (default), or inf")
        ->type_name("DURATION");
    one(option::kPolicy, options.policy, words.policy, config::kPolicyNames);
    command.add_option(option::kFirst, options.first, words.first + " (1)")->type_name("N");
}

void read_window_options(Reading& read, const WindowOptions& given, offline::Options& out) {
    read(option::kKey, given.key, name_in(config::kKeyNames),
         [&](std::size_t i) { out.key = static_cast<packet::KeyMode>(i); });
    read(option::kNonIp, given.non_ip, name_in(config::kNonIpNames),
         [&](std::size_t i) { out.non_ip = static_cast<packet::NonIp>(i); });
    read(option::kWindow, given.window, parse_window, [&](Nanoseconds w) { out.window = w; });
    read(option::kPolicy, given.policy, name_in(config::kPolicyNames),
         [&](std::size_t i) { out.policy = static_cast<config::Policy>(i); });
    read(option::kFirst, given.first, parse_first, [&](unsigned n) { out.first = n; });
}

}  // namespace unecho::app
