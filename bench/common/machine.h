// SPDX-License-Identifier: BSD-3-Clause
// Facts that every benchmark states about its build and its machine.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace unecho::bench {

// Return why this build must not be measured; empty for an optimised build without checks.
std::string unfit_build();

std::string cpu_name();
// Return for example "g++ 12.2, -O3 -march=..., commit ...".
std::string build_text();

// Return time, CPU, caches, kernel, hugepages, compiler, flags and commit.
nlohmann::ordered_json machine_facts();

// Return the last CPU that this process may run on.
unsigned last_cpu();
// Return false if that is not allowed.
bool pin_to(unsigned cpu);

// Measure the rate of the CPU's time stamp counter against the system's clock.
double measure_tsc_hz();

// Return the bytes of free hugepages of the default size.
std::uint64_t free_hugepage_bytes();

}  // namespace unecho::bench
