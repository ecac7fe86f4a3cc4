// SPDX-License-Identifier: BSD-3-Clause
#include "support/link_frames.h"

namespace unecho::test {
namespace {

using packet::Link;

// An EtherType, and behind it what a header of Ethernet, SLL or SLL2 may go on with.
struct Chain {
    Bytes type;
    Bytes rest;
};

std::vector<Chain> chains(unsigned version) {
    const Bytes ip = version == 4 ? Bytes{0x08, 0x00} : Bytes{0x86, 0xDD};
    const Bytes ppp = version == 4 ? Bytes{0x00, 0x21} : Bytes{0x00, 0x57};
    return {{ip, {}},
            {{0x81, 0x00}, Bytes{0x00, 0x07} + ip},
            {{0x88, 0xA8}, Bytes{0x00, 0x07, 0x91, 0x00, 0x20, 0x08} + ip},
            {{0x88, 0x47}, {0, 1, 0x00, 64, 0, 2, 0x01, 64}},
            {{0x92, 0x00}, {0x00, 0x07, 0x88, 0x48, 0, 2, 0x01, 64}},
            {{0x88, 0x64}, Bytes{0x11, 0, 0, 9, 0, 60} + ppp},
            {{0x88, 0xA8}, Bytes{0, 7, 0x81, 0, 0, 8, 0x88, 0x64, 0x11, 0, 0, 9, 0, 60} + ppp}};
}

std::vector<Bytes> ethernet_like(Link link, unsigned version) {
    const Bytes macs{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    const Bytes sll{0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0};
    const Bytes sll2{0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0};
    std::vector<Bytes> headers;
    for (const Chain& chain : chains(version)) {
        if (link == Link::kSll2) {
            headers.push_back(chain.type + sll2 + chain.rest);
        } else {
            headers.push_back((link == Link::kEthernet ? macs : sll) + chain.type + chain.rest);
        }
    }
    return headers;
}

std::vector<Bytes> families(Link link, unsigned version) {
    const Bytes numbers = version == 4 ? Bytes{2} : Bytes{10, 24, 28, 30};
    std::vector<Bytes> headers;
    for (const std::uint8_t number : numbers) {
        headers.push_back({0, 0, 0, number});
        if (link == Link::kNull) {
            headers.push_back({number, 0, 0, 0});
        }
    }
    return headers;
}

}  // namespace

std::vector<Bytes> link_headers(Link link, unsigned version) {
    const std::uint8_t ppp = version == 4 ? 0x21 : 0x57;
    switch (link) {
        case Link::kEthernet:
        case Link::kSll:
        case Link::kSll2:
            return ethernet_like(link, version);
        case Link::kRaw:
            return {Bytes()};
        case Link::kIpv4:
            return std::vector<Bytes>(version == 4 ? 1 : 0);
        case Link::kIpv6:
            return std::vector<Bytes>(version == 6 ? 1 : 0);
        case Link::kNull:
        case Link::kLoop:
            return families(link, version);
        case Link::kPpp:
            return {{0, ppp}, {0xFF, 0x03, 0, ppp}};
        case Link::kUnknown:
            break;
    }
    return {};
}

Bytes operator+(Bytes front, const Bytes& back) {
    front.insert(front.end(), back.begin(), back.end());
    return front;
}

}  // namespace unecho::test
