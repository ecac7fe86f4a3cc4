// SPDX-License-Identifier: BSD-3-Clause
// key_dump MODE... [tunnels=NAME,NAME...|all] CAPTURE: for each mode, print one line for each
// packet of a capture, parsed by its link type:
//     NUMBER keyed|non_ip|malformed DIGEST OWNER
// DIGEST and OWNER are hexadecimal, under the secret of seed 1; DIGEST is "-" without a key. MODE
// is the name of a key, followed by "+non-ip" if frames without an IP packet have keys, and by
// "+tags" if tags are compared. With tunnels, DIGEST includes the tenant, and these fields follow:
//     OPENED ENDED OFFSET SPACE:NUMBER
// OPENED is 0 or 1; ENDED says why decapsulation stopped early, or "-"; OFFSET is where the packet
// begins, or "-"; SPACE:NUMBER is its tenant.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <pcap/pcap.h>

#include "base/ids.h"
#include "filters/hash/secret.h"
#include "packets/keys/digests.h"
#include "packets/tunnels/tunnels.h"

namespace {

using unecho::packet::Frame;
using unecho::packet::KeyMasks;
using unecho::packet::KeyMode;
using unecho::packet::LinkType;
using unecho::packet::ParsedBurst;

using unecho::packet::DecapsulatedBurst;
using unecho::packet::Tunnels;

struct Mode {
    KeyMode key;
    bool non_ip = false;
    bool tags = false;
};

std::optional<Mode> mode_named(std::string_view name) {
    const auto takes = [&](std::string_view suffix) {
        const bool has = name.ends_with(suffix);
        name.remove_suffix(has ? suffix.size() : 0);
        return has;
    };
    const bool tags = takes("+tags");
    const bool non_ip = takes("+non-ip");
    for (unsigned i = 0; i < unecho::packet::kKeyModes; ++i) {
        const auto mode = static_cast<KeyMode>(i);
        if (unecho::packet::name_of(mode) == name) {
            return Mode{mode, non_ip, tags};
        }
    }
    return std::nullopt;
}

// Parse "all" or names separated by commas; return nothing if a name is unknown.
std::optional<Tunnels> tunnels_named(std::string_view list) {
    using unecho::packet::EncapsulationSet;
    if (list == "all") {
        return Tunnels(EncapsulationSet::all());
    }
    EncapsulationSet set;
    while (!list.empty()) {
        const std::string_view name = list.substr(0, list.find(','));
        list.remove_prefix(std::min(name.size() + 1, list.size()));
        const auto row = std::find_if(unecho::packet::kEncapsulations.begin(),
                                      unecho::packet::kEncapsulations.end(),
                                      [&](const auto& known) { return known.name == name; });
        if (row == unecho::packet::kEncapsulations.end()) {
            return std::nullopt;
        }
        set.add(row->encapsulation);
    }
    return Tunnels(set);
}

const char* end_of(const DecapsulatedBurst& opened, std::size_t i) {
    const auto has = [i](std::uint64_t mask) { return (mask >> i & 1) != 0; };
    return has(opened.fragments)   ? "fragments"
           : has(opened.malformed) ? "malformed"
           : has(opened.other)     ? "other"
           : has(opened.too_deep)  ? "too_deep"
                                   : "-";
}

void print_opened(const DecapsulatedBurst& opened, const ParsedBurst& parsed, const Frame& frame,
                  std::size_t i) {
    const bool is_opened = (opened.opened >> i & 1) != 0;
    std::printf(" %d %s", is_opened ? 1 : 0, end_of(opened, i));
    if (((parsed.ipv4 | parsed.ipv6) >> i & 1) != 0) {
        std::printf(" %td", parsed.ip[i].data - frame.data);
    } else {
        std::printf(" -");
    }
    const auto tenant = is_opened ? opened.tenants[i] : unecho::packet::TenantId{};
    std::printf(" %u:%u", static_cast<unsigned>(tenant.space()), tenant.number());
}

// Abort unless decapsulated_levels() ends at the same packet as decapsulating the burst did.
void check_way(const Tunnels& tunnels, LinkType link, const Frame& frame,
               const unecho::packet::Parsed& innermost) {
    const auto way = decapsulated_levels(tunnels, link, frame, parse_frame(link, frame));
    if (way.count == 0 || way.levels[way.count - 1].packet.ip.data != innermost.ip.data ||
        way.levels[way.count - 1].packet.ip.length != innermost.ip.length) {
        std::fprintf(stderr, "key_dump: the levels of a frame lead to another packet\n");
        std::abort();
    }
}

// Each frame has a buffer of exactly its size, so that a sanitizer reports a read beyond it.
using Burst = std::vector<std::vector<std::uint8_t>>;

std::uint64_t print(const Burst& burst, Mode mode, const Tunnels& tunnels, LinkType link,
                    std::uint64_t number) {
    static const unecho::hash::Secret kSecret = unecho::hash::secret_from_seed(1);
    std::vector<Frame> frames;
    for (const auto& bytes : burst) {
        frames.push_back({bytes.data(), static_cast<std::uint32_t>(bytes.size())});
    }
    std::array<unecho::Digest, unecho::kMaxBurst> digests{};
    ParsedBurst parsed;
    DecapsulatedBurst opened;
    parse_innermost(tunnels, link, frames, parsed, opened);
    KeyMasks masks = digest_burst(mode.key, frames, parsed, kSecret, digests.data());
    if (mode.key == KeyMode::kPacket) {
        fill_checksums(frames, parsed, masks.keyed, kSecret, digests.data());
    }
    add_tenants(mode.key, opened, masks.keyed, kSecret, digests.data());
    if (mode.non_ip) {
        digest_non_ip(link, frames, kSecret, digests.data(), masks);
    }
    const unecho::packet::KeySpec key{
        .mode = mode.key,
        .tunnels = tunnels,
        .tags = mode.tags ? unecho::packet::Tags::kCompare : unecho::packet::Tags::kIgnore};
    add_tags(key, link, frames, parsed, opened, masks.keyed, kSecret, digests.data());
    std::array<unecho::Digest, unecho::kMaxBurst> owners{};
    owner_digests(link, frames, parsed, kSecret, owners.data());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        std::printf("%llu ", static_cast<unsigned long long>(++number));
        if ((masks.keyed >> i & 1) != 0) {
            std::printf("keyed %016llx", static_cast<unsigned long long>(digests[i]));
        } else {
            std::printf("%s -", (masks.non_ip >> i & 1) != 0 ? "non_ip" : "malformed");
        }
        std::printf(" %016llx", static_cast<unsigned long long>(owners[i]));
        if ((opened.opened >> i & 1) != 0) {
            check_way(tunnels, link, frames[i], parsed.at(i));
        }
        if (tunnels.any()) {
            print_opened(opened, parsed, frames[i], i);
        }
        std::printf("\n");
    }
    return number;
}

