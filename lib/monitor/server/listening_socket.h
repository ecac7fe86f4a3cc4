// SPDX-License-Identifier: BSD-3-Clause
// The socket of `unecho serve`: an IP address of this host, which all its users can reach, or a
// Unix socket for one user or a group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <sys/types.h>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/units.h"

namespace unecho::monitor {

// "127.0.0.1:9797", "[::1]:9797", "unix:/run/unecho-serve/socket".
struct ListenAddress {
    std::string host;        // IPv4 or IPv6, as text
    std::uint16_t port = 0;  // 0: any free port
    bool loopback = false;   // of IP: reachable by all users of this host, and from nowhere else
    std::string path;        // of a Unix socket, instead of all above; empty: IP
    std::optional<gid_t> group;  // may use a Unix socket, beside its owner

    // Errc::kInvalidArgument, with the allowed forms.
    static Result<ListenAddress> parse(const std::string& text);
    [[nodiscard]] bool is_unix() const { return !path.empty(); }
    // Return a connection to a server that listens here. Its reads and writes end after `patience`.
    // Errc::kNotFound: nobody listens.
    [[nodiscard]] Result<Descriptor> connect(Nanoseconds patience) const;
    // Return a URL, or "unix:PATH" for a Unix socket.
    [[nodiscard]] std::string url() const;
};

[[nodiscard]] bool is_ip_address(const std::string& text);

// Listens from open() on.
class ListeningSocket {
  public:
    // Errors say why the address cannot be used. A Unix socket has mode 0600, or 0660 with a group.
    // It replaces this user's abandoned socket, but no other file.
    static Result<ListeningSocket> open(const ListenAddress& address);
    // Remove the file of a Unix socket, unless another one has replaced it.
    ~ListeningSocket();
    ListeningSocket(ListeningSocket&& other) noexcept
        : descriptor_(std::move(other.descriptor_)),
          path_(std::exchange(other.path_, {})),
          device_(other.device_),
          inode_(other.inode_) {}
    ListeningSocket& operator=(ListeningSocket&&) = delete;
    ListeningSocket(const ListeningSocket&) = delete;
    ListeningSocket& operator=(const ListeningSocket&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_.get(); }
    [[nodiscard]] std::uint16_t port() const;

  private:
    explicit ListeningSocket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
    // Both return errno, or 0 on success.
    [[nodiscard]] int listen_on_ip(const ListenAddress& address);
    [[nodiscard]] int listen_on_path(const ListenAddress& address);

    Descriptor descriptor_;
    std::string path_;  // of the file to remove; empty: none
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace unecho::monitor
