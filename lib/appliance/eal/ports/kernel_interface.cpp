// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/ports/kernel_interface.h"

#include <algorithm>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace unecho::eal {
namespace {

// Return false if the kernel does not answer.
bool ask(const std::string& interface, unsigned long what, ifreq& request) noexcept {
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) {
        return false;
    }
    const bool answered = ioctl(control, what, &request) == 0;
    close(control);
    return answered;
}

template <typename Data>
bool ask_driver(const std::string& interface, Data& data) noexcept {
    ifreq request{};
    request.ifr_data = reinterpret_cast<char*>(&data);
    return ask(interface, SIOCETHTOOL, request);
}

}  // namespace

std::uint32_t receive_queues(const std::string& interface) noexcept {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    return ask_driver(interface, channels)
               ? std::max(channels.rx_count + channels.combined_count, 1U)
               : 1;
}

InterfaceState interface_state(const std::string& interface) noexcept {
    InterfaceState out;
    ifreq flags{};
    if (ask(interface, SIOCGIFFLAGS, flags)) {
        out.up = (flags.ifr_flags & IFF_UP) != 0;
    }
    ethtool_value gro{ETHTOOL_GGRO, 0};
    ethtool_value lro{ETHTOOL_GFLAGS, 0};
    out.merges_packets = (ask_driver(interface, gro) && gro.data != 0) ||
                         (ask_driver(interface, lro) && (lro.data & ETH_FLAG_LRO) != 0);
    return out;
}

}  // namespace unecho::eal
