// SPDX-License-Identifier: BSD-3-Clause
#include <iterator>
#include <string>

#include "filters/window/fingerprint.h"

namespace unecho::filter {
namespace {

using std::to_string;

auto not_taken(const char* name, std::uint64_t value, const std::string& allowed) {
    return fail(Errc::kInvalidArgument, "fingerprint: " + std::string(name) + " = " +
                                            to_string(value) + "; allowed: " + allowed);
}

std::string every_bits() {
    std::string text;
    for (std::size_t i = 0; i < std::size(kFingerprintShapes); ++i) {
        text += i == 0 ? "" : i + 1 < std::size(kFingerprintShapes) ? ", " : " or ";
        text += to_string(kFingerprintShapes[i].bits);
    }
    return text;
}

}  // namespace

Result<FingerprintParams> FingerprintParams::make(const FingerprintSpec& spec) {
    unsigned layout = 0;
    while (layout < kFingerprintLayouts && kFingerprintShapes[layout].bits != spec.bits) {
        ++layout;
    }
    if (layout == kFingerprintLayouts) {
        return not_taken("bits", spec.bits, every_bits());
    }
    if (spec.lines < 2 || spec.lines > kMostLines || spec.lines % 2 != 0) {
        return not_taken("lines", spec.lines, "even numbers from 2 to " + to_string(kMostLines));
    }
    if (!available(spec.isa)) {
        return fail(Errc::kInvalidArgument,
                    "fingerprint: isa = " + std::string(name_of(spec.isa)) +
                        "; this processor does not have it; allowed here: scalar to " +
                        std::string(name_of(best_isa())));
    }
    return FingerprintParams(spec, layout);
}

}  // namespace unecho::filter
