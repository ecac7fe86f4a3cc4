// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/host.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <net/if.h>

#include "appliance/eal/memory_args.h"
#include "appliance/eal/ports/mempool.h"
#include "appliance/plan/devices.h"
#include "base/units.h"
#include "config/message_text.h"

namespace unecho::appliance {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

// Return the number in a file of the kernel; 0 if there is none.
std::uint64_t number_in(const fs::path& file) {
    std::uint64_t number = 0;
    std::ifstream(file) >> number;
    return number;
}

// Add hugepages of every size. /proc/meminfo knows one size only.
void add_hugepages(HostMemory& memory) {
    constexpr std::string_view kPrefix = "hugepages-";
    std::error_code error;
    for (const fs::directory_entry& size :
         fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
        const std::string name = size.path().filename();
        std::uint64_t kib = 0;
        if (!name.starts_with(kPrefix)) {
            continue;
        }
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), kib);
        const std::uint64_t allowed = number_in(size.path() / "nr_overcommit_hugepages");
        const std::uint64_t surplus = number_in(size.path() / "surplus_hugepages");
        const std::uint64_t more = allowed - std::min(allowed, surplus);
        memory.hugepages += (number_in(size.path() / "nr_hugepages") + more) * kib * kKiB;
        memory.free_hugepages += (number_in(size.path() / "free_hugepages") + more) * kib * kKiB;
    }
}

// Return the interfaces without which the device cannot be opened: not those that it creates.
std::vector<std::string> needed_interfaces(const Device& device) {
    return device.is("net_tap") ? device.values_of("remote") : device.interfaces();
}

std::string device_key(std::size_t port) {
    return fmt::format("port[{}].device", port);
}

class HostCheck {
  public:
    HostCheck(const config::Config& config, const Plan& plan, const Host& host)
        : config_(config), plan_(plan), host_(host) {}

    void check_interfaces() {
        for (std::size_t i = 0; i < plan_.ports.size(); ++i) {
            const Device& device = plan_.ports[i].device;
            const std::vector<std::string> needed = needed_interfaces(device);
            for (const std::string& name : std::set<std::string>(needed.begin(), needed.end())) {
                check_interface(i, device, name);
            }
        }
    }

    // Filters are in hugepages as far as there are free ones, and otherwise in ordinary pages. The
    // files of [state] may already hold the filters of a predecessor.
    void check_memory() {
        const HostMemory& memory = host_.memory;
        const std::uint64_t room =
            (plan_.state_dir ? memory.total : memory.available) + memory.free_hugepages;
        if (memory.total == 0 || plan_.filters.empty()) {
            return;
        }
        std::uint64_t needed = 0;
        std::size_t largest = 0;
        for (std::size_t i = 0; i < plan_.filters.size(); ++i) {
            needed += plan_.filters[i].instance_bytes * plan_.workers.size();
            if (plan_.filters[i].instance_bytes > plan_.filters[largest].instance_bytes) {
                largest = i;
            }
        }
        if (needed > room) {
            add({config_.filters[largest].line, fmt::format("filter[{}]", largest),
                 fmt::format("the filters need {} on {} worker(s), and this host has {} free; "
                             "lower window, rate or workers",
                             format_size(needed), plan_.workers.size(), format_size(room))},
                true);
        }
    }

    void check_hugepages(const std::vector<std::string>& eal_args) {
        const eal::MemoryArgs args = eal::memory_args(eal_args);
        if (args.ordinary || host_.memory.hugepages != 0) {
            return;
        }
        static const std::string kReserve = "reserve some (dpdk-hugepages.py --setup 1G)";
        if (args.hugepages) {
            add({0, "eal.args",
                 "this host has no hugepages, and the arguments need some; " + kReserve +
                     ", or use --no-huge instead"},
                true);
        } else {
            problems_.push_back({.problem = {0, "eal.args",
                                             "this host has no hugepages, so ordinary pages take "
                                             "their place, as with --no-huge; for speed " +
                                                 kReserve},
                                 .is_note = true});
        }
    }

    std::vector<HostProblem> take() && { return std::move(problems_); }

  private:
    void add(config::Problem problem, bool prevents_start) {
        problems_.push_back({std::move(problem), prevents_start});
    }

