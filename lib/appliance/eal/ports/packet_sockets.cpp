// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/ports/packet_sockets.h"

#include <charconv>
#include <string>
#include <vector>

#include <linux/if_packet.h>
#include <sys/socket.h>

#include "base/os/directory.h"

namespace unecho::eal {
namespace {

bool is_bound_to(int socket, int interface) {
    int domain = 0;
    socklen_t size = sizeof(domain);
    sockaddr_ll address{};
    socklen_t length = sizeof(address);
    return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_PACKET &&
           getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
           address.sll_ifindex == interface;
}

}  // namespace

std::vector<int> packet_sockets_on(int interface) {
    std::vector<int> out;
    for (const std::string& name :
         list_directory("/proc/self/fd").value_or(std::vector<std::string>())) {
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        if (is_bound_to(descriptor, interface)) {
            out.push_back(descriptor);
        }
    }
    return out;
}

std::uint64_t take_drops(const std::vector<int>& sockets) noexcept {
    std::uint64_t drops = 0;
    for (const int socket : sockets) {
        tpacket_stats statistics{};
        socklen_t size = sizeof(statistics);
        if (getsockopt(socket, SOL_PACKET, PACKET_STATISTICS, &statistics, &size) == 0) {
            drops += statistics.tp_drops;
        }
    }
    return drops;
}

}  // namespace unecho::eal
