// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <string>

#include "filters/window/line.h"

namespace unecho::filter {
namespace {

using std::to_string;

auto out_of_range(const char* name, std::uint64_t value, const std::string& allowed) {
    return fail(Errc::kInvalidArgument,
                "line: " + std::string(name) + " = " + to_string(value) + "; allowed: " + allowed);
}

}  // namespace

Result<LineParams> LineParams::make(const LineSpec& spec) {
    if (spec.M < 1 || spec.M > kMaxLinesOfKey) {
        return out_of_range("M", spec.M, "1 to " + to_string(kMaxLinesOfKey));
    }
    if (spec.k < 1 || spec.k > kMaxYoungest) {
        return out_of_range("k", spec.k, "1 or 2");
    }
    if (spec.b < 1 || spec.b > kMaxBitsOfKey) {
        return out_of_range("b", spec.b, "1 to " + to_string(kMaxBitsOfKey));
    }
    if (!std::has_single_bit(spec.phases) || spec.phases > kMostPhases) {
        return out_of_range("phases", spec.phases, "1, 2, 4, 8, 16");
    }
    if (spec.lines < 1 || spec.lines > kMostLines || spec.lines % spec.phases != 0) {
        return out_of_range(
            "lines", spec.lines,
            "multiples of phases = " + to_string(spec.phases) + " up to " + to_string(kMostLines));
    }
    if (!available(spec.isa)) {
        return fail(Errc::kInvalidArgument,
                    "line: isa = " + std::string(name_of(spec.isa)) +
                        "; this processor does not have it; allowed here: scalar to " +
                        std::string(name_of(best_isa())));
    }
    return LineParams(spec);
}

}  // namespace unecho::filter
