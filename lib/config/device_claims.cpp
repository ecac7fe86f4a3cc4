// SPDX-License-Identifier: BSD-3-Clause
#include "config/device_claims.h"

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <net/if.h>

#include "config/message_text.h"

namespace unecho::config {
namespace {

namespace fs = std::filesystem;

// Arguments of any driver that name a kernel interface. Those of net_pcap tell the direction;
// `remote` is the interface whose packets net_tap takes.
constexpr std::array<std::string_view, 5> kInterfaceArgs{"iface", "rx_iface", "rx_iface_in",
                                                         "tx_iface", "remote"};

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
    for (const std::string_view arg : kInterfaceArgs) {
        if (arg == socket_arg_of(device)) {
            continue;
        }
        for (const std::string& name : device.values_of(arg)) {
            if (name.find('%') == std::string::npos) {  // else the kernel chooses a number
                claims.push_back({"interface " + in_quotes(name), interface_identity(name)});
            }
        }
    }
    return claims;
}

DeviceClaim socket_claim(const std::string& path) {
    return {"socket " + in_quotes(path), "socket " + file_identity(path)};
}

// Both ends of a memif, server and client, may be here.
DeviceClaim memif_claim(const MemifEnd& end) {
    const std::string number = "memif " + std::to_string(end.id);
    return {number + " of socket " + in_quotes(end.socket),
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
