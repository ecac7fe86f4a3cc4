// SPDX-License-Identifier: BSD-3-Clause
#include "captures/bpf.h"

#include <array>
#include <cstdio>
#include <utility>

#include <fmt/core.h>
#include <pcap/pcap.h>

#include "base/option_names.h"
#include "captures/formats/pcap_header.h"

namespace unecho::capture {
namespace {

// Open an in-memory savefile of the link type, because libpcap compiles differently for a live
// capture. For a savefile it refuses directions and interfaces that the link type does not record.
pcap_t* open_savefile(std::uint16_t link_type) {
    pcap_file_header header{};
    header.magic = pcap::kMicrosecondMagic;
    header.version_major = PCAP_VERSION_MAJOR;
    header.version_minor = PCAP_VERSION_MINOR;
    header.snaplen = pcap::kMaxSnapLength;
    header.linktype = link_type;
    std::FILE* const file = ::fmemopen(nullptr, sizeof(header), "w+");
    if (file == nullptr) {
        return nullptr;
    }
    std::array<char, PCAP_ERRBUF_SIZE> why{};
    const bool written = std::fwrite(&header, sizeof(header), 1, file) == 1;
    std::rewind(file);
    pcap_t* const handle = written ? ::pcap_fopen_offline(file, why.data()) : nullptr;
    if (handle == nullptr) {
        std::fclose(file);
    }
    return handle;
}

}  // namespace

struct Bpf::Program {
    Program() = default;
    ~Program() { pcap_freecode(&code); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    bpf_program code{};
};

Result<Bpf> Bpf::compile(const std::string& expression, std::uint16_t link_type) {
    struct Close {
        void operator()(pcap_t* handle) const { pcap_close(handle); }
    };
    const std::unique_ptr<pcap_t, Close> handle(open_savefile(link_type));
    if (handle == nullptr) {
        return fail(Errc::kNoMemory, option::kFilter + ": libpcap has no memory");
    }
    auto program = std::make_shared<Program>();
    if (pcap_compile(handle.get(), &program->code, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) !=
        0) {
        return fail(Errc::kConfig,
                    fmt::format("{}: {} (for link type {}); allowed: as in pcap-filter(7)",
                                option::kFilter, pcap_geterr(handle.get()), link_type));
    }
    return Bpf(std::move(program));
}

bool Bpf::matches(const Record& record) const {
    pcap_pkthdr header{};
    header.caplen = record.length;
    header.len = record.wire_length;
    return pcap_offline_filter(&program_->code, &header, record.data) != 0;
}

}  // namespace unecho::capture
