// SPDX-License-Identifier: BSD-3-Clause
// Limits that filters, sizing and the words of a filter that is asked for state each for itself, as
// none of them may see another: they are the same. control/limits_check.cpp has the rest.
#include "engines/engine.h"
#include "engines/spec.h"
#include "filter/kernels/line_kernel.h"
#include "filter/repeats/union_rule.h"
#include "filter/sets/shbf_shape.h"
#include "filter/sets/shbf_x.h"
#include "filter/storage.h"
#include "filter/window/btbf.h"
#include "filter/window/exact.h"
#include "filter/window/fingerprint.h"
#include "filter/window/line.h"
#include "filter/window/segment_ring.h"
#include "sizing/search.h"
#include "sizing/sets/shbf.h"
#include "sizing/sizing.h"
#include "sizing/window/btbf.h"
#include "sizing/window/exact.h"
#include "sizing/window/fingerprint.h"
#include "sizing/window/line.h"
#include "sizing/window/tlbf.h"

namespace unecho::engines {
namespace {

constexpr bool same_fingerprints() {
    constexpr auto& bits = info_of(Engine::kFingerprint).geometry.fingerprint_bits;
    for (std::size_t i = 0; i < sizing::kFingerprintForms.size(); ++i) {
        const sizing::FingerprintForm& form = sizing::kFingerprintForms[i];
        const filter::FingerprintShape& shape = filter::kFingerprintShapes[i];
        if (form.bits != shape.bits || form.bits != bits.at(i) || form.slots != shape.slots ||
            form.l != shape.l) {
            return false;
        }
    }
    return sizing::kFingerprintForms.size() == filter::kFingerprintLayouts;
}

}  // namespace

static_assert(sizing::kMaxLines == filter::LineParams::kMostLines);
static_assert(sizing::kMostLinesOfKey == filter::kMostLinesOfKey);
static_assert(sizing::kMostBitsOfKey == filter::LineParams::kMostBitsOfKey);
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
static_assert(filter::UnionParams::kMostSamePort == kMostSamePort &&
              filter::UnionParams::kLeastViews == kLeastViews &&
              filter::UnionParams::kMostViews == kMostViews);
static_assert(sizing::kMaxWBar == filter::kMaxWBar);
static_assert(info_of(Engine::kShbfX).most_first == filter::kMaxMultiplicity);
static_assert(info_of(Engine::kShbfX).most_first == sizing::kMaxWBar);

}  // namespace unecho::engines
