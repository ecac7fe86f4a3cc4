// SPDX-License-Identifier: BSD-3-Clause
// A device string of DPDK, parsed, and what is known of each virtual driver without starting DPDK.
// If an argument occurs several times, most drivers use its last value, and so do we.
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
    std::uint16_t queues;                            // at most, in each direction
    std::span<const std::string_view> capabilities;  // that the driver needs
    std::string_view socket_arg;   // argument that names a socket which belongs to the device alone
    bool files;                    // reads rx_pcap and writes tx_pcap, one queue for each file
    std::uint16_t max_mtu = 9600;  // of DPDK 22.11
};

// Return the arguments of drivers that read files. The parser finds the end of a file name by them.
std::span<const std::string_view> arguments_with_files();

// Return true if `text` begins with one of them, as "rx_pcap=a.pcap" and "infinite_rx" do.
bool is_argument_with_files(std::string_view text);

// Return false if a part of the file name would read as an argument, as in "a,rx_pcap=b".
bool fits_device_string(std::string_view file);

// Return the rows of all known virtual devices. None of them computes an RSS hash.
std::span<const Driver> known_drivers();

struct Device {
    Bus bus = Bus::kVdev;
    std::string name;  // "net_pcap0"; of PCI the full address in lower case, "0000:3b:00.0"
    std::vector<std::pair<std::string, std::string>> args;  // {"rx_pcap", "a.pcap"}, as written

    [[nodiscard]] bool is_pci() const { return bus == Bus::kPci; }
    // Return the row of its driver; null for PCI devices and for unknown drivers.
    [[nodiscard]] const Driver* known_driver() const;
    // Return "net_pcap" for a virtual device, "pci" for a PCI device.
    [[nodiscard]] std::string driver() const;
    // Return true if DPDK gives the device to the driver of this name.
    [[nodiscard]] bool is(std::string_view driver) const;
    [[nodiscard]] bool has_files() const;
    // Return the capabilities that it needs, by their names in capabilities(7).
    [[nodiscard]] std::span<const std::string_view> capabilities() const;

    // Return the kernel interfaces that the arguments name, those that the driver creates included,
    // without names in which the kernel chooses a number ("tap%d").
    [[nodiscard]] std::vector<std::string> interfaces() const;
    // Return all values of an argument, for drivers that accept several.
    [[nodiscard]] std::vector<std::string> values_of(std::string_view arg) const;
    // Return the last value of an argument, which all other drivers use.
    [[nodiscard]] std::string last(std::string_view arg, std::string_view fallback) const;
    // Return all arguments as text: "rx_pcap=a.pcap,infinite_rx=1".
    [[nodiscard]] std::string args_text() const;
};

// The settings of a memif device, with its driver's defaults.
struct MemifEnd {
    bool server;
    std::uint32_t id;
    std::string socket;
    bool socket_is_file;  // false: a name in the abstract namespace, which leaves no file behind
};
MemifEnd memif_end(const Device& device);

}  // namespace unecho
