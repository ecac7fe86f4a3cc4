// SPDX-License-Identifier: BSD-3-Clause
// Findings of the collector: its counts, and what is still in its tables.
#include <algorithm>

#include "captures/analyze/collect/collector.h"

namespace unecho::analyze {

Findings Collector::findings() {
    Findings out(*this);
    for (std::size_t i = 0; i < crossings_.size(); ++i) {
        if (crossings_[i].packets != 0) {
            out.crossings[std::uint64_t{i / kMaxInterfaces} << 32 | i % kMaxInterfaces] =
                crossings_[i];
        }
    }
    out.by_capture = {{timeline_, accepted_.counts(), all_peaks_.counts()}};
    out.modes = {tables_.frames.counts(), tables_.flows.one_way(), tables_.flows.both_ways()};
    out.segments = tables_.segments.counts();
    out.loops = tables_.loops.counts();
    if (tables_.prefixes) {
        out.prefixes = tables_.prefixes->counts();
    }
    out.prefixes_wanted = wants_prefixes();
    out.pairs = talkers_.summary();
    out.inside = looks_inside_;
    fill_memory_use(out);
    return out;
}

void Collector::fill_memory_use(Findings& out) {
    out.blind_after = tables_.packets.table().blind_after();
    out.memory_bytes = tables_.packets.bytes() + tables_.segments.bytes() + tables_.loops.bytes();
    out.memory_bytes += tables_.prefixes ? tables_.prefixes->bytes() : 0;
    out.memory_bytes += populations_.bytes();
    for (const Echoes* echoes : {&packet_echoes_, &frame_echoes_}) {
        out.memory_bytes += echoes->sorter.bytes() + echoes->copies.bytes();
    }
    out.ladders_taken = tables_.packets.ladders_taken();
    out.others_blind_after = tables_.segments.blind_after();
    const auto take = [&out](const auto& memory, const auto& table) {
        out.memory_bytes += memory.bytes();
        out.ladders_taken += memory.ladders_taken();
        out.others_blind_after = earlier(out.others_blind_after, table.blind_after());
    };
    take(tables_.frames.keys(), tables_.frames.keys().table());
    take(tables_.flows, tables_.flows.table());
}

Views Collector::views() {
    Views out;
    out.plain = findings();
    if (inside_) {
        out.inside = inside_->findings();
    }
    out.tunnels = preprocessor_->tunnels();
    out.hidden = preprocessor_->hidden_copies();
    return out;
}

}  // namespace unecho::analyze
