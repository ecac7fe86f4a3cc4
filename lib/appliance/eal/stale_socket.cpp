// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/stale_socket.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace unecho::eal {
namespace {

// Return true if a socket listens under this very path in the network namespace of this thread, in
// which memif would create its own (proc(5): /proc/net/unix is that of the main thread). Sockets of
// other namespaces and other spellings of the path are not found.
bool is_listed(const std::string& path) {
    constexpr unsigned long kAccepts = 0x10000;  // __SO_ACCEPTCON
    std::ifstream list("/proc/thread-self/net/unix");
    for (std::string line; std::getline(list, line);) {
        std::istringstream fields(line);
        std::string address;
        std::string references;
        std::string protocol;
        std::string kind;
        std::string state;
        std::string inode;
        std::string name;
        unsigned long flags = 0;
        fields >> address >> references >> protocol >> std::hex >> flags >> kind >> state >> inode;
        if ((flags & kAccepts) != 0 && std::getline(fields >> std::ws, name) && name == path) {
            return true;
        }
    }
    return false;
}

// Return true if nobody listens.
bool refuses(const sockaddr_un& address, Nanoseconds patience) {
    const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) {
        return false;
    }
    // Another kind of socket, a full backlog or a missing permission give other errors.
    const bool connected =
        connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    const bool refused = !connected && errno == ECONNREFUSED;
    if (connected) {
        pollfd greeting{probe, POLLIN, 0};
        poll(&greeting, 1, static_cast<int>(patience / kMillisecond));
    }
    close(probe);
    return refused;
}

}  // namespace

bool remove_stale_socket(const std::string& path, Nanoseconds patience) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    struct stat status {};
    if (path.size() >= sizeof(address.sun_path) || lstat(path.c_str(), &status) != 0 ||
        !S_ISSOCK(status.st_mode) || is_listed(path)) {
        return false;
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    return refuses(address, patience) && unlink(path.c_str()) == 0;
}

}  // namespace unecho::eal
