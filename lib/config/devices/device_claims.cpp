// SPDX-License-Identifier: BSD-3-Clause
#include "config/devices/device_claims.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <net/if.h>

#include "config/message_text.h"

namespace unecho::config {
namespace {

namespace fs = std::filesystem;

// An interface may have several names (ip link property add altname), but has one number.
std::string interface_identity(const std::string& name) {
    const unsigned index = if_nametoindex(name.c_str());
    return "interface " + (index != 0 ? "#" + std::to_string(index) : name);
}

std::string_view socket_arg_of(const Device& device) {
    const Driver* driver = device.known_driver();
    return driver == nullptr ? "" : driver->socket_arg;
}

std::vector<DeviceClaim> interfaces_of(const Device& device) {
    std::vector<DeviceClaim> claims;
    for (const std::string& name : device.interfaces()) {
        claims.push_back({"interface " + in_quotes(name), interface_identity(name)});
    }
    return claims;
}

DeviceClaim socket_claim(const std::string& path) {
    return {"socket " + in_quotes(path), "socket " + file_identity(path)};
}

// Both ends of a memif, server and client, may be here.
DeviceClaim memif_claim(const MemifEnd& end) {
    const std::string number = "memif " + std::to_string(end.id);
    return {fmt::format("{} of socket {}", number, in_quotes(end.socket)),
            number + (end.server ? " server " : " client ") +
                (end.socket_is_file ? file_identity(end.socket) : "@" + end.socket)};
}

}  // namespace

std::vector<DeviceClaim> claims_of(const Device& device) {
    if (device.is_pci()) {
        return {};
    }
    if (device.is("net_memif")) {
        return {memif_claim(memif_end(device))};
    }
    std::vector<DeviceClaim> claims = interfaces_of(device);
    for (const std::string& path : device.values_of(socket_arg_of(device))) {
        if (!path.starts_with("/dev/vhost-")) {  // the kernel serves any number
            claims.push_back(socket_claim(path));
        }
    }
    return claims;
}

std::string file_identity(const std::string& path) {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    const fs::path canonical = error ? absolute : fs::weakly_canonical(absolute, error);
    return error ? path : canonical.string();
}

}  // namespace unecho::config
