// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/burst.h"

#include <algorithm>
#include <cstring>

#include "base/prefetch.h"
#include "dedup/pipeline/bits.h"

namespace unecho::dataplane {
namespace {

using pipeline::extract_bits;
using pipeline::first_bits;
using pipeline::for_each_bit;

// Copy all of the packet's bytes to memory that has room for them.
packet::Frame copy_of(const rte_mbuf& mbuf, std::uint8_t* to) noexcept {
    std::uint32_t length = 0;
    for (const rte_mbuf* segment = &mbuf; segment != nullptr; segment = segment->next) {
        std::memcpy(to + length, rte_pktmbuf_mtod(segment, const std::uint8_t*), segment->data_len);
        length += segment->data_len;
    }
    return {to, length};
}

// Nearly all packets are IPv4, so the other masks are nearly empty and quick to extract.
void keep_only(packet::ParsedBurst& parsed, std::uint64_t mask, unsigned kept) noexcept {
    parsed.ipv6 = extract_bits(parsed.ipv6, mask);
    parsed.non_ip = extract_bits(parsed.non_ip, mask);
    parsed.malformed = extract_bits(parsed.malformed, mask);
    parsed.ipv4 = first_bits(kept) & ~(parsed.ipv6 | parsed.non_ip | parsed.malformed);
}

void keep_only(packet::DecapsulatedBurst& opened, std::uint64_t mask) noexcept {
    unsigned n = 0;
    for_each_bit(mask, [&](unsigned i) { opened.tenants[n++] = opened.tenants[i]; });
    for (std::uint64_t* const ended :
         {&opened.opened, &opened.fragments, &opened.malformed, &opened.other, &opened.too_deep}) {
        *ended = extract_bits(*ended, mask);
    }
}

}  // namespace

unsigned view(Burst& burst, std::span<std::uint8_t> scratch) noexcept {
    burst.too_long = 0;
    burst.bytes = 0;
    burst.in_scratch = false;
    std::size_t used = 0;  // of scratch
    for (unsigned i = 0; i < burst.count; ++i) {
        const rte_mbuf& mbuf = *burst.mbufs[i];
        burst.frames[i] = {rte_pktmbuf_mtod(&mbuf, const std::uint8_t*), mbuf.data_len};
        prefetch_line(burst.frames[i].data);  // headers come from the device's memory
        if (mbuf.nb_segs > 1) [[unlikely]] {
            if (mbuf.pkt_len > scratch.size()) {
                burst.frames[i].length = 0;
                burst.too_long |= std::uint64_t{1} << i;
            } else if (mbuf.pkt_len > scratch.size() - used) {
                const unsigned left = burst.count - i;
                burst.count = i;
                return left;
            } else {
                burst.frames[i] = copy_of(mbuf, scratch.data() + used);
                used += mbuf.pkt_len;
                burst.in_scratch = true;
            }
        }
        burst.lengths[i] = mbuf.pkt_len;
        burst.bytes += mbuf.pkt_len;
    }
    return 0;
}

void keep_only(Burst& burst, std::uint64_t mask) noexcept {
    if (mask == first_bits(burst.count)) {
        return;
    }
    unsigned kept = 0;
    burst.bytes = 0;
    for_each_bit(mask, [&](unsigned i) {
        burst.mbufs[kept] = burst.mbufs[i];
        burst.frames[kept] = burst.frames[i];
        burst.parsed.ip[kept] = burst.parsed.ip[i];
        burst.lengths[kept] = burst.lengths[i];
        burst.times[kept] = burst.times[i];
        burst.bytes += burst.lengths[i];
        ++kept;
    });
    burst.too_long = extract_bits(burst.too_long, mask);
    keep_only(burst.parsed, mask, kept);
    if (burst.opened.any()) {
        keep_only(burst.opened, mask);
    }
    burst.count = kept;
}

// Write each packet to both lists and advance one of them: a branch on random echoes would be
// mispredicted half of the time.
unsigned part(const Burst& burst, std::uint64_t mask, std::array<rte_mbuf*, kMaxBurst>& some,
              std::array<rte_mbuf*, kMaxBurst>& others) noexcept {
    std::size_t n = 0;
    for (std::size_t i = 0; i < burst.count; ++i, mask >>= 1) {
        some[n] = burst.mbufs[i];
        others[i - n] = burst.mbufs[i];
        n += mask & 1;
    }
    return static_cast<unsigned>(n);
}

void take_rest(Burst& burst, unsigned left) noexcept {
    const auto move = [&](auto& array) {
        std::copy_n(array.begin() + burst.count, left, array.begin());
    };
    move(burst.mbufs);
    move(burst.times);
    burst.count = left;
}

}  // namespace unecho::dataplane
