// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/recommend/recommend_key_bytes.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "base/humanize.h"
#include "captures/analyze/recommend/recommend.h"

namespace unecho::analyze {
namespace {

constexpr double kMost = 0.999;  // share of the copies cut short that any number finds

// Return the largest number of bytes that finds nearly as many copies as any, because more bytes
// distinguish packets better.
const KeyBytes* best_of(const std::vector<KeyBytes>& rows) {
    std::uint64_t most = 0;
    for (const KeyBytes& row : rows) {
        most = std::max(most, row.cut.packets);
    }
    const KeyBytes* best = nullptr;
    for (const KeyBytes& row : rows) {
        const bool enough =
            static_cast<double>(row.cut.packets) >= kMost * static_cast<double>(most);
        best = most != 0 && enough ? &row : best;
    }
    return best;
}

std::string cut_text(const KeyBytes& row) {
    return fmt::format("{} {} of one that was captured longer or shorter",
                       format_quantity(row.cut.packets, "packet"),
                       row.cut.packets == 1 ? "is a copy" : "are copies");
}

std::string others_text(std::uint64_t others) {
    return format_quantity(others, "packet") +
           (others == 1 ? " that is no copy" : " that are no copies");
}

}  // namespace

void recommend_key_bytes(Report& report, unsigned window) {
    if (window >= report.basis.key_bytes.size()) {
        return;
    }
    report.key_bytes = report.basis.key_bytes[window];
    Recommendation& out = report.recommendation;
    const KeyBytes* best = best_of(report.key_bytes);
    if (best == nullptr) {
        out.key_bytes_reason =
            report.cut.packets == 0 ? "" : "No copy is cut short while another is longer.";
        return;
    }
    const std::uint64_t others = best->others.packets;
    const std::uint64_t copies = report.copied.packets + best->cut.packets;
    const double lost =
        share(others, report.total.packets - std::min(report.total.packets, copies));
    if (kLossCost * lost >= share(best->cut.packets, copies)) {
        out.key_bytes_reason =
            fmt::format("{}; but if {} bytes counted, {} would be dropped too.", cut_text(*best),
                        format_count(best->bytes), others_text(others));
        return;
    }
    out.key_bytes = best->bytes;
    out.removed_cut = best->cut;
    out.key_bytes_reason = fmt::format(
        "{}: so many bytes are in both, and {}", cut_text(*best),
        others == 0
            ? "no other packets here have the same."
            : fmt::format("{} {} the same.", others_text(others), others == 1 ? "has" : "have"));
}

}  // namespace unecho::analyze
