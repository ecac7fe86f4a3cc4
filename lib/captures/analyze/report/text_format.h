// SPDX-License-Identifier: BSD-3-Clause
// Text of reports, beside base/humanize.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "dedup/engines/engine.h"
#include "dedup/engines/spec.h"
#include "packets/keys/key.h"

namespace unecho::analyze {

// As configurations and options have them.
std::string_view text_of(engines::Engine engine);
std::string_view text_of(engines::Policy policy);
std::string_view text_of(packet::NonIp non_ip);
std::string_view text_of(packet::Tenant tenant);
std::string_view text_of(packet::Repeats repeats);
std::string_view text_of(packet::Tags tags);
std::string_view text_of(packet::Point point);
std::string_view text_of(packet::SecondLooks second_looks);

std::string joined(const std::vector<std::string>& names, std::string_view between);
// "2026-11-21 14:36:19", in UTC
std::string date_text(Nanoseconds since_1970);
// In lines of at most so many columns, each begun by indent; a longer word has a line of its own.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t columns = 96);
// As a shell takes it for one word.
std::string shell_word(const std::string& path);
// As many # of `width` as the share says, at least one where it is not 0.
std::string bar(double share, std::size_t width);

}  // namespace unecho::analyze
