// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/telemetry_access.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/core.h>
#include <rte_eal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os/errno_code.h"

namespace unecho::eal {
namespace {

constexpr const char* kSocket = "/dpdk_telemetry.v2";
// Known to monitor/client/telemetry_client.cpp.
constexpr const char* kMonitorSocket = "/unecho_telemetry.v2";
// Between DPDK processes: pdump, secondary processes.
constexpr const char* kProcessSocket = "/mp_socket";
constexpr int kBacklog = 16;

tl::unexpected<Error> not_opened(const std::string& path, int number) {
    return fail(
        errc_from_errno(number),
        fmt::format(
            "telemetry is not opened to its group: {}: {}; run as root, or as a user in the group",
            path, std::strerror(number)));
}

Status open_path(const std::string& path, gid_t group, mode_t mode) {
    // A user may give its files to a group that it is in; if the group is right already, nothing
    // changes.
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 &&
        (status.st_gid == group || chown(path.c_str(), static_cast<uid_t>(-1), group) == 0) &&
        chmod(path.c_str(), mode) == 0) {
        return {};
    }
    return not_opened(path, errno);
}

// The umask sets the mode of DPDK's sockets. A socket that does not exist needs no change.
Status close_path(const std::string& path) {
    return chmod(path.c_str(), 0600) == 0 || errno == ENOENT ? Status{} : not_opened(path, errno);
}

std::optional<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        return std::nullopt;
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

bool answers(const std::string& path) {
    const auto address = address_of(path);
    const Descriptor probe(
        address ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1);
    // A full backlog also belongs to a listener.
    return probe.get() >= 0 && (connect(probe.get(), reinterpret_cast<const sockaddr*>(&*address),
                                        sizeof(*address)) == 0 ||
                                errno == EAGAIN);
}

// Listen, for this user alone. Replace what a killed process left there.
Result<Descriptor> listen_at(const std::string& path) {
    if (answers(path)) {
        return fail(Errc::kBusy, path +
                                     ": another process answers there; give one of the two a [run] "
                                     "name or --file-prefix of its own");
    }
    unlink(path.c_str());
    const auto address = address_of(path);
    if (!address) {
        return not_opened(path, ENAMETOOLONG);
    }
    Descriptor out(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (out.get() < 0 ||
        bind(out.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
        return not_opened(path, errno);
    }
    if (chmod(path.c_str(), 0600) != 0 || listen(out.get(), kBacklog) != 0) {
        const int number = errno;
        unlink(path.c_str());
        return not_opened(path, number);
    }
    return out;
}

}  // namespace

bool telemetry_answers(const std::string& folder) {
    return answers(folder + kSocket);
}

Result<MonitorSocket> MonitorSocket::open(gid_t group) {
    const std::string folder = rte_eal_get_runtime_dir();
    const std::string shared = folder.substr(0, folder.rfind('/'));
    struct stat status {};
    constexpr mode_t kListed = 0755;
    if (stat(shared.c_str(), &status) == 0 && (status.st_mode & 0777) != kListed &&
        chmod(shared.c_str(), kListed) != 0) {
        const int number = errno;
        return fail(errc_from_errno(number),
                    fmt::format("telemetry is not opened to its group: {}: {}; its owner must "
                                "allow others to list it (chmod 755)",
                                shared, std::strerror(number)));
    }
    const std::string path = folder + kMonitorSocket;
    auto listening = listen_at(path);
    UNECHO_TRY(listening);
    MonitorSocket out(std::move(*listening), path);
    // The directory comes last: the group must not reach sockets that are still open to it.
    Status status_of_all = close_path(folder + kSocket);
    const auto then = [&](auto step) {
        if (status_of_all) {
            status_of_all = step();
        }
    };
    then([&] { return close_path(folder + kProcessSocket); });
    then([&] { return open_path(path, group, 0660); });
    then([&] { return open_path(folder, group, 0750); });
    UNECHO_TRY(status_of_all);
    return out;
}

MonitorSocket::~MonitorSocket() {
    if (!path_.empty()) {
        unlink(path_.c_str());
    }
}

}  // namespace unecho::eal
