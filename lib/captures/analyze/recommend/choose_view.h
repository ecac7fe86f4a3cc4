// SPDX-License-Identifier: BSD-3-Clause
// Whether the report is one of packets as they are, or of what is inside tunnels.
#pragma once

#include <span>

#include "captures/analyze/collect/findings.h"
#include "captures/analyze/report/report.h"

namespace unecho::analyze {

struct View {
    Findings* chosen = nullptr;
    Report report;
};

// That of which the recommended configuration would remove more copies; as they are where that is
// the same. later: by how much each capture began after the first. Judges both.
View choose_view(Views& views, std::span<const Nanoseconds> later = {});

}  // namespace unecho::analyze
