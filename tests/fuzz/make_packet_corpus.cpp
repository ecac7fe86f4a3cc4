// SPDX-License-Identifier: BSD-3-Clause
// make_packet_corpus FOLDER: write the corpora of packet_fuzz and tunnel_fuzz. FOLDER/packet gets
// one file for each sample frame and for each header of each link type, after a byte for the link
// type. FOLDER/tunnel gets one for each form of each encapsulation, after the link type and two
// bytes that list all encapsulations.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "support/link_frames.h"
#include "support/packet_samples.h"
#include "support/wrappings.h"

namespace {

using unecho::packet::LinkType;
using unecho::test::Bytes;
using unecho::test::operator+;

bool write(const std::string& folder, std::string name, const Bytes& head, const Bytes& frame) {
    name.erase(std::remove(name.begin(), name.end(), ','), name.end());
    std::replace(name.begin(), name.end(), ' ', '-');
    const std::string path = folder + "/" + name;
    std::ofstream file(path, std::ios::binary);
    const Bytes all = head + frame;
    file.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
    if (!file.flush()) {
        std::fprintf(stderr, "make_packet_corpus: cannot write %s\n", path.c_str());
        return false;
    }
    return true;
}

Bytes head_of(LinkType link) {
    return {static_cast<std::uint8_t>(link)};
}

bool write_link(const std::string& folder, LinkType link, unsigned version) {
    const std::string name = std::string(name_of(link)) + " v" + std::to_string(version) + " ";
    const Bytes ip = unecho::test::build_ip({.version = version, .payload = {1, 2, 3}});
    unsigned number = 0;
    for (const Bytes& header : unecho::test::link_headers(link, version)) {
        if (!write(folder, name + std::to_string(++number), head_of(link), header + ip)) {
            return false;
        }
    }
    return true;
}

bool write_wrappings(const std::string& folder) {
    unecho::test::Draw draw(1);
    unsigned number = 0;
    for (const unecho::test::Wrapping& one : unecho::test::wrappings()) {
        for (const unsigned version : {4U, 6U}) {
            const unecho::test::Wrapped packet{
                unecho::test::build_ip({.version = version, .payload = {1, 2, 3}})};
            if (!takes(one, packet)) {
                continue;
            }
            const Bytes frame = on_ethernet(wrap(one, packet, ++number, draw), draw);
            const std::string name = std::string(one.name) + " v" + std::to_string(version);
            if (!write(folder, name, head_of(LinkType::kEthernet) + Bytes{0xFF, 0xFF}, frame)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: make_packet_corpus FOLDER\n", stderr);
        return 2;
    }
    const std::string packets = std::string(argv[1]) + "/packet";
    bool written = write_wrappings(std::string(argv[1]) + "/tunnel");
    for (const auto& sample : unecho::test::packet_samples()) {
        written =
            written && write(packets, sample.name, head_of(LinkType::kEthernet), sample.bytes);
    }
    for (const LinkType link : unecho::test::kIpLinks) {
        written = written && write_link(packets, link, 4) && write_link(packets, link, 6);
    }
    return written ? 0 : 1;
}
