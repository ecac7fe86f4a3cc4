// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/paths/align.h"

#include <algorithm>
#include <cstdlib>

namespace unecho::compare {

// Return how much later b came, by one clock.
std::int64_t Aligner::later(LookIndex a, LookIndex b) const {
    return static_cast<std::int64_t>(looks_[b].time - looks_[a].time) - line_.at(looks_[a].time);
}

std::int64_t Aligner::distance(LookIndex a, LookIndex b) const {
    return std::abs(later(a, b));
}

void Aligner::align(std::span<const LookIndex> a, std::span<const LookIndex> b,
                    std::vector<Match>& matches) {
    if (a.empty() || b.empty()) {
        return;
    }
    if (a.size() == 1 && b.size() == 1) {
        if (distance(a[0], b[0]) <= window_) {
            matches.push_back(match_of(looks_, a[0], b[0]));
        }
    } else if (a.size() <= kBlock && b.size() <= kBlock) {
        align_best(a, b, matches);
    } else {
        align_in_blocks(a, b, matches);
    }
}

// costs_[i][j]: of the best alignment of a[i..] and b[j..].
void Aligner::align_best(std::span<const LookIndex> a, std::span<const LookIndex> b,
                         std::vector<Match>& matches) {
    const std::size_t width = b.size() + 1;
    const std::int64_t alone = window_ / 2 + 1;
    costs_.resize((a.size() + 1) * width);
    const auto cost = [&](std::size_t i, std::size_t j) -> std::int64_t& {
        return costs_[i * width + j];
    };
    const auto matched = [&](std::size_t i, std::size_t j) {
        const std::int64_t apart = distance(a[i], b[j]);
        return apart <= window_ ? cost(i + 1, j + 1) + apart : INT64_MAX;
    };
    for (std::size_t i = a.size() + 1; i-- > 0;) {
        for (std::size_t j = width; j-- > 0;) {
            if (i == a.size() || j == b.size()) {
                cost(i, j) = static_cast<std::int64_t>(a.size() - i + b.size() - j) * alone;
                continue;
            }
            cost(i, j) = std::min({matched(i, j), cost(i + 1, j) + alone, cost(i, j + 1) + alone});
        }
    }
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (cost(i, j) == matched(i, j)) {
            matches.push_back(match_of(looks_, a[i++], b[j++]));
        } else if (cost(i, j) == cost(i + 1, j) + alone) {
            ++i;
        } else {
            ++j;
        }
    }
}

// Keep the matches of the first half of each block, which know what follows them.
void Aligner::align_in_blocks(std::span<const LookIndex> a, std::span<const LookIndex> b,
                              std::vector<Match>& matches) {
    std::vector<Match> block;
    while (!a.empty() && !b.empty()) {
        block.clear();
        const bool last = a.size() <= kBlock && b.size() <= kBlock;
        align_best(a.first(std::min(a.size(), kBlock)), b.first(std::min(b.size(), kBlock)), block);
        if (last) {
            matches.insert(matches.end(), block.begin(), block.end());
            return;
        }
        const std::size_t kept = (block.size() + 1) / 2;
        matches.insert(matches.end(), block.begin(),
                       block.begin() + static_cast<std::ptrdiff_t>(kept));
        if (kept == 0) {  // the sides do not overlap in time: leave the earlier one out
            const bool a_first = distance(a[0], b[0]) > window_ && later(a[0], b[0]) > 0;
            std::span<const LookIndex>& early = a_first ? a : b;
            early = early.subspan(std::min(early.size(), kBlock / 2));
            continue;
        }
        const Match& end = block[kept - 1];
        while (!a.empty() && a[0] != end.a) {
            a = a.subspan(1);
        }
        while (!b.empty() && b[0] != end.b) {
            b = b.subspan(1);
        }
        a = a.subspan(1);
        b = b.subspan(1);
    }
}

}  // namespace unecho::compare
