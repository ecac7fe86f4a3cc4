// SPDX-License-Identifier: BSD-3-Clause
#include "captures/live/live_interfaces.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/core.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <pcap/pcap.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/option_names.h"
#include "base/utf8.h"

namespace unecho::capture {
namespace {

struct Hardware {
    unsigned short type;  // ARPHRD_
    int dlt;
};

// libpcap's mapping. It captures all other hardware as "Linux cooked".
constexpr std::array kHardware{
    Hardware{ARPHRD_ETHER, DLT_EN10MB},
    Hardware{ARPHRD_LOOPBACK, DLT_EN10MB},
    Hardware{ARPHRD_NONE, DLT_RAW},
    Hardware{ARPHRD_TUNNEL, DLT_RAW},
    Hardware{ARPHRD_TUNNEL6, DLT_RAW},
    Hardware{ARPHRD_SIT, DLT_RAW},
    Hardware{ARPHRD_IPGRE, DLT_RAW},
    Hardware{ARPHRD_IEEE80211, DLT_IEEE802_11},
    Hardware{ARPHRD_IEEE80211_PRISM, DLT_PRISM_HEADER},
    Hardware{ARPHRD_IEEE80211_RADIOTAP, DLT_IEEE802_11_RADIO},
};

int dlt_of_hardware(unsigned short type) {
    const auto* const known = std::find_if(kHardware.begin(), kHardware.end(),
                                           [&](const Hardware& one) { return one.type == type; });
    return known == kHardware.end() ? static_cast<int>(DLT_LINUX_SLL) : known->dlt;
}

// Return the ARPHRD_ number. Errc::kNotFound: there is no such interface.
Result<unsigned short> hardware_of(const std::string& interface) {
    ifreq asked{};
    if (interface.size() < sizeof(asked.ifr_name)) {
        std::copy(interface.begin(), interface.end(), std::begin(asked.ifr_name));
        const int any_socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        const bool known = ::ioctl(any_socket, SIOCGIFHWADDR, &asked) == 0;
        ::close(any_socket);
        if (known) {
            return asked.ifr_hwaddr.sa_family;
        }
    }
    return fail(Errc::kNotFound,
                fmt::format("{}: no such interface; unecho capture {} lists those that are there",
                            escaped(interface), option::kList));
}

std::string text_or_nothing(const char* text) {
    return text != nullptr ? text : "";
}

}  // namespace

Result<std::vector<LiveInterface>> live_interfaces() {
    std::array<char, PCAP_ERRBUF_SIZE> why{};
    pcap_if_t* all = nullptr;
    if (pcap_findalldevs(&all, why.data()) != 0) {
        return fail(Errc::kIo, std::string("interfaces cannot be listed: ") + why.data());
    }
    std::vector<LiveInterface> found;
    for (const pcap_if_t* one = all; one != nullptr; one = one->next) {
        const std::string name = one->name;
        found.push_back({.name = name,
                         .description = text_or_nothing(one->description),
                         .up = (one->flags & PCAP_IF_UP) != 0,
                         .network = name == kAnyInterface || ::if_nametoindex(one->name) != 0});
    }
    pcap_freealldevs(all);
    return found;
}

Result<LiveLink> live_link(const std::string& interface) {
    int dlt = DLT_LINUX_SLL2;
    if (interface != kAnyInterface) {
        const auto hardware = hardware_of(interface);
        UNECHO_TRY(hardware);
        dlt = dlt_of_hardware(*hardware);
    }
    return LiveLink{.dlt = dlt,
                    .name = text_or_nothing(pcap_datalink_val_to_name(dlt)),
                    .description = text_or_nothing(pcap_datalink_val_to_description(dlt))};
}

Status check_live_filter(const std::string& expression, const LiveLink& link) {
    struct Close {
        void operator()(pcap_t* handle) const { pcap_close(handle); }
    };
    constexpr int kWhole = 262144;
    const std::unique_ptr<pcap_t, Close> handle(pcap_open_dead(link.dlt, kWhole));
    bpf_program code{};
    if (pcap_compile(handle.get(), &code, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
        return fail(Errc::kConfig,
                    escaped(pcap_geterr(handle.get())) + "; allowed: as in pcap-filter(7)");
    }
    pcap_freecode(&code);
    return {};
}

}  // namespace unecho::capture
