// SPDX-License-Identifier: BSD-3-Clause
// make_packet_corpus FOLDER: one file for each of the sample frames, to start the packet fuzzer
// from.
#include <cstdio>
#include <fstream>
#include <string>

#include "support/packet_samples.h"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: make_packet_corpus FOLDER\n", stderr);
        return 2;
    }
    for (const auto& sample : unecho::test::packet_samples()) {
        std::string path(argv[1]);
        path.append("/");
        for (const char c : sample.name) {
            if (c != ',') {
                path.push_back(c == ' ' ? '-' : c);
            }
        }
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(sample.bytes.data()),
                   static_cast<std::streamsize>(sample.bytes.size()));
        if (!file.flush()) {
            std::fprintf(stderr, "make_packet_corpus: cannot write %s\n", path.c_str());
            return 1;
        }
    }
    return 0;
}
