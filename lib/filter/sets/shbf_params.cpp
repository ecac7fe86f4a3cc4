// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <string_view>

#include "filter/params_check.h"
#include "filter/sets/shbf_a.h"
#include "filter/sets/shbf_m.h"
#include "filter/sets/shbf_x.h"
#include "filter/window/shbf_window.h"
#include "filter/window/shbf_x_window.h"
#include "filter/window_match.h"

namespace unecho::filter {

namespace {

using std::to_string;

Status outside(std::string_view filter, std::string_view name, const std::string& value,
               const std::string& allowed) {
    return fail(Errc::kInvalidArgument, std::string(filter) + ": " + std::string(name) + " = " +
                                            value + "; allowed: " + allowed);
}

Status check_range(std::string_view filter, std::string_view name, unsigned value, unsigned low,
                   unsigned high) {
    if (value < low || value > high) {
        return outside(filter, name, to_string(value), to_string(low) + " to " + to_string(high));
    }
    return {};
}

// Of bits or of counters, which are at most 16 bits.
Status check_m(std::string_view filter, std::string_view unit, std::uint64_t m) {
    if (m < 1 || m > kMaxFilterBytes / 2) {
        return outside(filter, "m", to_string(m) + " " + std::string(unit), "1 to 2^45");
    }
    return {};
}

Status check_groups(std::string_view filter, unsigned k, unsigned t, std::string_view name = "k") {
    if (k < 1 || k > kMaxShbfBits || k % (std::uint64_t{t} + 1) != 0) {
        return outside(
            filter, name, to_string(k),
            "multiples of t + 1 = " + to_string(t + 1) + " up to " + to_string(kMaxShbfBits));
    }
    return {};
}

// The first of several that failed.
template <typename... Checks>
Status first_failed(Status status, const Checks&... further) {
    ((status ? void(status = further) : void()), ...);
    return status;
}

}  // namespace

Result<ShbfMParams> ShbfMParams::make(const ShbfMSpec& spec) {
    const std::string_view name = "shbf_m";
    if (const Status status = first_failed(
            check_m(name, "bits", spec.m), check_range(name, "t", spec.t, 1, kMaxShifts),
            check_groups(name, spec.k, spec.t),
            check_range(name, "w_bar", spec.w_bar, spec.t + 1, kMaxWBar));
        !status) {
        return tl::unexpected(status.error());
    }
    return ShbfMParams(spec);
}

Result<ShbfWindowParams> ShbfWindowParams::make(const ApshbfSpec& spec) {
    const std::string_view name = "shbf_window";
    if (const Status status = first_failed(check_m(name, "bits", spec.m),
                                           check_range(name, "t", spec.t, 1, kMaxShifts),
                                           check_groups(name, spec.b, spec.t, "b"));
        !status) {
        return tl::unexpected(status.error());
    }
    ShbfWindowParams params(spec);
    if (const Status ring = check_ring(name, params.ring()); !ring) {
        return tl::unexpected(ring.error());
    }
    const WindowMatch match(spec.m, spec.b, spec.t);
    params.matches_ = MatchTable::make(match.half(), spec.k, match);
    return params;
}

Result<CShbfMParams> CShbfMParams::make(const CShbfMSpec& spec) {
    const std::string_view name = "cshbf_m";
    if (const Status status = first_failed(
            check_m(name, "counters", spec.m),
            check_range(name, "z", spec.z, kMinCounterBits, kMaxCounterBits),
            check_range(name, "t", spec.t, 1, kMaxShifts), check_groups(name, spec.k, spec.t));
        !status) {
        return tl::unexpected(status.error());
    }
    const CShbfMParams params(spec);
    if (spec.t >= params.w_bar()) {
        return fail(Errc::kInvalidArgument, "cshbf_m: t = " + to_string(spec.t) +
                                                " with counters of z = " + to_string(spec.z) +
                                                " bits; allowed: at most " +
                                                to_string(params.w_bar() - 1));
    }
    return params;
}

Result<ShbfAParams> ShbfAParams::make(const ShbfASpec& spec) {
    const std::string_view name = "shbf_a";
    if (const Status status = first_failed(
            check_m(name, "bits", spec.m), check_range(name, "k", spec.k, 1, kMaxShbfBits),
            check_range(name, "w_bar", spec.w_bar, 3, kMaxWBar),
            check_range(name, "z", spec.z, kMinCounterBits, kMaxCounterBits));
        !status) {
        return tl::unexpected(status.error());
    }
    return ShbfAParams(spec);
}

Result<ShbfXParams> ShbfXParams::make(const ShbfXSpec& spec) {
    const std::string_view name = "shbf_x";
    if (const Status status = first_failed(
            check_m(name, "bits", spec.m), check_range(name, "k", spec.k, 1, kMaxShbfBits),
            check_range(name, "c", spec.c, 1, kMaxMultiplicity),
            check_range(name, "z", spec.z, kMinCounterBits, kMaxCounterBits));
        !status) {
        return tl::unexpected(status.error());
    }
    return ShbfXParams(spec);
}

Result<ShbfXWindowParams> ShbfXWindowParams::make(const ShbfXWindowSpec& spec) {
    const std::string_view name = "shbf_x_window";
    if (const Status status = first_failed(check_m(name, "bits", spec.m),
                                           check_range(name, "k", spec.k, 1, kMaxShbfBits),
                                           check_range(name, "c", spec.c, 1, kMaxMultiplicity));
        !status) {
        return tl::unexpected(status.error());
    }
    const ShbfXWindowParams params(spec);
    if (const Status ring = check_ring(name, params.ring()); !ring) {
        return tl::unexpected(ring.error());
    }
    return params;
}

}  // namespace unecho::filter
