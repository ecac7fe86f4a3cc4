// SPDX-License-Identifier: BSD-3-Clause
// Words and lines of reports, in addition to base/humanize.h.
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

// Return the name in configurations and options.
std::string_view text_of(engines::Engine engine);
std::string_view text_of(engines::Policy policy);
std::string_view text_of(packet::NonIp non_ip);
std::string_view text_of(packet::Tenant tenant);
std::string_view text_of(packet::Repeats repeats);
std::string_view text_of(packet::Tags tags);
std::string_view text_of(packet::Point point);
std::string_view text_of(packet::SecondLooks second_looks);

// "2026-11-21 14:36:19", in UTC
std::string date_text(Nanoseconds since_1970);
// Break text into lines of at most so many columns with this indent; long words stay whole.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t columns = 96);
// Quote a path so that a shell takes it as one word.
std::string shell_word(const std::string& path);
// Return `width` times the share as #, at least one unless the share is 0.
std::string bar(double share, std::size_t width);

}  // namespace unecho::analyze
