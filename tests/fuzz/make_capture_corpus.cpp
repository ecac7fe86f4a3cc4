// SPDX-License-Identifier: BSD-3-Clause
// make_capture_corpus FOLDER: a small capture of each format, to start the capture fuzzer from.
#include <bit>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/capture_builder.h"

namespace {

using namespace unecho::test;

using Samples = std::vector<std::pair<std::string, CaptureBytes>>;

CaptureBytes pcapng(std::endian order, std::endian next) {
    PcapngBuilder out(order);
    out.section()
        .interface(1, 65'535, {{2, {'e', 't', 'h', '0'}}, {9, {9}}, {0, {}}})
        .interface(113, 4, {{9, {0x8A}}, {14, out.seconds(1000)}})
        .enhanced(0, 1'700'000'000'000'000'000, sample_data(0, 9), 60)
        .block(4, {0, 0, 0, 0})
        .simple(sample_data(1, 12), 12)
        .obsolete(1, 5000, sample_data(2, 6), 7)
        .block(0x1234, sample_data(3, 5))
        .section(next)
        .interface(101, 0)
        .enhanced(0, 1'700'000'000'000'000, sample_data(4, 21), 21);
    return out.done();
}

Samples samples() {
    Samples out;
    for (const std::endian order : {std::endian::little, std::endian::big}) {
        const std::string name = order == std::endian::little ? "-little" : "-big";
        out.emplace_back("pcap-micro" + name, pcap_sample({.order = order}, 3));
        out.emplace_back("pcap-nano" + name, pcap_sample({.order = order, .nanoseconds = true}, 3));
        out.emplace_back("pcap-modified" + name,
                         pcap_sample({.order = order, .modified = true}, 3));
        out.emplace_back("pcapng" + name, pcapng(order, order));
    }
    const CaptureBytes pcap = pcap_sample({}, 5);
    const CaptureBytes mixed = pcapng(std::endian::big, std::endian::little);
    const CaptureBytes record = pcap_record({}, 999, 0, sample_data(6, 3), 3);
    out.emplace_back("pcapng-mixed", mixed);
    out.emplace_back("pcap-cut", CaptureBytes(pcap.begin(), pcap.end() - 3));
    out.emplace_back("gzip-pcap", gzip(pcap));
    out.emplace_back("gzip-pcapng", gzip(mixed));
    out.emplace_back("gzip-stored", gzip(pcap, {.stored = true}));
    out.emplace_back("gzip-members", gzip(pcap, {.all_fields = true}) + gzip(record));
    out.emplace_back("gzip-padded", gzip(pcap) + CaptureBytes(10));
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: make_capture_corpus FOLDER\n", stderr);
        return 2;
    }
    for (const auto& [name, bytes] : samples()) {
        const std::string path = std::string(argv[1]) + "/" + name;
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
        if (!file.flush()) {
            std::fprintf(stderr, "make_capture_corpus: cannot write %s\n", path.c_str());
            return 1;
        }
    }
    return 0;
}
