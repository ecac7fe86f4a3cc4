// SPDX-License-Identifier: BSD-3-Clause
// make_packet_corpus FOLDER: one file for each of the sample frames, and for each header of each
// link type, to start the packet fuzzer from. The first byte of a file is its link type.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "support/link_frames.h"
#include "support/packet_samples.h"

namespace {

using unecho::packet::Link;
using unecho::test::Bytes;
using unecho::test::operator+;

bool write(const std::string& folder, std::string name, Link link, const Bytes& frame) {
    name.erase(std::remove(name.begin(), name.end(), ','), name.end());
    std::replace(name.begin(), name.end(), ' ', '-');
    const std::string path = folder + "/" + name;
    std::ofstream file(path, std::ios::binary);
    file.put(static_cast<char>(link));
    file.write(reinterpret_cast<const char*>(frame.data()),
               static_cast<std::streamsize>(frame.size()));
    if (!file.flush()) {
        std::fprintf(stderr, "make_packet_corpus: cannot write %s\n", path.c_str());
        return false;
    }
    return true;
}

bool write_link(const std::string& folder, Link link, unsigned version) {
    const std::string name = std::string(name_of(link)) + " v" + std::to_string(version) + " ";
    const Bytes ip = unecho::test::build_ip({.version = version, .payload = {1, 2, 3}});
    unsigned number = 0;
    for (const Bytes& header : unecho::test::link_headers(link, version)) {
        if (!write(folder, name + std::to_string(++number), link, header + ip)) {
            return false;
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
    bool written = true;
    for (const auto& sample : unecho::test::packet_samples()) {
        written = written && write(argv[1], sample.name, Link::kEthernet, sample.bytes);
    }
    for (const Link link : unecho::test::kIpLinks) {
        written = written && write_link(argv[1], link, 4) && write_link(argv[1], link, 6);
    }
    return written ? 0 : 1;
}
