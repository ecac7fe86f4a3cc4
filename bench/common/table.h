// SPDX-License-Identifier: BSD-3-Clause
// Tables of filters: Google Benchmark chooses the rows and writes the JSON file
// (--benchmark_filter, --benchmark_out), this prints one line a row while they run.
#pragma once

#include <string>
#include <vector>

#include "common/row.h"

namespace unecho::bench {

struct TableOptions {
    std::string program;
    double row_seconds = 0.08;
    unsigned bursts = 20'000;  // timed each, for the worst
    unsigned cpu = 0;
    bool smoke = false;  // small and short, in any build
    bool full = false;   // every combination of echoes and bursts
    double false_positives = 1e-3;
    bool judge = false;       // the same is the bound of each match; a match above it is a doubt
    double echo_reach = 0.5;  // echoes repeat the younger part of the window, so much of it
    std::uint64_t dram_mib = 128;
};

// Takes Google Benchmark's options and then these, of which some may do nothing in a program.
Result<TableOptions> parse_options(int argc, char** argv);

// Echoes 0, 10, 50, 90 % at bursts of 32, and bursts 1, 8, 64 without echoes; all combinations if
// full.
std::vector<RowSpec> usual_rows(bool full);
// Echoes 0 and 50 % at bursts of 32; all combinations if full.
std::vector<RowSpec> few_rows(bool full);
// Echoes 0 and 50 % at bursts of 32, 0 at 64, each burst told of one ahead; named with /ahead.
std::vector<RowSpec> ahead_rows();

// Runs the rows that were chosen, in the order of the groups; the exit status.
int run_table(const TableOptions& options, std::vector<RowGroup> groups);

}  // namespace unecho::bench
