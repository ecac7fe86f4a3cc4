// SPDX-License-Identifier: BSD-3-Clause
// Where `unecho serve` listens: an address of this host, which each of its users can reach, or a
// Unix socket, which one user or a group can.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <sys/types.h>

#include "base/descriptor.h"
#include "base/result.h"

namespace unecho::monitor {

// "127.0.0.1:9797", "[::1]:9797", "unix:/run/unecho-serve/socket".
struct ListenAddress {
    std::string host;            // IPv4 or IPv6, as text
    std::uint16_t port = 0;      // 0: any that is free
    bool loopback = false;       // of IP; all users of this host reach it, and nobody else
    std::string path;            // of a Unix socket, in place of all above; empty: none
    std::optional<gid_t> group;  // whose members may use a Unix socket beside its owner

    // Errc::kInvalidArgument, with what is allowed.
    static Result<ListenAddress> parse(const std::string& text);
    [[nodiscard]] bool is_unix() const { return !path.empty(); }
    // As a URL, or as it was given for a Unix socket.
    [[nodiscard]] std::string url() const;
};

// Whether a text is an IPv4 or IPv6 address.
[[nodiscard]] bool is_ip_address(const std::string& text);

// Listens from open() on.
class ListeningSocket {
  public:
    // Errors say why nobody can listen there. A Unix socket has mode 0600, or 0660 and its group.
    // It takes the place of a socket of this user's on which nobody listens, and of no other file.
    static Result<ListeningSocket> open(const ListenAddress& address);
    // Removes the file of a Unix socket, unless another one has taken its place.
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
    // The port that an IP address has now.
    [[nodiscard]] std::uint16_t port() const;

  private:
    explicit ListeningSocket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
    // Both return errno of what failed; 0: it listens.
    [[nodiscard]] int listen_on_ip(const ListenAddress& address);
    [[nodiscard]] int listen_on_path(const ListenAddress& address);

    Descriptor descriptor_;
    std::string path_;  // to be removed; empty: nothing is
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace unecho::monitor
