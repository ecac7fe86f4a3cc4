// SPDX-License-Identifier: BSD-3-Clause
#include "config/device_claims.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <net/if.h>

#include "config/text.h"

namespace unecho::config {
namespace {

namespace fs = std::filesystem;

// Arguments that name a kernel interface, of any driver: those of net_pcap say which way, remote is
// the interface whose packets a net_tap takes.
constexpr std::array<std::string_view, 5> kInterfaceArgs{"iface", "rx_iface", "rx_iface_in",
                                                         "tx_iface", "remote"};

// memif's own defaults
constexpr std::string_view kMemifSocket = "/run/memif.sock";

// An interface may have several names (ip link property add altname), but one number.
std::string interface_identity(const std::string& name) {
    const unsigned index = if_nametoindex(name.c_str());
    return "interface " + (index != 0 ? "#" + std::to_string(index) : name);
}

std::vector<Claim> interfaces_of(const Device& device) {
    std::vector<Claim> claims;
    for (const std::string_view arg : kInterfaceArgs) {
        for (const std::string& name : device.values_of(arg)) {
            if (name.find('%') == std::string::npos) {  // else the kernel makes up a number
                claims.push_back({"interface " + in_quotes(name), interface_identity(name)});
            }
        }
    }
    return claims;
}

Claim socket_claim(const std::string& path) {
    return {"socket " + in_quotes(path), "socket " + file_identity(path)};
}

std::string last_of(const Device& device, std::string_view arg, std::string_view fallback) {
    const std::vector<std::string> values = device.values_of(arg);
    return values.empty() ? std::string(fallback) : values.back();
}

// The two ends of a memif may both be here, as server and client.
Claim memif_claim(const Device& device) {
    const std::string socket = last_of(device, "socket", kMemifSocket);
    const std::string role = last_of(device, "role", "client");
    const std::string id_text = last_of(device, "id", "0");
    std::uint32_t id = 0;
    std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
    const bool server = role == "server" || role == "master";
    const bool file = last_of(device, "socket-abstract", "yes") == "no";
    const std::string number = "memif " + std::to_string(id);
    return {number + " of socket " + in_quotes(socket),
            number + (server ? " server " : " client ") +
                (file ? file_identity(socket) : "@" + socket)};
}

}  // namespace

std::vector<Claim> claims_of(const Device& device) {
    if (device.bus == Bus::kPci) {
        return {};
    }
    if (device.name.starts_with("net_memif")) {
        return {memif_claim(device)};
    }
    if (device.name.starts_with("net_vhost")) {
        std::vector<Claim> claims;
        for (const std::string& path : device.values_of("iface")) {
            claims.push_back(socket_claim(path));
        }
        return claims;
    }
    std::vector<Claim> claims = interfaces_of(device);
    if (device.name.starts_with("net_virtio_user")) {
        for (const std::string& path : device.values_of("path")) {
            if (!path.starts_with("/dev/")) {  // vhost in the kernel serves any number
                claims.push_back(socket_claim(path));
            }
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
