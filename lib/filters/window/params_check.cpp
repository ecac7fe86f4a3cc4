// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/params_check.h"

#include <string>

namespace unecho::filter {

using std::to_string;

Status check_ring(std::string_view filter, const RingGeometry& ring) {
    const std::string where = std::string(filter) + ": ";
    const std::string at_most = " to " + to_string(kMaxSlots - 1);
    if (ring.k < 1 || ring.k >= kMaxSlots) {
        return fail(Errc::kInvalidArgument,
                    where + "k = " + to_string(ring.k) + "; allowed: 1" + at_most);
    }
    if (ring.l < 1 || ring.l >= kMaxSlots) {
        return fail(Errc::kInvalidArgument,
                    where + "l = " + to_string(ring.l) + "; allowed: 1" + at_most);
    }
    if (ring.slots() > kMaxSlots) {
        return fail(Errc::kInvalidArgument, where + "k + l = " + to_string(ring.slots()) +
                                                "; allowed: at most " + to_string(kMaxSlots));
    }
    if (ring.spares > kMaxSpares) {
        return fail(Errc::kInvalidArgument, where + "spares = " + to_string(ring.spares) +
                                                "; allowed: 0 to " + to_string(kMaxSpares));
    }
    if (ring.segment_bytes > kMaxFilterBytes / ring.segments()) {
        return fail(Errc::kInvalidArgument, where + to_string(ring.segments()) + " segments of " +
                                                to_string(ring.segment_bytes) +
                                                " bytes; allowed: 2^46 bytes in all");
    }
    return {};
}

}  // namespace unecho::filter
