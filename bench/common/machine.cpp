// SPDX-License-Identifier: BSD-3-Clause
#include "common/machine.h"

#include <chrono>
#include <ctime>
#include <fstream>
#include <string_view>

#include <sched.h>
#include <sys/utsname.h>
#include <x86intrin.h>

#include "build_info.h"

namespace unecho::bench {
namespace {

constexpr const char* kCompiler = UNECHO_BENCH_COMPILER;
constexpr const char* kBuildtype = UNECHO_BENCH_BUILDTYPE;
constexpr const char* kSanitize = UNECHO_BENCH_SANITIZE;
constexpr const char* kFlags = UNECHO_BENCH_FLAGS;

using nlohmann::ordered_json;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||
                            __has_feature(memory_sanitizer) ||
                            __has_feature(undefined_behavior_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

#if defined(__OPTIMIZE__)
constexpr bool kOptimized = true;
#else
constexpr bool kOptimized = false;
#endif

#if defined(NDEBUG)
constexpr bool kChecked = false;
#else
constexpr bool kChecked = true;
#endif

// Return the text after "key" and a colon in a file under /proc.
std::string line_of(const char* path, std::string_view key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key)) {
            const std::size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
            return at == std::string::npos ? "" : line.substr(at);
        }
    }
    return "unknown";
}

std::string first_line_of(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

}  // namespace

std::string unfit_build() {
    if (kSanitized || std::string_view(kSanitize) != "none") {
        return "a sanitizer is built in";
    }
    if (!kOptimized) {
        return "it is built without optimisation";
    }
    if (kChecked) {
        return "its assertions are on";
    }
    return "";
}

std::string cpu_name() {
    return line_of("/proc/cpuinfo", "model name");
}

std::string build_text() {
    return std::string(kCompiler) + ", " + kFlags + ", commit " + kCommit;
}

ordered_json machine_facts() {
    utsname system{};
    uname(&system);
    return {{"date", utc_now()},
            {"cpu", cpu_name()},
            {"cpu_family_model",
             line_of("/proc/cpuinfo", "cpu family") + "/" + line_of("/proc/cpuinfo", "model\t")},
            {"cache_l3", first_line_of("/sys/devices/system/cpu/cpu0/cache/index3/size")},
            {"cache_l2", first_line_of("/sys/devices/system/cpu/cpu0/cache/index2/size")},
            {"load_average", first_line_of("/proc/loadavg")},
            {"kernel", std::string(system.sysname) + " " + system.release},
            {"hugepages_total", line_of("/proc/meminfo", "HugePages_Total")},
            {"transparent_hugepages", first_line_of("/sys/kernel/mm/transparent_hugepage/enabled")},
            {"transparent_hugepages_used", line_of("/proc/self/smaps_rollup", "AnonHugePages")},
            {"compiler", kCompiler},
            {"buildtype", kBuildtype},
            {"flags", kFlags},
            {"commit", kCommit}};
}

unsigned last_cpu() {
    cpu_set_t set;
    CPU_ZERO(&set);
    unsigned last = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            last = CPU_ISSET(cpu, &set) ? cpu : last;
        }
    }
    return last;
}

bool pin_to(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

double measure_tsc_hz() {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const std::uint64_t first = __rdtsc();
    while (Clock::now() - begin < std::chrono::milliseconds(50)) {
    }
    const auto end = Clock::now();
    const std::uint64_t last = __rdtsc();
    return static_cast<double>(last - first) / std::chrono::duration<double>(end - begin).count();
}

std::uint64_t free_hugepage_bytes() {
    static constexpr std::uint64_t kKiB = 1024;
    std::ifstream file("/proc/meminfo");
    std::uint64_t free = 0;
    std::uint64_t kib = 0;
    for (std::string key; file >> key;) {
        if (key == "HugePages_Free:") {
            file >> free;
        } else if (key == "Hugepagesize:") {
            file >> kib;
        }
    }
    return free * kib * kKiB;
}

}  // namespace unecho::bench
