// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/isa.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "base/humanize.h"

namespace unecho::engines {
namespace {

std::string of_isa(const KernelTimes& times, filter::Isa isa) {
    return format_number("%.1f", times.of(isa));
}

}  // namespace

IsaChoice IsaChoice::detect() {
    IsaChoice out;
    out.widest = filter::best_isa();
    if (const char* forced = std::getenv("UNECHO_ISA"); forced != nullptr) {
        out.forced = forced;
    }
    return out;
}

IsaChoice IsaChoice::measured() {
    // Measured once: a running process keeps its kernels over reloads.
    static const KernelTimes kTimes = measure_kernels();
    IsaChoice out = detect();
    out.times = kTimes;
    return out;
}

Result<filter::Isa> IsaChoice::of(std::string_view name) const {
    std::string allowed = "auto";
    for (unsigned isa = 0; isa <= static_cast<unsigned>(widest); ++isa) {
        allowed += ", " + std::string(filter::kIsaNames.at(isa));
        if (filter::kIsaNames.at(isa) == name) {
            return static_cast<filter::Isa>(isa);
        }
    }
    if (name == "auto") {
        return times ? times->fastest(widest) : widest;
    }
    const bool known = std::find(filter::kIsaNames.begin(), filter::kIsaNames.end(), name) !=
                       filter::kIsaNames.end();
    return fail(known ? Errc::kUnsupported : Errc::kInvalidArgument,
                fmt::format("\"{}\" {}; allowed: {}", name,
                            known ? "is not on this processor" : "is no instruction set", allowed));
}

Result<filter::Isa> IsaChoice::any() const {
    Result<filter::Isa> found = of(forced.value_or("auto"));
    if (!found) {
        return fail(Errc::kInvalidArgument, "UNECHO_ISA: " + found.error().context);
    }
    return found;
}

std::string IsaChoice::reason(filter::Isa isa, std::string_view where) const {
    std::string text = times ? "the fastest here" : "the widest that this processor has";
    if (!where.empty()) {
        text = fmt::format("as {} says", where);
    }
    if (times) {
        text += "; ns a packet in cache, measured: " + of_isa(*times, isa);
        for (auto row = filter::kIsas.rbegin(); row != filter::kIsas.rend(); ++row) {
            if (row->isa != isa && row->isa <= widest) {
                text += fmt::format(", {} {}", row->name, of_isa(*times, row->isa));
            }
        }
    }
    if (static_cast<std::size_t>(widest) + 1 < filter::kIsas.size()) {
        const filter::IsaRow& next = filter::kIsas.at(static_cast<std::size_t>(widest) + 1);
        text += fmt::format("; {} needs {}, which this processor lacks", next.name,
                            filter::lacking(next.isa));
    }
    return text;
}

}  // namespace unecho::engines
