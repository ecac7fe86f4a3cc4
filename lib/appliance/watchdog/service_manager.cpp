// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/service_manager.h"

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os/clock.h"

namespace unecho::appliance {
namespace {

std::optional<std::uint64_t> number_of(const char* text) {
    if (text == nullptr) {
        return std::nullopt;
    }
    const char* const end = text + std::strlen(text);
    std::uint64_t number = 0;
    const auto [stop, problem] = std::from_chars(text, end, number);
    return problem == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// Return 0 if the watchdog is for another process.
Nanoseconds watchdog_of(const ServiceManager::Environment& environment) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // microseconds: 12 days
    const auto usec = number_of(environment.watchdog_usec);
    const auto pid = number_of(environment.watchdog_pid);
    const bool ours = environment.watchdog_pid == nullptr ||
                      (pid && *pid == static_cast<std::uint64_t>(getpid()));
    return usec && ours && *usec < kMost ? *usec * kMicrosecond : 0;
}

// A path, or a name in the abstract namespace, whose leading zero byte is written as '@'.
struct Address {
    sockaddr_un name{};
    socklen_t length = 0;
};
std::optional<Address> address_of(const std::string& text) {
    Address address;
    if (text.size() < 2 || text.size() >= sizeof(address.name.sun_path) ||
        (text[0] != '/' && text[0] != '@')) {
        return std::nullopt;
    }
    address.name.sun_family = AF_UNIX;
    std::memcpy(address.name.sun_path, text.data(), text.size());
    const bool abstract = text[0] == '@';
    if (abstract) {
        address.name.sun_path[0] = '\0';
    }
    address.length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size() + (abstract ? 0 : 1));
    return address;
}

}  // namespace

ServiceManager::Environment ServiceManager::Environment::of_this_process() {
    return {std::getenv("NOTIFY_SOCKET"), std::getenv("WATCHDOG_USEC"),
            std::getenv("WATCHDOG_PID")};
}

ServiceManager::ServiceManager(const Environment& environment) {
    if (environment.notify_socket == nullptr || *environment.notify_socket == '\0') {
        return;
    }
    address_ = environment.notify_socket;
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    // Messages that must arrive wait this long for room.
    const timeval patience{0, 100'000};
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    watchdog_ = watchdog_of(environment);
}

ServiceManager::~ServiceManager() {
    if (socket_ >= 0) {
        close(socket_);
    }
}

bool ServiceManager::send(std::string_view message, int flags) const {
    const std::optional<Address> to = address_of(address_);
    if (!to) {
        errno = EINVAL;
        return false;
    }
    return sendto(socket_, message.data(), message.size(), flags | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&to->name), to->length) >= 0;
}

Status ServiceManager::notify(const std::string& message) {
    if (!listens() || send(message, 0)) {
        return {};
    }
    return fail(Errc::kIo,
                fmt::format("NOTIFY_SOCKET \"{}\" does not take \"{}\": {}", address_,
                            message.substr(0, message.find('\n')), std::strerror(errno)));
}

Status ServiceManager::ready() {
    return notify("READY=1");
}

Status ServiceManager::stopping() {
    return notify("STOPPING=1");
}

// systemd compares this time to find the READY=1 that belongs to the reload.
Status ServiceManager::reloading() {
    const std::uint64_t usec = steady_now() / kMicrosecond;
    return notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(usec));
}

Status ServiceManager::reloaded() {
    return notify("READY=1");
}

void ServiceManager::status(std::string_view text) {
    if (listens()) {
        send("STATUS=" + std::string(text), MSG_DONTWAIT);
    }
}

void ServiceManager::feed_watchdog() {
    if (listens()) {
        send("WATCHDOG=1", MSG_DONTWAIT);
    }
}

}  // namespace unecho::appliance
