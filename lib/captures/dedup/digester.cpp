// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/digester.h"

#include <algorithm>

#include "dedup/pipeline/bits.h"
#include "dedup/pipeline/stages.h"

namespace unecho::dedup {

using capture::Record;

void Digester::digest(std::span<const Record> records,
                      std::span<const capture::Interface> interfaces,
                      std::vector<DigestedBurst>& bursts,
                      std::span<const std::uint64_t> source_numbers) {
    add_interfaces(interfaces);
    std::size_t used = 0;
    for (std::size_t begin = 0; begin < records.size(); ++used) {
        if (used == bursts.size()) {
            bursts.emplace_back();
        }
        DigestedBurst& digested = bursts[used];
        const std::size_t filled = fill(records.subspan(begin), interfaces, digested);
        for (std::size_t i = 0; !source_numbers.empty() && merged_ && i < filled; ++i) {
            digested.place.numbers[i] = source_numbers[begin + i];
        }
        begin += filled;
        digest(digested);
    }
    bursts.resize(used);
}

// Compute only the owner of packets of other shards.
void Digester::digest(DigestedBurst& digested) const {
    if (ignored_bytes_ != 0) {
        ignore_bytes(digested);
    }
    pipeline::parse(digested.burst, key_);
    const bool frames = key_.mode == packet::KeyMode::kFrame;
    const auto cut = [&] {
        digested.mine = shard_mask(digested.burst, key_.mode, secret_, shard_);
        compact_burst(digested.burst, digested.place, digested.mine);
    };
    if (!shard_.whole() && !frames) {
        cut();
    }
    pipeline::digest(digested.burst, key_, secret_);
    if (ignored_bytes_ != 0) {
        separate_short_frames(digested);
    }
    if (!shard_.whole() && frames) {
        cut();
    }
}

void Digester::ignore_bytes(DigestedBurst& digested) const {
    for (unsigned i = 0; i < digested.burst.count; ++i) {
        packet::Frame& frame = digested.burst.frames[i];
        if (frame.length > ignored_bytes_) {
            frame = {frame.data + ignored_bytes_, frame.length - ignored_bytes_};
        }
    }
}

// Make frames that are compared whole differ from the rest of longer ones.
void Digester::separate_short_frames(DigestedBurst& digested) const {
    constexpr Digest kWhole = 0x9E3779B97F4A7C15;
    for (unsigned i = 0; i < digested.burst.count; ++i) {
        if (digested.burst.lengths[i] <= ignored_bytes_) {
            digested.burst.digests[i] ^= kWhole;
        }
    }
}

// Return the least number of the taps that stand beside this one, or its own.
std::uint32_t Digester::group_of(std::size_t tap) const {
    for (const std::vector<std::uint32_t>& group : groups_) {
        if (std::find(group.begin(), group.end(), tap) != group.end()) {
            return *std::min_element(group.begin(), group.end());
        }
    }
    return static_cast<std::uint32_t>(tap);
}

void Digester::add_interfaces(std::span<const capture::Interface> interfaces) {
    while (facts_.size() < interfaces.size()) {
        const capture::Interface& one = interfaces[facts_.size()];
        const packet::LinkType link = packet::link_type_of(one.link_type);
        const bool keyless = link == packet::LinkType::kUnknown &&
                             key_.mode != packet::KeyMode::kFrame &&
                             key_.non_ip == packet::NonIp::kPass;
        facts_.push_back({link, one.file, group_of(facts_.size() + 1), keyless});
    }
}

std::vector<capture::Warning> Digester::warnings() const {
    std::vector<capture::Warning> all = unparsed_.warnings();
    all.insert(all.end(), clock_.warnings().begin(), clock_.warnings().end());
    return all;
}

// Return how many of the records make up the burst.
std::size_t Digester::fill(std::span<const Record> records,
                           std::span<const capture::Interface> interfaces,
                           DigestedBurst& digested) {
    pipeline::Burst& burst = digested.burst;
    burst.link = facts_[records.front().interface].link;
    burst.too_long = 0;
    burst.bytes = 0;
    unsigned n = 0;
    for (const Record& record : records.first(std::min<std::size_t>(records.size(), kMaxBurst))) {
        const InterfaceFacts& facts = facts_[record.interface];
        if (facts.link != burst.link) {
            break;
        }
        if (facts.keyless) [[unlikely]] {
            unparsed_.note(record, interfaces[record.interface]);
        }
        burst.frames[n] = {record.data, record.length};
        burst.lengths[n] = record.length;
        burst.times[n] = clock_.at(record, facts.file);
        burst.bytes += record.length;
        burst.groups[n] = facts.group;
        burst.ports[n] = static_cast<PortIndex>(std::min<std::uint32_t>(facts.file, kMaxPorts - 1));
        digested.place.files[n] = facts.file;
        digested.place.numbers[n] = merged_ ? next_number_ + n : record.number;
        ++n;
    }
    burst.count = n;
    digested.read = n;
    digested.mine = pipeline::first_bits(n);
    digested.place.first_number = next_number_;
    digested.place.records = records.data();
    next_number_ += n;
    return n;
}

}  // namespace unecho::dedup
