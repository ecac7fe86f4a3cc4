// SPDX-License-Identifier: BSD-3-Clause
// make_capture_corpus FOLDER: write a small capture of each format, as a corpus for capture_fuzz.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "captures/compression/compressor.h"
#include "captures/output/output.h"
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

CaptureBytes options(std::endian order, const std::vector<PcapngBuilder::Option>& list) {
    ByteWriter out(order);
    for (const PcapngBuilder::Option& option : list) {
        out.u16(option.code)
            .u16(static_cast<std::uint16_t>(option.value.size()))
            .bytes(option.value)
            .zeros(-option.value.size() % 4);
    }
    return out.u32(0).done();
}

// Return every block of the format, with every option that packets may have.
CaptureBytes all_blocks(std::endian order) {
    const CaptureBytes note{'n', 'o', 't', 'e'};
    const auto of_packet = options(order, {{1, note},
                                           {2, {0, 0, 0, 1}},
                                           {3, {2, 1, 2, 3, 4}},
                                           {4, CaptureBytes(8)},
                                           {5, CaptureBytes(8, 7)},
                                           {6, CaptureBytes(4)},
                                           {7, CaptureBytes(9)},
                                           {2988, CaptureBytes(4, 9) + note},
                                           {19372, CaptureBytes(8)}});
    const auto of_section = options(order, {{1, note}, {2, note}, {3, note}, {4, note}});
    const auto name =
        ByteWriter(order).u16(1).u16(6).bytes(CaptureBytes{10, 0, 0, 1, 'a', 0}).zeros(2).done();
    PcapngBuilder out(order);
    out.block(0x0A0D0D0A,
              ByteWriter(order).u32(0x1A2B3C4D).u16(1).u16(0).u64(UINT64_MAX).done() + of_section)
        .interface(1, 0, {{1, note}, {2, note}, {3, note}, {9, {6}}, {11, {0, 'i', 'p'}}, {0, {}}})
        .block(4, name + CaptureBytes(4) + options(order, {{2, note}}))
        .block(10, ByteWriter(order).u32(0x544C534B).u32(4).bytes(note).done())
        .block(6, ByteWriter(order).u32(0).u64(1).u32(4).u32(4).bytes(note).done() + of_packet)
        .block(2, ByteWriter(order).u32(0).u64(2).u32(4).u32(4).bytes(note).done() + of_packet)
        .simple(note, 4)
        .block(9, note)
        .block(0xBAD, ByteWriter(order).u32(32'473).bytes(note).done())
        .block(0x4000'0BAD, ByteWriter(order).u32(32'473).bytes(note).done())
        .block(5, ByteWriter(order).u32(0).u64(3).done() + options(order, {{4, CaptureBytes(8)}}));
    return out.done();
}

CaptureBytes compressed(unecho::capture::Compression how, const CaptureBytes& bytes) {
    using namespace unecho::capture;
    const int memory = ::memfd_create("compressed", MFD_CLOEXEC);
    auto output = Output::create("/dev/fd/" + std::to_string(memory));
    const auto compressor = make_compressor(how);
    if (!output || !compressor->write(std::as_bytes(std::span(bytes)), **output) ||
        !compressor->finish(**output) || !(*output)->close()) {
        std::abort();
    }
    CaptureBytes out(static_cast<std::size_t>(::lseek(memory, 0, SEEK_END)));
    if (::pread(memory, out.data(), out.size(), 0) != static_cast<ssize_t>(out.size())) {
        std::abort();
    }
    ::close(memory);
    return out;
}

// Overwrite bytes in the middle.
CaptureBytes damaged(CaptureBytes bytes, std::size_t at, const CaptureBytes& instead) {
    std::copy(instead.begin(), instead.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return bytes;
}

void add_compressed(Samples& out, const CaptureBytes& pcap, const CaptureBytes& pcapng) {
    using unecho::capture::Compression;
    const CaptureBytes skippable{0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 9};
    for (const Compression how : {Compression::kZstd, Compression::kLz4}) {
        const std::string name = how == Compression::kZstd ? "zstd-" : "lz4-";
        const CaptureBytes packed = compressed(how, pcap);
        out.emplace_back(name + "pcap", packed);
        out.emplace_back(name + "pcapng", compressed(how, pcapng));
        out.emplace_back(name + "frames", compressed(how, {pcap.begin(), pcap.begin() + 50}) +
                                              skippable +
                                              compressed(how, {pcap.begin() + 50, pcap.end()}));
        out.emplace_back(name + "damaged", damaged(packed, packed.size() / 2, CaptureBytes(9, 1)));
    }
}

void add_damaged(Samples& out) {
    const CaptureBytes pcap = pcap_sample({}, 30);
    out.emplace_back("pcap-damaged", damaged(pcap, pcap.size() / 2, CaptureBytes(40, 0xFF)));
    const CaptureBytes pcapng = all_blocks(std::endian::little) + all_blocks(std::endian::big);
    out.emplace_back("pcapng-damaged", damaged(pcapng, pcapng.size() / 4, CaptureBytes(20)));
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
    out.emplace_back("pcapng-all-big", all_blocks(std::endian::big));
    out.emplace_back("pcapng-all-little", all_blocks(std::endian::little));
    add_compressed(out, pcap, mixed);
    add_damaged(out);
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
