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

std::string dialogue_sentences();

// Return "eth0" for "unecho-eth0"; nothing for another interface.
std::optional<std::string> interface_of(const std::string& value);

}  // namespace unecho::app
