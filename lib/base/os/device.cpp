// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/device.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/join_text.h"

namespace unecho {
namespace {

// Found on Linux 6.18 by removing each capability in turn (docs/running.md).
constexpr std::array<std::string_view, 2> kAfPacketNeeds{"CAP_NET_RAW", "CAP_NET_ADMIN"};
constexpr std::array<std::string_view, 4> kAfXdpNeeds{"CAP_NET_RAW", "CAP_NET_ADMIN",
                                                      "CAP_SYS_ADMIN", "CAP_IPC_LOCK"};
constexpr std::array<std::string_view, 1> kTapNeeds{"CAP_NET_ADMIN"};
// net_pcap needs this only if it opens an interface.
constexpr std::array<std::string_view, 1> kPcapNeeds{"CAP_NET_RAW"};
constexpr std::array<std::string_view, 4> kPcapInterfaces{"iface", "rx_iface", "rx_iface_in",
                                                          "tx_iface"};

// Arguments of any driver that name a kernel interface. Those of net_pcap tell the direction;
// `remote` is the interface whose packets net_tap takes.
constexpr std::array<std::string_view, 5> kInterfaceArguments{"iface", "rx_iface", "rx_iface_in",
                                                              "tx_iface", "remote"};

constexpr std::array<std::string_view, 8> kPcapArguments{
    "rx_pcap", "tx_pcap", "rx_iface", "rx_iface_in", "tx_iface", "iface", "phy_mac", "infinite_rx"};

constexpr std::array kDrivers{
    Driver{"net_pcap", 16, {}, "", true},
    Driver{"net_null", 64, {}, "", false},
    Driver{"net_ring", 16, {}, "", false},
    Driver{"net_memif", 64, {}, "", false, 1500},     // memif_end() finds its socket
    Driver{"net_af_xdp", 1, kAfXdpNeeds, "", false},  // the size of a page limits its MTU
    Driver{"net_af_packet", 16, kAfPacketNeeds, "", false, 1500},
    Driver{"net_tap", 4, kTapNeeds, "", false, 1504},
    Driver{"net_vhost", 16, {}, "iface", false},
    Driver{"net_virtio_user", 8, {}, "path", false},
};

}  // namespace

std::span<const Driver> known_drivers() {
    return kDrivers;
}

std::span<const std::string_view> arguments_with_files() {
    return kPcapArguments;
}

bool is_argument_with_files(std::string_view text) {
    const std::string_view key = text.substr(0, text.find('='));
    return std::find(kPcapArguments.begin(), kPcapArguments.end(), key) != kPcapArguments.end();
}

bool fits_device_string(std::string_view file) {
    for (std::size_t at = file.find(','); at != std::string_view::npos;
         at = file.find(',', at + 1)) {
        const std::string_view rest = file.substr(at + 1);
        if (is_argument_with_files(rest.substr(0, rest.find(',')))) {
            return false;
        }
    }
    return true;
}

// DPDK picks a virtual device's driver by the start of its name.
const Driver* Device::known_driver() const {
    const auto* found = std::find_if(kDrivers.begin(), kDrivers.end(), [&](const Driver& known) {
        return name.starts_with(known.name);
    });
    return is_pci() || found == kDrivers.end() ? nullptr : found;
}

std::string Device::driver() const {
    if (is_pci()) {
        return "pci";
    }
    const Driver* known = known_driver();
    return known != nullptr ? std::string(known->name)
                            : name.substr(0, name.find_last_not_of("0123456789") + 1);
}

bool Device::is(std::string_view driver) const {
    const Driver* known = known_driver();
    return known != nullptr && known->name == driver;
}

bool Device::has_files() const {
    const Driver* known = known_driver();
    return known != nullptr && known->files;
}

std::span<const std::string_view> Device::capabilities() const {
    const Driver* known = known_driver();
    if (known == nullptr) {
        return {};
    }
    const bool opens_interface =
        known->files && std::any_of(args.begin(), args.end(), [](const auto& arg) {
            return std::find(kPcapInterfaces.begin(), kPcapInterfaces.end(), arg.first) !=
                   kPcapInterfaces.end();
        });
    return opens_interface ? std::span<const std::string_view>(kPcapNeeds) : known->capabilities;
}

std::vector<std::string> Device::interfaces() const {
    const Driver* const known = known_driver();
    std::vector<std::string> names;
    for (const std::string_view arg : kInterfaceArguments) {
        if (known != nullptr && arg == known->socket_arg) {
            continue;
        }
        for (std::string& name : values_of(arg)) {
            if (name.find('%') == std::string::npos) {
                names.push_back(std::move(name));
            }
        }
    }
    return names;
}

std::vector<std::string> Device::values_of(std::string_view arg) const {
    std::vector<std::string> values;
    for (const auto& [key, value] : args) {
        if (key == arg) {
            values.push_back(value);
        }
    }
    return values;
}

std::string Device::last(std::string_view arg, std::string_view fallback) const {
    const std::vector<std::string> values = values_of(arg);
    return values.empty() ? std::string(fallback) : values.back();
}

std::string Device::args_text() const {
    return join_text(args, ",", [](const auto& one) { return one.first + "=" + one.second; });
}

MemifEnd memif_end(const Device& device) {
    const std::string role = device.last("role", "client");
    const std::string id_text = device.last("id", "0");
    std::uint32_t id = 0;
    std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
    return {.server = role == "server" || role == "master",
            .id = id,
            .socket = device.last("socket", "/run/memif.sock"),
            .socket_is_file = device.last("socket-abstract", "yes") == "no"};
}

}  // namespace unecho
