// SPDX-License-Identifier: BSD-3-Clause
// Filters, sizing and spec.h each state the same limits, because none may include the other. This
// file checks that they are equal. appliance/plan/limits_check.cpp checks the rest.
#include "dedup/engines/engine.h"
#include "dedup/engines/spec.h"
#include "filters/kernels/line_kernel.h"
#include "filters/repeats/union_rule.h"
#include "filters/sets/shifting/shbf_shape.h"
#include "filters/sets/shifting/shbf_x.h"
#include "filters/sizing/search.h"
#include "filters/sizing/sets/shbf.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/btbf.h"
#include "filters/sizing/window/exact.h"
#include "filters/sizing/window/fingerprint.h"
#include "filters/sizing/window/line.h"
#include "filters/sizing/window/tlbf.h"
#include "filters/storage.h"
#include "filters/window/exact.h"
#include "filters/window/fingerprint.h"
#include "filters/window/line.h"
#include "filters/window/segmented/btbf.h"
#include "filters/window/segmented/segment_ring.h"

namespace unecho::engines {
namespace {

constexpr bool same_fingerprints() {
    constexpr auto& bits = info_of(Engine::kFingerprint).geometry.fingerprint_bits;
    for (std::size_t i = 0; i < sizing::kFingerprintShapes.size(); ++i) {
        const sizing::FingerprintShape& form = sizing::kFingerprintShapes[i];
        const filter::FingerprintShape& shape = filter::kFingerprintShapes[i];
        if (form.bits != shape.bits || form.bits != bits.at(i) || form.slots != shape.slots ||
            form.l != shape.l) {
            return false;
        }
    }
    return sizing::kFingerprintShapes.size() == filter::kFingerprintLayouts;
}

}  // namespace

static_assert(sizing::kMaxLines == filter::LineParams::kMostLines);
static_assert(sizing::kMaxLinesOfKey == filter::kMaxLinesOfKey);
static_assert(sizing::kMaxBitsOfKey == filter::LineParams::kMaxBitsOfKey);
static_assert(sizing::kMaxPhases <= filter::LineParams::kMostPhases);
static_assert(sizing::kLineWords == filter::kLineWords);
static_assert(sizing::kLineWordBits == filter::kPatternBits);
static_assert(sizing::kLineTableBytes == filter::LineFilter::table_bytes());
static_assert(same_fingerprints());
static_assert(sizing::kMaxFingerprintLines == filter::FingerprintParams::kMostLines);
static_assert(sizing::kFingerprintTableBytes == filter::FingerprintFilter::table_bytes());
static_assert(sizing::kSegmentRingBytes == filter::RingGeometry{}.bytes());
static_assert(sizing::kMaxExactEntries == filter::kMaxExactEntries);
static_assert(sizing::kExactEntryBytes == filter::Exact::kEntryBytes);
static_assert(sizing::kMaxTlbfSlices == filter::kMaxSlots);
static_assert(sizing::kMaxTimerHashes == filter::kMaxTimerHashes);
static_assert(sizing::kMinTimerBits == filter::kMinTimerBits);
static_assert(sizing::kMaxTimerBits == filter::kMaxTimerBits);
static_assert(sizing::kLineBytes == filter::kCacheLine);
static_assert(sizing::kMaxBytes <= filter::kMaxFilterBytes);
static_assert(sizing::kMaxFalseDrop == kMostFalseDrop);
static_assert(filter::UnionParams::kMaxSamePort == kMaxSamePort &&
              filter::UnionParams::kMinViews == kMinViews &&
              filter::UnionParams::kMaxViews == kMaxViews);
static_assert(sizing::kMaxWBar == filter::kMaxWBar);
static_assert(info_of(Engine::kShbfX).most_first == filter::kMaxMultiplicity);
static_assert(info_of(Engine::kShbfX).most_first == sizing::kMaxWBar);

}  // namespace unecho::engines
