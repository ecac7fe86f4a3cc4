// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/memories.h"

namespace unecho::analyze {

LookAlikes SegmentCounts::look_alikes(Nanoseconds resolution) const {
    LookAlikes out{found, compared, ages.ages(resolution).bins};
    for (AgeBin& bin : out.ages) {
        bin.causes = {};
    }
    return out;
}

}  // namespace unecho::analyze
