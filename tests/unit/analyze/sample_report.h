// SPDX-License-Identifier: BSD-3-Clause
// Reports made by hand, to test their output. Sums agree where a page shows both.
#pragma once

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Two taps around a router, the second with retagged copies: everything that a report can hold.
Report sample_report();

Report empty_report();          // no packet
Report single_packet_report();  // one packet, no duration
Report no_echo_report();        // packets, none twice
Report same_time_report();      // echoes at the times of their originals, one stretch of time

// Everything is long: names, numbers, days; ages from nothing to minutes; twenty interfaces.
Report vast_report();

// sample_report() with markup, quotes and invalid text wherever a capture may put them, and with as
// many powers of ten as an axis has labels for.
Report hostile_report();

}  // namespace unecho::analyze