int dump(const char* path, Mode mode, const Tunnels& tunnels) {
    std::array<char, PCAP_ERRBUF_SIZE> error{};
    const std::unique_ptr<pcap_t, decltype(&pcap_close)> opened(
        pcap_open_offline(path, error.data()), &pcap_close);
    pcap_t* const capture = opened.get();
    if (capture == nullptr) {
        std::fprintf(stderr, "key_dump: %s\n", error.data());
        return 1;
    }
    const LinkType link =
        unecho::packet::link_type_of(static_cast<std::uint16_t>(pcap_datalink(capture)));
    Burst burst;
    std::uint64_t number = 0;
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    int got = 0;
    while ((got = pcap_next_ex(capture, &header, &data)) == 1) {
        burst.emplace_back(data, data + header->caplen);
        if (burst.size() == unecho::kMaxBurst) {
            number = print(burst, mode, tunnels, link, number);
            burst.clear();
        }
    }
    print(burst, mode, tunnels, link, number);
    if (got == PCAP_ERROR) {
        std::fprintf(stderr, "key_dump: %s\n", pcap_geterr(capture));
        return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr std::string_view kTunnels = "tunnels=";
    int status = argc > 2 ? 0 : 2;
    std::optional<Tunnels> tunnels(std::in_place);
    int last = argc - 1;
    if (status == 0 && std::string_view(argv[last - 1]).starts_with(kTunnels)) {
        tunnels = tunnels_named(std::string_view(argv[--last]).substr(kTunnels.size()));
        status = tunnels ? 0 : 2;
    }
    for (int i = 1; i < last && status == 0; ++i) {
        const std::optional<Mode> mode = mode_named(argv[i]);
        status = mode ? dump(argv[argc - 1], *mode, *tunnels) : 2;
    }
    if (status == 2) {
        std::fputs(
            "usage: key_dump packet|flow|flow-bidir|frame[+non-ip][+tags]... "
            "[tunnels=NAME,...|all] CAPTURE\n",
            stderr);
    }
    return status;
}
