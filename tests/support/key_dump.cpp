// SPDX-License-Identifier: BSD-3-Clause
// key_dump MODE... CAPTURE: mode by mode one line for each packet of a capture, by its link type:
//     NUMBER keyed|non_ip|malformed DIGEST OWNER
// DIGEST and OWNER are hexadecimal, under the secret of seed 1; DIGEST is "-" without a key. Mode
// packet+non-ip: frames without an IP packet have keys, too.
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <pcap/pcap.h>

#include "base/ids.h"
#include "hash/secret.h"
#include "packet/digests.h"

namespace {

using unecho::packet::Frame;
using unecho::packet::KeyMasks;
using unecho::packet::KeyMode;
using unecho::packet::Link;
using unecho::packet::ParsedBurst;

struct Mode {
    KeyMode key;
    bool non_ip = false;
};

std::optional<Mode> mode_named(std::string_view name) {
    if (name == "packet+non-ip") {
        return Mode{KeyMode::kPacket, true};
    }
    for (unsigned i = 0; i < unecho::packet::kKeyModes; ++i) {
        const auto mode = static_cast<KeyMode>(i);
        if (unecho::packet::name_of(mode) == name) {
            return Mode{mode};
        }
    }
    return std::nullopt;
}

// Each frame in a buffer of exactly its size, so that a sanitizer sees a read beyond it.
using Burst = std::vector<std::vector<std::uint8_t>>;

std::uint64_t print(const Burst& burst, Mode mode, Link link, std::uint64_t number) {
    static const unecho::hash::Secret kSecret = unecho::hash::secret_from_seed(1);
    std::vector<Frame> frames;
    for (const auto& bytes : burst) {
        frames.push_back({bytes.data(), static_cast<std::uint32_t>(bytes.size())});
    }
    std::array<unecho::Digest, unecho::kMaxBurst> digests{};
    ParsedBurst parsed;
    parse_burst(link, frames, parsed);
    KeyMasks masks = digest_burst(mode.key, frames, parsed, kSecret, digests.data());
    if (mode.non_ip) {
        digest_non_ip(link, frames, kSecret, digests.data(), masks);
    }
    std::array<unecho::Digest, unecho::kMaxBurst> owners{};
    owner_digests(link, frames, parsed, kSecret, owners.data());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        std::printf("%llu ", static_cast<unsigned long long>(++number));
        if ((masks.keyed >> i & 1) != 0) {
            std::printf("keyed %016llx", static_cast<unsigned long long>(digests[i]));
        } else {
            std::printf("%s -", (masks.non_ip >> i & 1) != 0 ? "non_ip" : "malformed");
        }
        std::printf(" %016llx\n", static_cast<unsigned long long>(owners[i]));
    }
    return number;
}

int dump(const char* path, Mode mode) {
    std::array<char, PCAP_ERRBUF_SIZE> error{};
    const std::unique_ptr<pcap_t, decltype(&pcap_close)> opened(
        pcap_open_offline(path, error.data()), &pcap_close);
    pcap_t* const capture = opened.get();
    if (capture == nullptr) {
        std::fprintf(stderr, "key_dump: %s\n", error.data());
        return 1;
    }
    const Link link = unecho::packet::link_of(static_cast<std::uint16_t>(pcap_datalink(capture)));
    Burst burst;
    std::uint64_t number = 0;
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    int got = 0;
    while ((got = pcap_next_ex(capture, &header, &data)) == 1) {
        burst.emplace_back(data, data + header->caplen);
        if (burst.size() == unecho::kMaxBurst) {
            number = print(burst, mode, link, number);
            burst.clear();
        }
    }
    print(burst, mode, link, number);
    if (got == PCAP_ERROR) {
        std::fprintf(stderr, "key_dump: %s\n", pcap_geterr(capture));
        return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    int status = argc > 2 ? 0 : 2;
    for (int i = 1; i < argc - 1 && status == 0; ++i) {
        const std::optional<Mode> mode = mode_named(argv[i]);
        status = mode ? dump(argv[argc - 1], *mode) : 2;
    }
    if (status == 2) {
        std::fputs("usage: key_dump packet|flow|flow-bidir|frame|packet+non-ip... CAPTURE\n",
                   stderr);
    }
    return status;
}
