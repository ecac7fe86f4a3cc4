// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/shifting/shbf_check.h"

#include <string>

#include "filters/sets/shifting/shbf_m.h"
#include "filters/storage.h"

namespace unecho::filter {
namespace {

using std::to_string;

Status outside(std::string_view filter, std::string_view name, const std::string& value,
               const std::string& allowed) {
    return fail(Errc::kInvalidArgument, std::string(filter) + ": " + std::string(name) + " = " +
                                            value + "; allowed: " + allowed);
}

}  // namespace

Status check_range(std::string_view filter, std::string_view name, unsigned value, unsigned low,
                   unsigned high) {
    if (value < low || value > high) {
        return outside(filter, name, to_string(value), to_string(low) + " to " + to_string(high));
    }
    return {};
}

Status check_m(std::string_view filter, std::string_view unit, std::uint64_t m) {
    if (m < 1 || m > kMaxFilterBytes / 2) {
        return outside(filter, "m", to_string(m) + " " + std::string(unit), "1 to 2^45");
    }
    return {};
}

Status check_groups(std::string_view filter, unsigned k, unsigned t, std::string_view name) {
    if (k < 1 || k > kMaxShbfBits || k % (std::uint64_t{t} + 1) != 0) {
        return outside(
            filter, name, to_string(k),
            "multiples of t + 1 = " + to_string(t + 1) + " up to " + to_string(kMaxShbfBits));
    }
    return {};
}

}  // namespace unecho::filter