    void check_interface(std::size_t port, const Device& device, const std::string& name) {
        const int line = config_.ports[port].line;
        const auto found = host_.interfaces.find(name);
        if (found == host_.interfaces.end()) {
            // libpcap also opens what is no network interface.
            add({line, device_key(port), missing(name, config_.ports[port].name)},
                device.is("net_af_packet") || device.is("net_af_xdp"));
            return;
        }
        const std::string interface = "interface " + config::in_quotes(name);
        const auto warn = [&](std::string what) {
            add({line, device_key(port), interface + std::move(what)}, false);
        };
        const auto& [use, state] = found->second;
        if (use != eal::InterfaceUse::kFree && !host_.runs) {
            warn(fmt::format(" is in use by another unecho{} (unecho status)",
                             use == eal::InterfaceUse::kAlone
                                 ? ", over AF_XDP, which takes every packet"
                                 : "; both get every packet, and forward it"));
        }
        if (!state.up) {
            warn(fmt::format(" is down, so no packet comes or goes (ip link set {} up)", name));
        }
        if (state.merges_packets && plan_.ports[port].receives) {
            warn(" merges packets that it receives (ethtool -K " + name + " gro off lro off)");
        }
    }

    [[nodiscard]] std::string missing(const std::string& name, const std::string& port) const {
        const std::vector<std::string_view> names(host_.names.begin(), host_.names.end());
        const std::string meant = config::suggestion(name, names);
        return fmt::format("this host has no interface {} for port {}{}{}", config::in_quotes(name),
                           config::in_quotes(port), meant,
                           names.empty() ? ""
                                         : (meant.empty() ? "; it has " : " It has ") +
                                               config::list_in_quotes(names));
    }

    const config::Config& config_;
    const Plan& plan_;
    const Host& host_;
    std::vector<HostProblem> problems_;
};

}  // namespace

HostMemory parse_meminfo(std::string_view text) {
    HostMemory memory;
    const auto bytes = [&](std::string_view name) {
        const std::size_t at = text.find(name);
        std::uint64_t kib = 0;
        if (at != std::string_view::npos) {
            const std::size_t digits = text.find_first_of("0123456789", at + name.size());
            std::from_chars(text.data() + std::min(digits, text.size()), text.data() + text.size(),
                            kib);
        }
        return kib * kKiB;
    };
    memory.total = bytes("MemTotal:");
    memory.available = bytes("MemAvailable:");
    return memory;
}

HostMemory HostMemory::detect() {
    std::ifstream file("/proc/meminfo");
    HostMemory memory = parse_meminfo(std::string(std::istreambuf_iterator<char>(file), {}));
    add_hugepages(memory);
    return memory;
}

Host Host::detect(const config::Config& config) {
    Host host;
    for (const config::Port& port : config.ports) {
        for (const std::string& name : needed_interfaces(device_of(port))) {
            if (if_nametoindex(name.c_str()) != 0) {
                host.interfaces[name] = {eal::interface_use(name), eal::interface_state(name)};
            }
        }
    }
    if (struct if_nameindex* const all = if_nameindex()) {
        for (const struct if_nameindex* one = all; one->if_index != 0; ++one) {
            host.names.emplace_back(one->if_name);
        }
        if_freenameindex(all);
    }
    host.memory = HostMemory::detect();
    return host;
}

std::vector<HostProblem> host_problems(const config::Config& config, const Plan& plan,
                                       const Host& host, const std::vector<std::string>& eal_args) {
    HostCheck check(config, plan, host);
    check.check_interfaces();
    check.check_memory();
    check.check_hugepages(eal_args);
    return std::move(check).take();
}

std::vector<std::string> ordinary_memory_args(const Plan& plan, const HostMemory& memory,
                                              const std::vector<std::string>& eal_args) {
    const eal::MemoryArgs given = eal::memory_args(eal_args);
    if (given.ordinary || given.hugepages || memory.hugepages != 0) {
        return {};
    }
    std::vector<std::string> out{"--no-huge"};
    if (!given.amount) {
        // Pages that are not used take no memory, so the rest of DPDK gets plenty.
        constexpr std::uint64_t kRest = 256 * kMiB;
        const std::uint64_t buffers = eal::mempool_bytes(plan.mbufs, plan.data_room);
        out.insert(out.end(), {"-m", std::to_string((buffers + kRest) / kMiB + 1)});
    }
    return out;
}

}  // namespace unecho::appliance
