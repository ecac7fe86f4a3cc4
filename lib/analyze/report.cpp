// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/report.h"

#include <algorithm>
#include <tuple>

namespace unecho::analyze {

std::vector<std::size_t> by_echoes(const std::vector<InterfaceInfo>& interfaces) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < interfaces.size(); ++i) {
        if (interfaces[i].total.packets != 0) {
            out.push_back(i);
        }
    }
    const auto weight = [&](std::size_t i) {
        return std::tuple(interfaces[i].echoes.packets, interfaces[i].total.packets);
    };
    std::stable_sort(out.begin(), out.end(),
                     [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
    return out;
}

}  // namespace unecho::analyze
