// SPDX-License-Identifier: BSD-3-Clause
// One DPDK port: probed, queried, configured and started; the destructor stops and closes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rte_mempool.h>

#include "appliance/eal/ports/interface_claim.h"
#include "base/counters.h"
#include "base/descriptor.h"
#include "base/ids.h"
#include "base/os/device.h"
#include "base/result.h"

struct rte_eth_dev_info;
struct rte_eth_rss_conf;

namespace unecho::eal {

// Properties of a device as it reports them or, before it is probed, as its driver is known for.
struct DeviceInfo {
    bool probed = false;
    std::string driver;
    std::uint16_t max_rx_queues = 1;
    std::uint16_t max_tx_queues = 1;
    std::uint16_t max_mtu = 9600;
    std::uint64_t rss_types = 0;  // RTE_ETH_RSS_* types; 0: no RSS
    std::uint16_t reta_size = 0;  // entries of the redirection table
    int socket = -1;
    std::string rss_refused;  // set at start: why copies would not meet with RSS

    [[nodiscard]] bool rss() const { return rss_types != 0 && reta_size != 0; }
};

// Return assumed properties for `check`, where no device may be touched. A PCI device is assumed to
// offer RSS and as many queues as requested.
DeviceInfo assumed_device_info(const Device& device);

struct PortSetup {
    std::uint16_t rx_queues = 1;
    std::uint16_t tx_queues = 1;
    std::uint16_t rx_descriptors = 1024;
    std::uint16_t tx_descriptors = 1024;
    std::uint16_t mtu = 1500;
    bool promiscuous = true;
    std::uint64_t rss_types = 0;  // 0: no RSS; else equal on all ports whose copies must meet
};

// Packets that the device or its driver lost before unecho could see them.
struct DeviceCounters {
    std::uint64_t rx_missed = 0;
    std::uint64_t rx_no_mbuf = 0;
    std::uint64_t rx_errors = 0;
    std::uint64_t tx_errors = 0;
};
inline constexpr CounterRows<DeviceCounters, 4> kDeviceCounters{{
    {&DeviceCounters::rx_missed, "rx_missed", CounterUnit::kPackets, CounterMerge::kSum,
     "lost by the device: its receive queue was full"},
    {&DeviceCounters::rx_no_mbuf, "rx_no_mbuf", CounterUnit::kPackets, CounterMerge::kSum,
     "lost by the driver: no packet buffer was left"},
    {&DeviceCounters::rx_errors, "rx_errors", CounterUnit::kPackets, CounterMerge::kSum,
     "received with an error, says the device"},
    {&DeviceCounters::tx_errors, "tx_errors", CounterUnit::kPackets, CounterMerge::kSum,
     "not sent for an error, says the device"},
}};
static_assert(describes_every_counter(kDeviceCounters));

// The RSS settings of a started port, as it reports them.
struct RssSettings {
    std::string failure;  // why they are unknown, after the port's name: "does not tell its key"
    std::vector<std::uint8_t> key;
    std::uint64_t types = 0;           // RTE_ETH_RSS_*
    std::vector<std::uint16_t> table;  // queue, by hash modulo the table's size
};

class Port {
  public:
    // Open a port. name: that of the configuration, for messages.
    static Result<Port> open(const std::string& name, const Device& device);
    ~Port();
    Port(Port&& other) noexcept;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
    Port& operator=(Port&&) = delete;

    [[nodiscard]] PortId id() const { return id_; }
    [[nodiscard]] Result<DeviceInfo> facts() const;

    Status start(const PortSetup& setup, rte_mempool* pool);
    void stop() noexcept;
    // Close the port, as the destructor does. Errc::kIo: its kernel interface was not restored.
    Status close();

    // Needs a start with rss_types.
    [[nodiscard]] RssSettings rss() const;

    [[nodiscard]] bool link_up() const noexcept;
    // One thread at a time: reading changes some counts.
    [[nodiscard]] DeviceCounters device_counters() noexcept;

  private:
    Port(std::string name, Device device, PortId id)
        : name_(std::move(name)), device_(std::move(device)), id_(id) {}
    Status claim_interface();
    // Return the driver's arguments. A driver ends a value at commas, equals signs and brackets, so
    // a file whose name has one of these is passed as a descriptor's path.
    Result<std::string> driver_args();
    [[nodiscard]] Status check_queues(const std::string& interface) const;
    void remove_stale_sockets() const;
    Status find_mode();
    // Restore the interface's mode. Return 0 or an error code.
    [[nodiscard]] int leave_as_found() const noexcept;
    int end() noexcept;
    Status configure(const PortSetup& setup, const rte_eth_dev_info& info, rte_eth_rss_conf* rss);
    Status set_mtu(std::uint16_t mtu);
    void discard_earlier(std::uint16_t queues) noexcept;
    void find_packet_sockets(const rte_eth_dev_info& info);
    Status setup_queues(const PortSetup& setup, rte_mempool* pool);
    void fit_rss(rte_eth_rss_conf& conf, std::uint16_t queues, std::uint16_t reta_size) const;
    [[nodiscard]] Error error(std::string_view step, int code) const;
    [[nodiscard]] Error creation_error(int code) const;
    // Return an error if a capability that the driver needs is missing.
    [[nodiscard]] std::optional<Error> permission_error() const;

    std::string name_;
    Device device_;
    PortId id_;
    std::vector<InterfaceClaim> claims_;  // released after the device is closed
    std::vector<Descriptor> files_;  // named in driver_args(); a driver opens them again at start
    bool open_ = true;
    bool started_ = false;
    std::optional<bool> was_promiscuous_;  // the kernel interface, if there is one
    std::vector<int> packet_sockets_;      // of a driver that does not count their drops
    std::uint64_t dropped_ = 0;            // by packet_sockets_
    DeviceCounters counted_;
};

}  // namespace unecho::eal
