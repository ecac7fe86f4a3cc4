// SPDX-License-Identifier: BSD-3-Clause
// The result as text and as JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "row.h"

namespace unecho::bench {

struct RunFacts {
    double tsc_hz = 0;
    bool hugepages = false;
    unsigned cpu = 0;
    unsigned window = 0;
    unsigned burst = 0;
    bool smoke = false;
};

using Rows = std::vector<std::unique_ptr<Row>>;

void print(const RunFacts& facts, const Rows& rows);
Status write_json(const std::string& path, const RunFacts& facts, const Rows& rows);

}  // namespace unecho::bench
