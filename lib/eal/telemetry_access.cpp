// SPDX-License-Identifier: BSD-3-Clause
#include "eal/telemetry_access.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <grp.h>
#include <rte_eal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/errno_code.h"

namespace unecho::eal {
namespace {

constexpr const char* kSocket = "/dpdk_telemetry.v2";

Status open_path(const std::string& path, gid_t group, mode_t mode) {
    // Who is in a group may give it files of its own; where the group is right, nothing is needed.
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 &&
        (status.st_gid == group || chown(path.c_str(), static_cast<uid_t>(-1), group) == 0) &&
        chmod(path.c_str(), mode) == 0) {
        return {};
    }
    const int number = errno;
    return fail(code_of(number), "telemetry is not opened to its group: " + path + ": " +
                                     std::strerror(number) +
                                     "; run as root, or as a user in the group");
}

}  // namespace

Result<gid_t> group_named(const std::string& name) {
    std::vector<char> room(1024);
    group entry{};
    group* found = nullptr;
    int code = 0;
    while ((code = getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found)) == ERANGE) {
        room.resize(2 * room.size());
    }
    if (found == nullptr) {
        return fail(Errc::kConfig,
                    "this machine has no group \"" + name + "\"" +
                        (code == 0 ? "" : std::string(" (") + std::strerror(code) + ")") +
                        "; allowed: one that getent group lists");
    }
    return found->gr_gid;
}

std::string runtime_folder(const std::string& prefix) {
    const char* folder = std::getenv("RUNTIME_DIRECTORY");
    if (folder == nullptr) {
        folder = getuid() == 0 ? "/var/run" : std::getenv("XDG_RUNTIME_DIR");
    }
    return std::string(folder == nullptr ? "/tmp" : folder) + "/dpdk/" + prefix;
}

bool telemetry_answers(const std::string& folder) {
    const std::string path = folder + kSocket;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        return false;
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) {
        return false;
    }
    // A full backlog is somebody's too.
    const bool answers =
        connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
        errno == EAGAIN;
    close(probe);
    return answers;
}

Status open_telemetry_to(gid_t group) {
    const std::string folder = rte_eal_get_runtime_dir();
    const std::string shared = folder.substr(0, folder.rfind('/'));
    struct stat status {};
    constexpr mode_t kListed = 0755;
    if (stat(shared.c_str(), &status) == 0 && (status.st_mode & 0777) != kListed &&
        chmod(shared.c_str(), kListed) != 0) {
        const int number = errno;
        return fail(code_of(number), "telemetry is not opened to its group: " + shared + ": " +
                                         std::strerror(number) +
                                         "; its owner must allow others to "
                                         "list it (chmod 755)");
    }
    if (const Status opened = open_path(folder + kSocket, group, 0660); !opened) {
        return opened;
    }
    return open_path(folder, group, 0750);
}

}  // namespace unecho::eal
