// SPDX-License-Identifier: BSD-3-Clause
// A device as DPDK is asked for it, and what is known of drivers before they are asked: one row a
// driver of virtual devices. Whoever reads an argument of a device reads it as its driver does, of
// several values the last.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unecho {

enum class Bus : std::uint8_t { kVdev, kPci };

struct Driver {
    std::string_view name;
    std::uint16_t queues;                            // at most, each way
    std::span<const std::string_view> capabilities;  // without which it does not work
    std::string_view socket_arg;  // the argument that names a socket which is the device's alone
    bool files;                   // reads rx_pcap and writes tx_pcap, a queue for each
};

// The arguments of a driver with files, by which the end of a file's name is found.
std::span<const std::string_view> arguments_with_files();

// Whether text begins one of these arguments, as "rx_pcap=a.pcap" and "infinite_rx" do.
bool is_argument_with_files(std::string_view text);

// False: a device string would take a part of this file name for an argument, as of "a,rx_pcap=b".
bool fits_device_string(std::string_view file);

// Of virtual devices. None of them hashes.
std::span<const Driver> known_drivers();

struct Device {
    Bus bus = Bus::kVdev;
    std::string name;  // "net_pcap0"; PCI in full and in lower case, "0000:3b:00.0"
    std::vector<std::pair<std::string, std::string>> args;  // {"rx_pcap", "a.pcap"}, as written

    [[nodiscard]] bool is_pci() const { return bus == Bus::kPci; }
    // Null for PCI devices, and for drivers that have no row.
    [[nodiscard]] const Driver* known_driver() const;
    // "net_pcap" for a virtual device, "pci" else.
    [[nodiscard]] std::string driver() const;
    // Whether DPDK gives it to the driver of this row.
    [[nodiscard]] bool is(std::string_view driver) const;
    [[nodiscard]] bool has_files() const;
    // Without which it does not work, by the names of capabilities(7).
    [[nodiscard]] std::span<const std::string_view> capabilities() const;

    // All values of an argument, for drivers that take several.
    [[nodiscard]] std::vector<std::string> values_of(std::string_view arg) const;
    // The one that counts for all other drivers.
    [[nodiscard]] std::string last(std::string_view arg, std::string_view fallback) const;
    // "rx_pcap=a.pcap,infinite_rx=1"
    [[nodiscard]] std::string args_text() const;
};

// What a memif is told, with its driver's defaults.
struct MemifEnd {
    bool server;
    std::uint32_t id;
    std::string socket;
    bool socket_is_file;  // else a name in the abstract namespace, of which nothing stays
};
MemifEnd memif_end(const Device& device);

}  // namespace unecho
