// SPDX-License-Identifier: BSD-3-Clause
// What every benchmark says of the build and of the machine it ran on.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace unecho::bench {

// Why numbers of this build would mean nothing; empty for an optimised build without checks.
std::string unfit_build();

// The model name of the CPU.
std::string cpu_name();
// "g++ 12.2, -O3 -march=..., commit ...".
std::string build_text();

// Time, CPU, caches, kernel, hugepages, compiler, flags, commit.
nlohmann::ordered_json machine_facts();

// The last CPU that this process may run on.
unsigned last_cpu();
// False where that is not allowed.
bool pin_to(unsigned cpu);

// Of the CPU's time stamp counter, by the clock of the system.
double measure_tsc_hz();

// Free hugepages of the default size, in bytes.
std::uint64_t free_hugepage_bytes();

}  // namespace unecho::bench
