// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/memory_args.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace unecho::eal {
namespace {

// An option and the shortest form by which DPDK 22.11 knows it.
struct Option {
    std::string_view name;
    std::string_view shortest;
};

constexpr Option kNoHuge{"--no-huge", "--no-hu"};
constexpr Option kSocketMem{"--socket-mem", "--socket-m"};
constexpr std::array kOfHugepages{
    Option{"--in-memory", "--in"},
    Option{"--huge-dir", "--huge-d"},
    Option{"--huge-unlink", "--huge-u"},
    Option{"--legacy-mem", "--leg"},
    Option{"--match-allocations", "--match"},
    Option{"--single-file-segments", "--si"},
    Option{"--socket-limit", "--socket-l"},
};

bool is(std::string_view arg, const Option& option) {
    const std::string_view name = arg.substr(0, arg.find('='));
    return name.starts_with(option.shortest) && option.name.starts_with(name);
}

}  // namespace

MemoryArgs memory_args(const std::vector<std::string>& args) {
    MemoryArgs out;
    for (const std::string& arg : args) {
        out.ordinary |= is(arg, kNoHuge);
        out.hugepages |= is(arg, kSocketMem) ||
                         std::any_of(kOfHugepages.begin(), kOfHugepages.end(),
                                     [&](const Option& option) { return is(arg, option); });
        out.amount |= is(arg, kSocketMem) || (arg.starts_with("-m") && !arg.starts_with("--"));
    }
    return out;
}

}  // namespace unecho::eal
