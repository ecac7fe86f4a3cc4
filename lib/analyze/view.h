// SPDX-License-Identifier: BSD-3-Clause
// Whether the report is of packets as they are, or of those inside their tunnels.
#pragma once

#include "analyze/collector.h"
#include "analyze/report.h"

namespace unecho::analyze {

// Of packets as they are; but where some copies are found only inside tunnels, and worth removing,
// of the innermost packets.
struct View {
    Collector* collector = nullptr;  // whose it is
    Report report;                   // with what is in which tunnel; without a recommendation
};

[[nodiscard]] View choose_view(Collector& collector);

}  // namespace unecho::analyze
