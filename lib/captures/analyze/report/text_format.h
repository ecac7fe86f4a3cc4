// SPDX-License-Identifier: BSD-3-Clause
// Names of settings in reports. captures/view/wording.h has words and lines.
#pragma once

#include <string_view>

#include "captures/view/wording.h"
#include "dedup/engines/engine.h"
#include "dedup/engines/spec.h"
#include "packets/keys/key.h"

namespace unecho::analyze {

// Return the name in configurations and options.
std::string_view text_of(engines::Engine engine);
std::string_view text_of(engines::Policy policy);
std::string_view text_of(packet::NonIp non_ip);
std::string_view text_of(packet::Tenant tenant);
std::string_view text_of(packet::Repeats repeats);
std::string_view text_of(packet::Tags tags);
std::string_view text_of(packet::Point point);
std::string_view text_of(packet::SecondLooks second_looks);

using view::bar;
using view::date_text;
using view::shell_word;
using view::wrapped;

}  // namespace unecho::analyze
