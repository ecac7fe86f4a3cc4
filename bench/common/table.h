// SPDX-License-Identifier: BSD-3-Clause
// Tables of filters. Google Benchmark selects the rows and writes the JSON file
// (--benchmark_filter, --benchmark_out); run_table() prints one line a row meanwhile.
#pragma once

#include <string>
#include <vector>

#include "common/row.h"

namespace unecho::bench {

struct TableOptions {
    std::string program;
    double row_seconds = 0.08;
    unsigned bursts = 20'000;  // timed one by one, for the worst burst
    unsigned cpu = 0;
    bool smoke = false;  // small and short, in any build
    bool full = false;   // every combination of echoes and bursts
    double false_positives = 1e-3;
    bool judge = false;       // it is also the bound of each match; a match above it is a doubt
    double echo_reach = 0.5;  // echoes repeat this share of the window, the youngest part
    std::uint64_t dram_mib = 128;
};

// Parse Google Benchmark's options, then these. Some of them have no effect in some programs.
Result<TableOptions> parse_options(int argc, char** argv);

// Return 0, 10, 50, 90 % echoes at bursts of 32, and bursts of 1, 8, 64 without; all if full.
std::vector<RowSpec> usual_rows(bool full);
// Return 0 and 50 % echoes at bursts of 32; all combinations if full.
std::vector<RowSpec> few_rows(bool full);
// Return 0 and 50 % echoes at bursts of 32, and 0 at 64, with pipelined prefetch (named /ahead).
std::vector<RowSpec> ahead_rows();

// Run the selected rows in the order of the groups; return the exit status.
int run_table(const TableOptions& options, std::vector<RowGroup> groups);

}  // namespace unecho::bench
