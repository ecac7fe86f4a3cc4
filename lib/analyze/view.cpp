// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/view.h"

#include <utility>

#include "analyze/recommend.h"

namespace unecho::analyze {
namespace {

// How many copies the recommended configuration would remove.
double removed(Report report, const Collector& collector) {
    recommend(report, {collector.accepted(), collector.all()});
    return report.recommendation.covered * static_cast<double>(report.copied.packets) +
           static_cast<double>(report.recommendation.removed_cut.packets);
}

}  // namespace

View choose_view(Collector& collector) {
    Report plain = collector.report();
    Collector* inside = collector.inside();
    if (inside == nullptr) {
        plain.tunnels = collector.tunnels(nullptr);
        return {&collector, std::move(plain)};
    }
    Report within = inside->report();
    within.memory_bytes = plain.memory_bytes += within.memory_bytes;
    within.tunnels = plain.tunnels = collector.tunnels(&within);
    // Taps whose clocks differ, one of them in a tunnel: then no window of either view removes
    // their copies, and the clocks are what is to be said.
    const double as_they_are = removed(plain, collector);
    const bool clocks = as_they_are == 0 && within.clock_shifts.size() > plain.clock_shifts.size();
    const bool more = clocks || removed(within, *inside) > as_they_are;
    return more ? View{inside, std::move(within)} : View{&collector, std::move(plain)};
}

}  // namespace unecho::analyze
