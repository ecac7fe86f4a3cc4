// SPDX-License-Identifier: BSD-3-Clause
#include "support/link_frames.h"

namespace unecho::test {
namespace {

using packet::LinkType;

// An EtherType, and what may follow it in an Ethernet, SLL or SLL2 header.
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

std::vector<Bytes> ethernet_like(LinkType link, unsigned version) {
    const Bytes macs{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    const Bytes sll{0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0};
    const Bytes sll2{0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0};
    std::vector<Bytes> headers;
    for (const Chain& chain : chains(version)) {
        if (link == LinkType::kSll2) {
            headers.push_back(chain.type + sll2 + chain.rest);
        } else {
            headers.push_back((link == LinkType::kEthernet ? macs : sll) + chain.type + chain.rest);
        }
    }
    return headers;
}

std::vector<Bytes> families(LinkType link, unsigned version) {
    const Bytes numbers = version == 4 ? Bytes{2} : Bytes{10, 24, 28, 30};
    std::vector<Bytes> headers;
    for (const std::uint8_t number : numbers) {
        headers.push_back({0, 0, 0, number});
        if (link == LinkType::kNull) {
            headers.push_back({number, 0, 0, 0});
        }
    }
    return headers;
}

Bytes ethertype_of(unsigned version) {
    return version == 4 ? Bytes{0x08, 0x00} : Bytes{0x86, 0xDD};
}

// Data frames of 802.11: three and four addresses, QoS, HT control, retry bit, tagged.
std::vector<Bytes> wifi_frames(unsigned version) {
    const Bytes snap = Bytes{0xAA, 0xAA, 0x03, 0, 0, 0} + ethertype_of(version);
    const Bytes tunnel = Bytes{0xAA, 0xAA, 0x03, 0, 0, 0xF8, 0x81, 0, 0, 9} + ethertype_of(version);
    const Bytes addresses = test::counting(20);
    return {Bytes{0x08, 0x01} + addresses + Bytes{0x10, 0} + snap,
            Bytes{0x08, 0x0A} + addresses + Bytes{0x20, 3} + tunnel,
            Bytes{0x88, 0x02} + addresses + Bytes{0x10, 0, 5, 0} + snap,
            Bytes{0x88, 0x03} + addresses + Bytes{0, 0} + test::counting(6) + Bytes{0, 0} + snap,
            Bytes{0x88, 0x82} + addresses + Bytes{0, 0, 0, 0, 1, 2, 3, 4} + snap};
}

// Radiotap without fields, with flags, with a timer before them, with a second presence word; PPI
// with one field. None announces a check sequence, because the frames have none.
std::vector<Bytes> radio_headers(LinkType link) {
    switch (link) {
        case LinkType::kRadiotap:
            return {{0, 0, 8, 0, 0, 0, 0, 0},
                    {0, 0, 9, 0, 2, 0, 0, 0, 0x00},
                    Bytes{0, 0, 17, 0, 3, 0, 0, 0} + Bytes(9),
                    Bytes{0, 0, 26, 0, 3, 0, 0, 0x80, 0, 0, 0, 0} + Bytes(14)};
        case LinkType::kPpi:
            return {{0, 0, 8, 0, 105, 0, 0, 0},
                    Bytes{0, 0, 32, 0, 105, 0, 0, 0, 2, 0, 20, 0} + Bytes(20)};
        case LinkType::kAvs:
            return {Bytes{0x80, 0x21, 0x10, 0x01, 0, 0, 0, 64} + Bytes(56)};
        default:
            return {Bytes()};
    }
}

std::vector<Bytes> wifi_headers(LinkType link, unsigned version) {
    std::vector<Bytes> headers;
    for (const Bytes& radio : radio_headers(link)) {
        for (const Bytes& frame : wifi_frames(version)) {
            headers.push_back(radio + frame);
        }
    }
    return headers;
}

std::vector<Bytes> frame_relay_headers(unsigned version) {
    const std::uint8_t nlpid = version == 4 ? 0xCC : 0x8E;
    const std::uint8_t ppp = version == 4 ? 0x21 : 0x57;
    return {{0x18, 0x41, 0x03, nlpid},
            {0x18, 0x41, 0x03, 0x00, nlpid},
            {0x18, 0x40, 0x00, 0x01, 0x03, nlpid},
            Bytes{0x18, 0x41, 0x03, 0x00, 0x80, 0, 0, 0} + ethertype_of(version),
            {0x18, 0x41, 0x03, 0xCF, 0, ppp},
            Bytes{0x18, 0x41} + ethertype_of(version)};
}

// Resource group 7; a hook with a prefix of three letters, then the packet without padding.
std::vector<Bytes> nflog_headers(unsigned version) {
    const Bytes family{static_cast<std::uint8_t>(version == 4 ? 2 : 10), 0, 0, 7};
    const Bytes payload{0xFF, 0xFF, 9, 0};
    return {family + payload,
            family + Bytes{8, 0, 1, 0, 0, 8, 1, 0, 7, 0, 10, 0, 'i', 'n', 0, 0} + payload};
}

}  // namespace

std::vector<Bytes> link_headers(LinkType link, unsigned version) {
    const std::uint8_t ppp = version == 4 ? 0x21 : 0x57;
    switch (link) {
        case LinkType::kEthernet:
        case LinkType::kSll:
        case LinkType::kSll2:
            return ethernet_like(link, version);
        case LinkType::kRaw:
            return {Bytes()};
        case LinkType::kIpv4:
            return std::vector<Bytes>(version == 4 ? 1 : 0);
        case LinkType::kIpv6:
            return std::vector<Bytes>(version == 6 ? 1 : 0);
        case LinkType::kNull:
        case LinkType::kLoop:
            return families(link, version);
        case LinkType::kPpp:
            return {{0, ppp}, {0xFF, 0x03, 0, ppp}};
        case LinkType::kWifi:
        case LinkType::kRadiotap:
        case LinkType::kPpi:
        case LinkType::kAvs:
            return wifi_headers(link, version);
        case LinkType::kHdlc:
            return {Bytes{0x0F, 0} + ethertype_of(version),
                    Bytes{0x8F, 0, 0x81, 0, 0, 7} + ethertype_of(version)};
        case LinkType::kFrameRelay:
            return frame_relay_headers(version);
        case LinkType::kNflog:
            return nflog_headers(version);
        case LinkType::kPppEther:
            return {{0x11, 0, 0, 9, 0, 60, 0, ppp}};
        case LinkType::kUnknown:
            break;
    }
    return {};
}

Bytes operator+(Bytes front, const Bytes& back) {
    front.insert(front.end(), back.begin(), back.end());
    return front;
}

}  // namespace unecho::test
