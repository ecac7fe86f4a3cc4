// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/tap_report.h"

#include <cmath>
#include <string>

namespace unecho::sizing {

Result<ShbfGeometry> size_tap_report(std::uint64_t flows) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 37;
    if (flows < 1 || flows > kMost) {
        return fail(Errc::kInvalidArgument,
                    "tap report: flows = " + std::to_string(flows) + "; allowed: 1 to 2^37");
    }
    return size_shbf_a(2 * flows, kTapClear);
}

TapExpectation::TapExpectation(const ShbfGeometry& geometry)
    : k_(geometry.k), share_(geometry.k / static_cast<double>(geometry.m)) {}

double TapExpectation::chance() const noexcept {
    return std::pow(1 - zero_, k_);
}

// Only elements that do not match by accident are inserted: more of their bits are still 0.
void TapExpectation::insert(double elements, double f) noexcept {
    zero_ *= 1 - elements / (1 - f) * share_;
}

void TapExpectation::new_flow() noexcept {
    const double f = chance();
    const double clear = (1 - f) * (1 - f);
    flows_ += clear;
    both_ += f * clear;
    insert(clear + f * clear, f);
}

void TapExpectation::known_flow() noexcept {
    const double f = chance();
    const double clear = (1 - f) * (1 - f);
    both_ += clear;
    insert(clear, f);
}

}  // namespace unecho::sizing
