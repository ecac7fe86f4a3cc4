// SPDX-License-Identifier: BSD-3-Clause
#include "support/packet_samples.h"

#include <string_view>

namespace unecho::test {
namespace {

// Return "v4 what". Appended step by step: g++ 12 warns of operator+ here without cause.
std::string named(unsigned version, std::string_view what) {
    std::string out(version == 4 ? "v4 " : "v6 ");
    return out.append(what);
}

std::string named(unsigned version, std::string_view what, unsigned number) {
    return named(version, what).append(" ").append(std::to_string(number));
}

void add_transports(std::vector<PacketSample>& out, unsigned version) {
    for (const std::uint8_t protocol : {1, 6, 17, 33, 47, 50, 58, 132, 136}) {
        PacketSpec spec;
        spec.version = version;
        spec.protocol = protocol;
        spec.payload = counting(5);
        out.push_back({named(version, "protocol", protocol), build(spec)});
    }
}

void add_links(std::vector<PacketSample>& out, unsigned version) {
    const PacketSpec plain{.version = version, .payload = counting(3)};
    for (const std::uint16_t type : {0x8100, 0x88A8, 0x9100, 0x9200}) {
        PacketSpec spec = plain;
        spec.tags = {{type, 0x0123}};
        out.push_back({named(version, "tag", type), build(spec)});
    }
    PacketSpec spec = plain;
    spec.tags = {{0x88A8, 1}, {0x8100, 2}, {0x8100, 3}};
    out.push_back({named(version, "three tags"), build(spec)});
    spec.labels = {16, 17, 18};
    out.push_back({named(version, "three tags, three labels"), build(spec)});
    spec = plain;
    spec.labels = {3};
    out.push_back({named(version, "one label"), build(spec)});
    for (const std::uint8_t vni : {8, 9}) {
        const Bytes inner = build(plain);
        spec = {
            .version = version, .destination_port = 4789, .payload = {8, 0, 0, 0, 0, 0, vni, 0}};
        spec.payload.insert(spec.payload.end(), inner.begin(), inner.end());
        out.push_back({named(version, "VXLAN", vni), build(spec)});
    }
    Bytes multicast = build(spec);
    multicast[13] = 0x48;
    out.push_back({named(version, "one label, multicast"), multicast});
    spec = plain;
    spec.pad = true;
    spec.trailer = {1, 2, 3};
    out.push_back({named(version, "padded, with trailer"), build(spec)});
    spec.payload.clear();
    spec.protocol = 99;
    out.push_back({named(version, "nothing behind IP"), build(spec)});
}

void add_ipv4(std::vector<PacketSample>& out) {
    PacketSpec spec{.options = {7, 7, 4, 0, 0, 0, 0, 1}, .payload = counting(2)};
    out.push_back({"v4 options", build(spec)});
    spec.options.resize(40, 1);
    out.push_back({"v4 longest options", build(spec)});
    spec = {.more_fragments = true, .payload = counting(8)};
    out.push_back({"v4 first fragment", build(spec)});
    spec.fragment_offset = 2;
    out.push_back({"v4 middle fragment", build(spec)});
    spec.more_fragments = false;
    out.push_back({"v4 last fragment", build(spec)});
    spec = {.dont_fragment = true, .payload = counting(8), .trailer = {1, 2}};
    Bytes bytes = build(spec);
    bytes[16] = bytes[17] = 0;
    out.push_back({"v4 total length 0", bytes});
    bytes[17] = 20;
    out.push_back({"v4 ends before the ports", bytes});
    bytes[17] = 19;
    out.push_back({"v4 total length below its header", bytes});
    bytes[16] = 0xFF;
    out.push_back({"v4 length beyond the capture", bytes});
    bytes = build(spec);
    bytes[13] = 0xDD;
    bytes[12] = 0x86;
    out.push_back({"v4 announced as v6", bytes});
}

void add_ipv6(std::vector<PacketSample>& out) {
    const auto chain = [&out](std::string_view name, std::vector<Extension> extensions,
                              std::uint8_t protocol = 17) {
        const PacketSpec spec{.version = 6,
                              .extensions = std::move(extensions),
                              .protocol = protocol,
                              .payload = counting(8),
                              .trailer = {1, 2}};
        out.push_back({named(6, name), build(spec)});
    };
    for (const std::uint8_t type : {0, 43, 60, 135, 139, 140}) {
        chain(std::string("extension ").append(std::to_string(type)), {options_extension(type, 1)});
    }
    chain("AH", {authentication_extension()});
    chain("AH, shortest", {authentication_extension(0)}, 6);
    chain("atomic fragment", {fragment_extension(0, false)});
    chain("first fragment", {fragment_extension(0, true)});
    chain("later fragment", {fragment_extension(3, true)});
    chain("last fragment, of a chain", {options_extension(0), fragment_extension(3, false)});
    chain("two fragment headers", {fragment_extension(0, true), fragment_extension(5, false)});
    chain("long chain",
          {options_extension(0, 2), options_extension(60), options_extension(43, 1),
           fragment_extension(0, true), authentication_extension(), options_extension(60)},
          132);
    chain("no next header", {options_extension(0)}, 59);
    chain("ESP behind a chain", {options_extension(0)}, 50);
    Bytes bytes = build({.version = 6, .payload = counting(4)});
    bytes[18] = bytes[19] = 0;
    out.push_back({"v6 payload length 0", bytes});
    bytes[20] = 59;
    out.push_back({"v6 payload length 0, no next header", bytes});
    bytes[20] = 6;
    bytes[18] = 0xFF;
    out.push_back({"v6 length beyond the capture", bytes});
    bytes[12] = 0x08;
    bytes[13] = 0x00;
    out.push_back({"v6 announced as v4", bytes});
}

void add_others(std::vector<PacketSample>& out) {
    out.push_back({"empty", {}});
    out.push_back({"ARP", build_ethernet(0x0806, counting(28))});
    out.push_back({"ARP in a tag", build_ethernet(0x0806, counting(28), {.tags = {{0x8100, 1}}})});
    out.push_back({"802.3", build_ethernet(38, counting(38))});
    out.push_back({"PPPoE", build_ethernet(0x8864, counting(40))});
    out.push_back({"tags only", build_ethernet(0x8100, {0, 1, 0x81, 0, 0, 2, 0x81, 0})});
    out.push_back({"labels only", build_ethernet(0x8847, {0, 1, 0, 64, 0, 1, 1, 64})});
    out.push_back({"label without a bottom", build_ethernet(0x8847, Bytes(16, 0))});
    out.push_back({"MPLS, not IP", build_ethernet(0x8847, {0, 1, 1, 64, 0x10, 0, 0, 0})});
}

}  // namespace

const std::vector<PacketSample>& packet_samples() {
    static const std::vector<PacketSample> kSamples = [] {
        std::vector<PacketSample> out;
        for (const unsigned version : {4U, 6U}) {
            add_transports(out, version);
            add_links(out, version);
        }
        add_ipv4(out);
        add_ipv6(out);
        add_others(out);
        return out;
    }();
    return kSamples;
}

}  // namespace unecho::test
