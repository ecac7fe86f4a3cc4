// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "filters/window/segmented/btbf.h"

namespace unecho::filter {
namespace {

using std::to_string;

tl::unexpected<Error> refuse(const std::string& what, const std::string& allowed) {
    return fail(Errc::kInvalidArgument, what + "; allowed: " + allowed);
}

Status check_timers(unsigned k, std::uint64_t m, unsigned bpt) {
    if (k < 1 || k > kMaxTimerHashes) {
        return refuse("btbf: k = " + to_string(k), "1 to " + to_string(kMaxTimerHashes));
    }
    if (bpt < kMinTimerBits || bpt > kMaxTimerBits) {
        return refuse("btbf: bpt = " + to_string(bpt) + " bits",
                      to_string(kMinTimerBits) + " to " + to_string(kMaxTimerBits));
    }
    const std::uint64_t most = kMaxFilterBytes / bpt * 8;
    if (m < 1 || m > most) {
        return refuse("btbf: m = " + to_string(m) + " timers", "1 to " + to_string(most));
    }
    return {};
}

// Return the padding that bpt bits leave for a window of this many blocks. A timer shows ages 0 to
// blocks + 1 + P (section 5.1.1), or expired.
Result<unsigned> padding(unsigned bpt, std::uint64_t blocks, std::optional<unsigned> wanted) {
    const std::uint64_t states = std::uint64_t{1} << bpt;
    if (blocks + 3 > states) {
        return refuse(
            "btbf: a window of " + to_string(blocks) + " blocks with bpt = " + to_string(bpt),
            "at most " + to_string(states - 3) + " blocks");
    }
    const auto most = static_cast<unsigned>(states - 3 - blocks);
    if (wanted && *wanted > most) {
        return refuse("btbf: P = " + to_string(*wanted) + " with bpt = " + to_string(bpt) +
                          " and a window of " + to_string(blocks) + " blocks",
                      "0 to " + to_string(most));
    }
    return wanted.value_or(most);
}

}  // namespace

Result<BtbfParams> BtbfParams::make(const BtbfSpec& spec) {
    constexpr std::uint64_t kMaxWindow = std::uint64_t{1} << 62;
    UNECHO_TRY(check_timers(spec.k, spec.m, spec.bpt));
    if (spec.w < 1 || spec.w > kMaxWindow) {
        return refuse("btbf: w = " + to_string(spec.w) + " insertions", "1 to 2^62");
    }
    if (spec.B < 1 || spec.B > spec.w) {
        return refuse("btbf: B = " + to_string(spec.B) + " insertions",
                      "1 to w, that is " + to_string(spec.w));
    }
    const std::uint64_t blocks = (spec.w - 1) / spec.B + 1;
    const Result<unsigned> P = padding(spec.bpt, blocks, spec.P);
    UNECHO_TRY(P);
    BtbfSpec checked = spec;
    checked.P = *P;
    return BtbfParams(checked);
}

Result<TimedBtbfParams> TimedBtbfParams::make(const TimedBtbfSpec& spec) {
    UNECHO_TRY(check_timers(spec.k, spec.m, spec.bpt));
    if (spec.l < 1) {
        return refuse("btbf: l = 0", "1 or more");
    }
    const Result<unsigned> P = padding(spec.bpt, spec.l, spec.P);
    UNECHO_TRY(P);
    TimedBtbfSpec checked = spec;
    checked.P = *P;
    return TimedBtbfParams(checked);
}

}  // namespace unecho::filter
