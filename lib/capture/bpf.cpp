// SPDX-License-Identifier: BSD-3-Clause
#include "capture/bpf.h"

#include <utility>

#include <pcap/pcap.h>

#include "capture/link_types.h"

namespace unecho::capture {
namespace {

constexpr int kSnapLength = 262144;  // libpcap's MAXIMUM_SNAPLEN

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
    const std::unique_ptr<pcap_t, Close> handle(pcap_open_dead(dlt_of(link_type), kSnapLength));
    if (handle == nullptr) {
        return fail(Errc::kNoMemory, "--filter: libpcap has no memory");
    }
    auto program = std::make_shared<Program>();
    if (pcap_compile(handle.get(), &program->code, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) !=
        0) {
        return fail(Errc::kConfig, "--filter: " + std::string(pcap_geterr(handle.get())) +
                                       " (for link type " + std::to_string(link_type) +
                                       "); allowed: as in pcap-filter(7)");
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
