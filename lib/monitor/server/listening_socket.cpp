// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/listening_socket.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os/errno_code.h"

namespace unecho::monitor {
namespace {

constexpr int kBacklog = 1024;          // connections waiting to be accepted
constexpr int kSendBuffer = 128 << 10;  // bytes in the kernel for each connection
constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr mode_t kOwner = 0600;
constexpr mode_t kOwnerAndGroup = 0660;

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
};

bool to_socket_address(const ListenAddress& address, SocketAddress& out) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(out.storage);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(out.storage);
    if (inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        v4.sin_port = htons(address.port);
        out.size = sizeof(v4);
        return true;
    }
    if (inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr) == 1) {
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(address.port);
        out.size = sizeof(v6);
        return true;
    }
    return false;
}

SocketAddress unix_address(const std::string& path) {
    SocketAddress out;
    auto& address = reinterpret_cast<sockaddr_un&>(out.storage);
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, kLongestPath);
    out.size = sizeof(address);
    return out;
}

bool is_loopback(const SocketAddress& address) {
    if (address.storage.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
        return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    }
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
}

// Return true if a process ended without removing this socket.
bool is_abandoned(const std::string& path) {
    const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const SocketAddress address = unix_address(path);
    return probe.get() >= 0 && connect(probe.get(), address.get(), address.size) != 0 &&
           errno == ECONNREFUSED;
}

// Make room for a socket at this path. Anything but this user's abandoned socket stays.
Status clear_path(const std::string& path) {
    struct stat found {};
    if (lstat(path.c_str(), &found) != 0) {
        const int number = errno;
        return number == ENOENT ? Status{} : fail(errc_from_errno(number), std::strerror(number));
    }
    if (!S_ISSOCK(found.st_mode)) {
        return fail(Errc::kBusy, "is there already, and is no socket");
    }
    if (found.st_uid != geteuid()) {
        return fail(Errc::kPermission,
                    fmt::format("is there already, and belongs to user {}; this process runs as {}",
                                found.st_uid, geteuid()));
    }
    if (!is_abandoned(path)) {
        return fail(Errc::kBusy, "somebody listens there already");
    }
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
        const int number = errno;
        return fail(errc_from_errno(number), std::strerror(number));
    }
    return {};
}

}  // namespace

bool is_ip_address(const std::string& text) {
    ListenAddress address;
    address.host = text;
    SocketAddress unused;
    return to_socket_address(address, unused);
}

Result<ListenAddress> ListenAddress::parse(const std::string& text) {
    const auto wrong = [&] {
        return fail(
            Errc::kInvalidArgument,
            fmt::format("\"{}\"; allowed: an address of this host and a port, as in 127.0.0.1:9797 "
                        "or [::1]:9797, or unix:PATH with a path of up to {} bytes",
                        text, kLongestPath));
    };
    ListenAddress out;
    if (text.starts_with(kUnix)) {
        out.path = text.substr(kUnix.size());
        const bool fits = !out.path.empty() && out.path.size() <= kLongestPath;
        return fits ? Result<ListenAddress>(out) : wrong();
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) {
        return wrong();
    }
    out.host = text.substr(0, colon);
    const bool bracketed = out.host.starts_with('[') && out.host.ends_with(']');
    if (bracketed) {
        out.host = out.host.substr(1, out.host.size() - 2);
    }
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data() + colon + 1, end, out.port);
    SocketAddress address;
    if (problem != std::errc{} || stop != end || !to_socket_address(out, address) ||
        bracketed != (address.storage.ss_family == AF_INET6)) {
        return wrong();
    }
    out.loopback = is_loopback(address);
    return out;
}

