// SPDX-License-Identifier: BSD-3-Clause
// The sentences of extcap(4) that Wireshark reads before a capture: interfaces, the link type of
// one of them, and the dialogue of options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "captures/live/live_interfaces.h"

namespace unecho::app {

std::string interface_sentences(const std::vector<capture::LiveInterface>& interfaces);

std::string link_sentences(const capture::LiveLink& link);

// The words of the dialogue for options that messages name, too.
inline constexpr const char* kTogetherWith = "Together with";
inline constexpr const char* kOnItsOwn = "On its own";

// Return the names that "Together with" offers for an interface: the others of the network.
std::vector<std::string> other_interfaces(const std::string& interface,
                                          const std::vector<capture::LiveInterface>& interfaces);

// others: what "Together with" offers.
std::string dialogue_sentences(const std::vector<std::string>& others);

// Return "eth0" for "unecho-eth0"; nothing for another interface.
std::optional<std::string> interface_of(const std::string& value);

}  // namespace unecho::app
