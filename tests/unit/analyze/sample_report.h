// SPDX-License-Identifier: BSD-3-Clause
// Reports made by hand, for what is drawn of them. Their sums agree where a page shows both.
#pragma once

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Two taps around a router, a second of retagged copies: everything a report can hold.
Report sample_report();

Report empty_report();          // no packet
Report single_packet_report();  // one packet, no time passes
Report no_echo_report();        // packets, none twice
Report same_time_report();      // echoes with the time of their packets, one stretch of time

// Everything long: names, numbers, days, ages from nothing to minutes, twenty interfaces.
Report vast_report();

// sample_report() with markup, quotes and bytes that are no text wherever a capture may put them,
// and as many powers of ten as an axis has labels for.
Report hostile_report();

}  // namespace unecho::analyze
