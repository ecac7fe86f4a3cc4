// SPDX-License-Identifier: BSD-3-Clause
#include "eal/stale_socket.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace unecho::eal {

bool remove_stale_socket(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    struct stat status {};
    if (path.size() >= sizeof(address.sun_path) || lstat(path.c_str(), &status) != 0 ||
        !S_ISSOCK(status.st_mode)) {
        return false;
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) {
        return false;
    }
    // Another kind of socket, a full backlog or a lack of permission answer otherwise.
    const bool refused =
        connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
        errno == ECONNREFUSED;
    close(probe);
    return refused && unlink(path.c_str()) == 0;
}

}  // namespace unecho::eal
