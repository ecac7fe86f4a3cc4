// SPDX-License-Identifier: BSD-3-Clause
#include "eal/interface_claim.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace unecho::eal {

// A name that begins with a zero byte is in no folder but in the network namespace, as the
// interface is, and can be bound once (unix(7), "Abstract sockets").
Result<InterfaceClaim> InterfaceClaim::take(const std::string& interface) {
    InterfaceClaim claim(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (claim.socket_ < 0) {
        return fail(Errc::kIo, "interface " + interface + ": " + std::strerror(errno));
    }
    const std::string name = std::string(1, '\0') + "unecho/" + interface;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t length = std::min(name.size(), sizeof(address.sun_path));
    std::memcpy(address.sun_path, name.data(), length);
    if (bind(claim.socket_, reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length)) == 0) {
        return claim;
    }
    if (errno == EADDRINUSE) {
        return fail(Errc::kBusy, "interface " + interface + " is in use by another unecho");
    }
    return fail(Errc::kIo, "interface " + interface + ": " + std::strerror(errno));
}

InterfaceClaim::~InterfaceClaim() {
    if (socket_ >= 0) {
        close(socket_);
    }
}

}  // namespace unecho::eal