Result<Descriptor> ListenAddress::connect(Nanoseconds patience) const {
    SocketAddress where;
    if (is_unix()) {
        where = unix_address(path);
    } else {
        to_socket_address(*this, where);
    }
    Descriptor out(socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval time{static_cast<time_t>(patience / kSecond),
                       static_cast<suseconds_t>(patience % kSecond / kMicrosecond)};
    if (out.get() >= 0 &&
        setsockopt(out.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0 &&
        setsockopt(out.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)) == 0 &&
        ::connect(out.get(), where.get(), where.size) == 0) {
        return out;
    }
    const int number = errno;
    const bool nobody = number == ECONNREFUSED || number == ENOENT;
    return fail(nobody ? Errc::kNotFound : errc_from_errno(number),
                url() + ": " + (nobody ? "no unecho serve listens there" : std::strerror(number)));
}

std::string ListenAddress::url() const {
    if (is_unix()) {
        return std::string(kUnix) + path;
    }
    const bool v6 = host.find(':') != std::string::npos;
    return fmt::format("http://{}:{}/", v6 ? "[" + host + "]" : host, port);
}

int ListeningSocket::listen_on_ip(const ListenAddress& address) {
    SocketAddress where;
    to_socket_address(address, where);
    const int yes = 1;
    descriptor_ =
        Descriptor(socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int number = descriptor_.get();
    return number >= 0 && setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
                   setsockopt(number, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof(kSendBuffer)) ==
                       0 &&
                   bind(number, where.get(), where.size) == 0 && listen(number, kBacklog) == 0
               ? 0
               : errno;
}

int ListeningSocket::listen_on_path(const ListenAddress& address) {
    const SocketAddress where = unix_address(address.path);
    descriptor_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int number = descriptor_.get();
    // The file has this mode from the beginning, whatever the umask.
    if (number < 0 || fchmod(number, kOwner) != 0 || bind(number, where.get(), where.size) != 0) {
        return errno;
    }
    path_ = address.path;
    struct stat made {};
    if (lstat(path_.c_str(), &made) != 0) {
        return errno;
    }
    device_ = made.st_dev;
    inode_ = made.st_ino;
    // If the group is right already, no permission to change it is needed.
    const bool opened =
        !address.group || ((made.st_gid == *address.group ||
                            lchown(path_.c_str(), static_cast<uid_t>(-1), *address.group) == 0) &&
                           chmod(path_.c_str(), kOwnerAndGroup) == 0);
    return opened && listen(number, kBacklog) == 0 ? 0 : errno;
}

Result<ListeningSocket> ListeningSocket::open(const ListenAddress& address) {
    const bool is_unix = address.is_unix();
    const std::string what =
        (is_unix ? address.url() : address.host + ":" + std::to_string(address.port)) + ": ";
    if (is_unix) {
        if (const Status clear = clear_path(address.path); !clear) {
            return fail(clear.error().code, what + clear.error().context);
        }
    }
    ListeningSocket out{Descriptor()};
    const int number = is_unix ? out.listen_on_path(address) : out.listen_on_ip(address);
    if (number == 0) {
        return out;
    }
    return fail(
        errc_from_errno(number),
        what + (number == EADDRINUSE           ? "somebody listens there already"
                : number == EADDRNOTAVAIL      ? "no address of this host"
                : is_unix && number == EPERM   ? "not permitted; its group can be one that "
                                                 "this user is in"
                : !is_unix && number == EACCES ? "not permitted; ports below 1024 are root's"
                                               : std::strerror(number)));
}

ListeningSocket::~ListeningSocket() {
    struct stat found {};
    if (!path_.empty() && lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ &&
        found.st_ino == inode_) {
        unlink(path_.c_str());
    }
}

std::uint16_t ListeningSocket::port() const {
    SocketAddress bound;
    bound.size = sizeof(bound.storage);
    getsockname(descriptor_.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size);
    const bool v4 = bound.storage.ss_family == AF_INET;
    return ntohs(v4 ? reinterpret_cast<const sockaddr_in&>(bound.storage).sin_port
                    : reinterpret_cast<const sockaddr_in6&>(bound.storage).sin6_port);
}

}  // namespace unecho::monitor
