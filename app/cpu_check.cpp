// SPDX-License-Identifier: BSD-3-Clause
// All other files are compiled for a baseline (meson option march) and would crash with an illegal
// instruction on older CPUs. This one, compiled for any x86-64, reports that first.
#include <cstdlib>

#include <unistd.h>

namespace {

__attribute__((constructor(101))) void check_cpu() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
        return;
    }
    static constexpr char kMessage[] =
        "unecho: this CPU has no AVX2 and BMI2; build with -Dmarch=x86-64-v2 for it\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
    std::_Exit(1);
}

}  // namespace
