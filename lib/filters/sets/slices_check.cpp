// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/slices_check.h"

#include <string>

#include "filters/storage.h"

namespace unecho::filter {
namespace {

tl::unexpected<Error> refuse(std::string_view filter, const std::string& what) {
    return fail(Errc::kInvalidArgument, std::string(filter) + ": " + what);
}

}  // namespace

Status check_slices(std::string_view filter, const SliceGeometry& geometry, unsigned cell_bits) {
    if (geometry.k < 1 || geometry.k > kMaxSlicedHashes) {
        return refuse(filter, "k = " + std::to_string(geometry.k) + "; allowed: 1 to 64");
    }
    if (geometry.S < 1 || geometry.S > kMaxSlices) {
        return refuse(filter, "S = " + std::to_string(geometry.S) + "; allowed: 1 to 65536");
    }
    const bool diced =
        geometry.slicing == Slicing::kDicedHv || geometry.slicing == Slicing::kDicedVh;
    if (geometry.S2 != 1 && !diced) {
        return refuse(filter, "S' = " + std::to_string(geometry.S2) + "; allowed: 1 unless diced");
    }
    if (geometry.S2 < 1 || geometry.S2 > kMaxSlices / geometry.S) {
        return refuse(filter, "S = " + std::to_string(geometry.S) +
                                  ", S' = " + std::to_string(geometry.S2) +
                                  "; allowed: 1 to 65536 slices in all");
    }
    if (geometry.m < 1 || geometry.m > kMaxFilterBytes * 8 / cell_bits ||
        geometry.m % geometry.slices() != 0) {
        return refuse(filter,
                      "m = " + std::to_string(geometry.m) +
                          "; allowed: multiples of S S' = " + std::to_string(geometry.slices()) +
                          " up to " + std::to_string(kMaxFilterBytes * 8 / cell_bits));
    }
    return {};
}

Status check_failed_cells(std::string_view filter, FailedCells failed, unsigned k, unsigned least) {
    const bool used = failed == FailedCells::kAtLeast;
    if (used && (least < 1 || least > k)) {
        return refuse(filter, "live cells = " + std::to_string(least) +
                                  "; allowed: 1 to k = " + std::to_string(k));
    }
    if (!used && least != 0) {
        return refuse(filter, "live cells = " + std::to_string(least) +
                                  "; allowed: 0 unless failed = at least");
    }
    return {};
}

}  // namespace unecho::filter
