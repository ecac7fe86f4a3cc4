// SPDX-License-Identifier: BSD-3-Clause
#include "mbufs.h"

#include <algorithm>
#include <cstring>

namespace unecho::test {
namespace {

rte_mbuf* segment_of(const std::uint8_t* data, std::size_t size) {
    rte_mbuf* segment = rte_pktmbuf_alloc(packet_pool());
    if (segment == nullptr) {
        ADD_FAILURE() << "the pool is empty";
        return nullptr;
    }
    std::memcpy(rte_pktmbuf_append(segment, static_cast<std::uint16_t>(size)), data, size);
    return segment;
}

}  // namespace

rte_mbuf* make_mbuf(const Bytes& bytes, const std::vector<std::size_t>& cuts) {
    std::vector<std::size_t> ends = cuts;
    ends.push_back(bytes.size());
    rte_mbuf* head = nullptr;
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
        do {
            const std::size_t size = std::min(end - begin, kSegmentRoom);
            rte_mbuf* segment = segment_of(bytes.data() + begin, size);
            if (head == nullptr) {
                head = segment;
            } else {
                rte_pktmbuf_chain(head, segment);
            }
            begin += size;
        } while (begin < end);
    }
    return head;
}

Bytes bytes_of(const rte_mbuf* mbuf) {
    Bytes out;
    for (const rte_mbuf* segment = mbuf; segment != nullptr; segment = segment->next) {
        const auto* data = rte_pktmbuf_mtod(segment, const std::uint8_t*);
        out.insert(out.end(), data, data + segment->data_len);
    }
    return out;
}

}  // namespace unecho::test
