// SPDX-License-Identifier: BSD-3-Clause
// What Wireshark is told before a capture, in the sentences of extcap(4): the interfaces, the link
// type of one, and the dialogue of its options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "captures/live/live_interfaces.h"

namespace unecho::app {

std::string interface_sentences(const std::vector<capture::LiveInterface>& interfaces);

std::string link_sentences(const capture::LiveLink& link);

std::string dialogue_sentences();

// "eth0" of "unecho-eth0"; absent: none of ours.
std::optional<std::string> interface_of(const std::string& value);

}  // namespace unecho::app
