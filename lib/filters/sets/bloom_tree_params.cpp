// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "filters/sets/bloom_tree.h"
#include "filters/storage.h"

namespace unecho::filter {

Result<BloomTreeParams> BloomTreeParams::make(const BloomTreeSpec& spec) {
    const auto refuse = [](const std::string& what) {
        return fail(Errc::kInvalidArgument, "bloom tree: " + what);
    };
    if (spec.k < 1 || spec.k > kMaxSlicedHashes) {
        return refuse("k = " + std::to_string(spec.k) + "; allowed: 1 to 64");
    }
    if (spec.levels < 1 || spec.levels > kMaxTreeLevels) {
        return refuse("levels = " + std::to_string(spec.levels) + "; allowed: 1 to 8");
    }
    if (spec.fanout < 1) {
        return refuse("fanout = 0; allowed: 1 or more");
    }
    std::array<unsigned, kMaxTreeLevels + 1> first{};
    std::uint64_t width = 1;
    std::uint64_t bytes = 0;
    for (unsigned level = 0; level < spec.levels; ++level) {
        if (first[level] + width > kMaxTreeNodes) {
            return refuse("fanout = " + std::to_string(spec.fanout) + " and levels = " +
                          std::to_string(spec.levels) + "; allowed: 65536 nodes in all");
        }
        first[level + 1] = first[level] + static_cast<unsigned>(width);
        if (spec.m[level] < 1 || spec.m[level] / 8 >= kMaxFilterBytes) {
            return refuse("m = " + std::to_string(spec.m[level]) + " bits at level " +
                          std::to_string(level) + "; allowed: 1 to 2^49 - 1");
        }
        bytes += width * ((spec.m[level] + 7) / 8);
        width *= spec.fanout;
    }
    if (bytes > kMaxFilterBytes) {
        return refuse(std::to_string(bytes) + " bytes; allowed: 2^46 in all");
    }
    return BloomTreeParams(spec, first);
}

}  // namespace unecho::filter
