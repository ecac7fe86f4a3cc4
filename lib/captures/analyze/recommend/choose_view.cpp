// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/recommend/choose_view.h"

#include <utility>

#include "captures/analyze/recommend/recommend.h"

namespace unecho::analyze {
namespace {

// Return how many copies the recommended configuration would remove.
double removed(Report report, const Findings& findings) {
    recommend(report, {findings.accepted(), findings.all()});
    return report.recommendation.covered * static_cast<double>(report.copied.packets) +
           static_cast<double>(report.recommendation.removed_cut.packets);
}

}  // namespace

View choose_view(Views& views, std::span<const Nanoseconds> later) {
    Report plain = views.plain.report(later);
    if (!views.inside) {
        plain.tunnels = views.tunnel_report();
        return {&views.plain, std::move(plain)};
    }
    Report within = views.inside->report(later);
    within.memory_bytes = plain.memory_bytes += within.memory_bytes;
    within.tunnels = plain.tunnels = views.tunnel_report();
    // If the clocks of two taps differ, and one tap is in a tunnel, no window of either view
    // removes their copies. The view that knows of the clocks is then the useful one.
    const double as_they_are = removed(plain, views.plain);
    const bool clocks = as_they_are == 0 && within.clock_shifts.size() > plain.clock_shifts.size();
    const bool more = clocks || removed(within, *views.inside) > as_they_are;
    return more ? View{&*views.inside, std::move(within)} : View{&views.plain, std::move(plain)};
}

}  // namespace unecho::analyze
