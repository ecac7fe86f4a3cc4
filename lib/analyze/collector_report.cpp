// SPDX-License-Identifier: BSD-3-Clause
// What the collector counted, and what is still in its tables, as findings.
#include <algorithm>

#include "analyze/collector.h"

namespace unecho::analyze {

Findings Collector::findings() {
    Findings out(*this);
    tables_.packets.table().for_each([&](const PacketEntry& entry) {
        if (entry.frame == 0) {
            ++out.key_times_[std::min<std::size_t>(entry.times, out.key_times_.size()) - 1];
        }
    });
    for (std::size_t i = 0; i < crossings_.size(); ++i) {
        if (crossings_[i].packets != 0) {
            out.crossings[std::uint64_t{i / kMostInterfaces} << 32 | i % kMostInterfaces] =
                crossings_[i];
        }
    }
    out.by_capture = {{timeline_, accepted_.counts(), all_peaks_.counts()}};
    out.modes = {tables_.frame.counts(), tables_.flow.counts(), tables_.flow_bidir.counts()};
    out.segments = tables_.segments.counts();
    out.loops = tables_.loops.counts();
    if (tables_.prefixes) {
        out.prefixes = tables_.prefixes->counts();
    }
    out.prefixes_wanted = wants_prefixes();
    out.pairs = talkers_.summary();
    out.inside = looks_inside_;
    take_memory(out);
    return out;
}

void Collector::take_memory(Findings& out) {
    out.blind_after = tables_.packets.table().blind_after();
    out.memory_bytes = tables_.packets.bytes() + tables_.segments.bytes() + tables_.loops.bytes();
    out.memory_bytes += tables_.prefixes ? tables_.prefixes->bytes() : 0;
    for (const Echoes* echoes : {&packet_echoes_, &frame_echoes_}) {
        out.memory_bytes += echoes->sorter.bytes() + echoes->copies.bytes();
    }
    out.ladders_taken = tables_.packets.ladders_taken();
    out.others_blind_after = tables_.segments.blind_after();
    for (ModeMemory* mode : {&tables_.frame, &tables_.flow, &tables_.flow_bidir}) {
        out.memory_bytes += mode->keys().bytes();
        out.ladders_taken += mode->keys().ladders_taken();
        out.others_blind_after =
            earlier(out.others_blind_after, mode->keys().table().blind_after());
    }
}

Views Collector::views() {
    Views out;
    out.plain = findings();
    if (inside_) {
        out.inside = inside_->findings();
    }
    out.tunnels = looker_->tunnels();
    return out;
}

}  // namespace unecho::analyze
