// SPDX-License-Identifier: BSD-3-Clause
// Notes that a report states first: packets that could not be compared, packets that exist twice in
// a way that no key finds, and cases where nothing can be known. Without them "no copies" would be
// read as an answer although the reason is another.
//
//   what             effect   packets
//   no_times         unknown  equal to an earlier one, while all have the same time
//   few_packets      unknown  equal to an earlier one, in a capture of a few packets
//   short_frames     unknown  equal to an earlier one, and too short for addresses
//   link_type        hidden   of a link type without a parser
//   ether_type       hidden   of an EtherType without a name here
//   udp_tunnel       hidden   look like a tunnel on a UDP port that is not opened
//   tunnel           hidden   in tunnels that could not be opened to their end
//   malformed        hidden   cut short or damaged within their headers, or empty
//   cut_headers      hidden   cut short within the TCP or UDP header, while others are longer
//   clocks           stays    copies that no window reaches, as the clocks of taps differ
//   nat              stays    equal to an earlier one but for addresses or ports
//   merged_segments  stays    TCP segments that hold the bytes of several others
#pragma once

#include <string>
#include <string_view>

#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/hidden_copies.h"

namespace unecho::analyze {

// Add the notes to the report, after its recommendation.
void note_not_compared(Report& report, const HiddenCopyCounts& hidden);

[[nodiscard]] bool any_not_compared(const Report& report, NotComparedEffect effect) noexcept;
[[nodiscard]] bool is_not_compared(const Report& report, std::string_view what) noexcept;

// Return a sentence that replaces the share of copies; empty if that share is the answer.
[[nodiscard]] std::string no_verdict(const Report& report);

// Return true if one of the notes says what a warning does.
[[nodiscard]] bool is_redundant(const Report& report, const Note& note) noexcept;

// Return how a note begins: "Not known", "Not compared" or "Not removed".
[[nodiscard]] std::string_view heading_of(const NotCompared& one) noexcept;

// Return the `editcap` command that aligns the clocks of two taps; empty if none does.
[[nodiscard]] std::string shift_command(const Report& report);

}  // namespace unecho::analyze
