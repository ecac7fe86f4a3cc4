// SPDX-License-Identifier: BSD-3-Clause
// What a report says before all else: which packets could not be compared, which are there twice in
// a way that no key finds, and where nothing can be known. Else "no copies" would be read as an
// answer where the reason is another.
//
//   what             effect   packets
//   no_times         unknown  equal to an earlier one, while all have the same time
//   few_packets      unknown  equal to an earlier one, of a handful
//   short_frames     unknown  equal to an earlier one, and too short for addresses
//   link_type        hidden   of a link type without a parser
//   ether_type       hidden   of an EtherType without a name here
//   udp_tunnel       hidden   look like a tunnel on a UDP port that is not opened
//   tunnel           hidden   in tunnels that could not be opened to their end
//   malformed        hidden   cut short or damaged within their headers, or empty
//   cut_headers      hidden   cut short within the TCP or UDP header, while others are longer
//   clocks           stays    copies that no window reaches, as the clocks of taps differ
//   nat              stays    an earlier one with other addresses or ports
//   merged_segments  stays    TCP segments that hold the bytes of several others
#pragma once

#include <string>
#include <string_view>

#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/hidden_copies.h"

namespace unecho::analyze {

// After the recommendation.
void note_not_compared(Report& report, const HiddenCopyCounts& hidden);

// Whether one of them has this effect.
[[nodiscard]] bool any_not_compared(const Report& report, NotComparedEffect effect) noexcept;
[[nodiscard]] bool is_not_compared(const Report& report, std::string_view what) noexcept;

// One sentence in place of the share of copies; empty: that share is the answer.
[[nodiscard]] std::string no_verdict(const Report& report);

// Whether one of them says what a warning does.
[[nodiscard]] bool is_redundant(const Report& report, const Note& note) noexcept;

// "Not known", "Not compared" or "Not removed": what one of them begins with.
[[nodiscard]] std::string_view heading_of(const NotCompared& one) noexcept;

// The `editcap` that brings the clocks of two taps together; empty where none does.
[[nodiscard]] std::string shift_command(const Report& report);

}  // namespace unecho::analyze
