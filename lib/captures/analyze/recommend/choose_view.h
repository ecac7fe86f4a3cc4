// SPDX-License-Identifier: BSD-3-Clause
// Choose what the report describes: packets as they are, or those inside tunnels.
#pragma once

#include <span>

#include "captures/analyze/collect/findings.h"
#include "captures/analyze/report/report.h"

namespace unecho::analyze {

struct View {
    Findings* chosen = nullptr;
    Report report;
};

// Judge both views and return the one whose recommendation would remove more copies; packets as
// they are if both are equal. later: by how much later than the first each capture began.
View choose_view(Views& views, std::span<const Nanoseconds> later = {});

}  // namespace unecho::analyze
