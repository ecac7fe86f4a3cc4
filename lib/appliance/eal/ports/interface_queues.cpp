// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/ports/interface_queues.h"

#include <algorithm>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace unecho::eal {

std::uint32_t receive_queues(const std::string& interface) noexcept {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&channels);
    const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) {
        return 1;
    }
    const bool known = ioctl(control, SIOCETHTOOL, &request) == 0;
    close(control);
    return known ? std::max(channels.rx_count + channels.combined_count, 1U) : 1;
}

}  // namespace unecho::eal
