// SPDX-License-Identifier: BSD-3-Clause
// Checks DPDK's own arguments, the devices, and the capture files they name.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/os/symlink_guard.h"
#include "config/devices/device.h"
#include "config/devices/device_claims.h"
#include "config/message_text.h"
#include "config/validate.h"

namespace unecho::config {
namespace {

namespace fs = std::filesystem;

// Arguments that are made from other keys.
struct Reserved {
    std::string_view short_form;
    std::string_view long_form;
    std::string_view instead;
};
constexpr std::string_view kUseLcores = "[workers] lcores and [control] lcore";
constexpr std::string_view kUseDevice = "[[port]] device";
constexpr std::array<Reserved, 5> kReserved{{{"-l", "--lcores", kUseLcores},
                                             {"-c", "--lcores", kUseLcores},
                                             {"", "--main-lcore", "[control] lcore"},
                                             {"-a", "--allow", kUseDevice},
                                             {"", "--vdev", kUseDevice}}};

// The other options of DPDK 22.11.
constexpr std::array<std::string_view, 8> kShortOptions{"-b", "-d", "-m", "-n",
                                                        "-r", "-s", "-S", "-w"};
constexpr std::array<std::string_view, 29> kLongOptions{"--base-virtaddr",
                                                        "--block",
                                                        "--create-uio-dev",
                                                        "--file-prefix",
                                                        "--force-max-simd-bitwidth",
                                                        "--huge-dir",
                                                        "--huge-unlink",
                                                        "--huge-worker-stack",
                                                        "--in-memory",
                                                        "--iova-mode",
                                                        "--legacy-mem",
                                                        "--log-level",
                                                        "--match-allocations",
                                                        "--mbuf-pool-ops-name",
                                                        "--no-hpet",
                                                        "--no-huge",
                                                        "--no-pci",
                                                        "--no-shconf",
                                                        "--no-telemetry",
                                                        "--proc-type",
                                                        "--single-file-segments",
                                                        "--socket-limit",
                                                        "--socket-mem",
                                                        "--syslog",
                                                        "--telemetry",
                                                        "--trace",
                                                        "--vfio-intr",
                                                        "--vfio-vf-token",
                                                        "--vmware-tsc-map"};

bool is_option(std::string_view arg, const Reserved& reserved) {
    if (!arg.starts_with("--")) {
        return !reserved.short_form.empty() && arg.starts_with(reserved.short_form);
    }
    const std::string_view name = arg.substr(0, arg.find('='));
    return name.size() > 2 && reserved.long_form.starts_with(name);
}

bool has_arg(const Eal& eal, std::string_view arg) {
    return std::find(eal.args.begin(), eal.args.end(), arg) != eal.args.end();
}

void check_eal(Draft& draft) {
    const std::vector<std::string>& args = draft.config.eal.args;
    for (std::size_t i = 0; i < args.size(); ++i) {
        const std::string path = element("eal.args", i);
        if (!draft.sound(path)) {
            continue;
        }
        if (args[i].empty() || args[i] == "--") {
            draft.report(path, in_quotes(args[i]) + " is not an argument of DPDK");
            continue;
        }
        if (const std::string_view instead = eal_option(args[i]).instead; !instead.empty()) {
            draft.report(path, fmt::format("{} is made from this file; use {}", in_quotes(args[i]),
                                           instead));
        } else if (args[i] == "--in-memory" && has_arg(draft.config.eal, "--no-huge")) {
            draft.report(path, R"(DPDK refuses "--in-memory" next to "--no-huge"; leave one out)");
        }
    }
}

bool accessible(const std::string& path, int mode) {
    return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

// Return true if the file keeps what is written. /dev/null may be the output of many.
bool keeps_data(const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    return !fs::exists(status) || fs::is_regular_file(status);
}

std::string here() {
    std::error_code error;
    return " (the working directory is " + in_quotes(fs::current_path(error).string()) + ")";
}

std::optional<std::string> why_not_readable(const std::string& file) {
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (!fs::exists(status)) {
        return fmt::format("there is no file {}{}", in_quotes(file), here());
    }
    if (fs::is_directory(status)) {
        return in_quotes(file) + " is a directory, not a capture";
    }
    if (!accessible(file, R_OK)) {
        return in_quotes(file) + " cannot be read: permission denied";
    }
    return std::nullopt;
}

std::optional<std::string> why_not_writable(const std::string& file) {
    if (const std::optional<std::string> why = foreign_owner_problem(file, ::geteuid())) {
        return fmt::format("{} {}", in_quotes(file), *why);
    }
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (fs::is_directory(status)) {
        return in_quotes(file) + " is a directory, not a capture";
    }
    if (fs::exists(status)) {
        return accessible(file, W_OK)
                   ? std::nullopt
                   : std::optional(in_quotes(file) + " cannot be written: permission denied");
    }
    const fs::path parent = fs::path(file).parent_path();
    const std::string directory = parent.empty() ? "." : parent.string();
    if (!fs::is_directory(directory, error)) {
        return fmt::format("there is no directory {} for {}{}", in_quotes(directory),
                           in_quotes(file), here());
    }
    if (!accessible(directory, W_OK | X_OK)) {
        return "directory " + in_quotes(directory) + " cannot be written: permission denied";
    }
    return std::nullopt;
}

using Devices = std::vector<std::optional<Device>>;  // by port; empty: reported already

std::string device_key(std::size_t port) {
    return key_of("port", port, "device");
}

Devices parse_devices(Draft& draft) {
    Devices devices(draft.config.ports.size());
    std::map<std::string, std::size_t> first;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (!draft.given(device_key(i)) || !draft.sound(device_key(i))) {
            continue;
        }
        Result<Device> device = parse_device(draft.config.ports[i].device);
        if (!device) {
            draft.report(device_key(i),
                         device.error().context.append("; allowed: ").append(kDeviceForms));
            continue;
        }
        const auto [other, fresh] = first.emplace(device->name, i);
        if (!fresh) {
            draft.report(device_key(i),
                         fmt::format("device {} is that of {} already", in_quotes(device->name),
                                     element("port", other->second)));
            continue;
        }
        devices[i] = std::move(*device);
    }
    return devices;
}

// No two ports may claim the same resource; one port may name its own several times.
void check_claims(Draft& draft, const Devices& devices) {
    std::map<std::string, std::size_t> owners;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (!devices[i]) {
            continue;
        }
        for (const DeviceClaim& claim : claims_of(*devices[i])) {
            const auto owner = owners.emplace(claim.identity, i).first;
            if (owner->second != i) {
                draft.report(device_key(i), fmt::format("{} is that of {} already", claim.what,
                                                        element("port", owner->second)));
                break;
            }
        }
    }
}

// Check that inputs exist, outputs have a directory, and no output destroys another file in use.
void check_captures(Draft& draft, const Devices& devices) {
    std::map<std::string, std::size_t> inputs;
    std::map<std::string, std::size_t> outputs;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (!devices[i] || !devices[i]->has_files()) {
            continue;
        }
        for (const std::string& file : devices[i]->values_of("rx_pcap")) {
            inputs.emplace(file_identity(file), i);
            if (const auto why = why_not_readable(file)) {
                draft.report(device_key(i), "rx_pcap: " + *why);
            }
        }
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (!devices[i] || !devices[i]->has_files()) {
            continue;
        }
        for (const std::string& file : devices[i]->values_of("tx_pcap")) {
            const std::string name = file_identity(file);
            const auto [other, fresh] = outputs.emplace(name, i);
            if (const auto input = inputs.find(name); input != inputs.end()) {
                draft.report(device_key(i),
                             fmt::format("tx_pcap: {} is read by {}; writing would destroy it",
                                         in_quotes(file), element("port", input->second)));
            } else if (!fresh && keeps_data(file)) {
                draft.report(device_key(i),
                             fmt::format("tx_pcap: {} is written by {} already", in_quotes(file),
                                         element("port", other->second)));
            } else if (const auto why = why_not_writable(file)) {
                draft.report(device_key(i), "tx_pcap: " + *why);
            }
        }
    }
}

void check_pci(Draft& draft, const Devices& devices) {
    if (!has_arg(draft.config.eal, "--no-pci")) {
        return;
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (devices[i] && devices[i]->is_pci()) {
            draft.report(device_key(i), in_quotes(devices[i]->name) +
                                            " is a PCI device, but [eal] args has \"--no-pci\"");
        }
    }
}

// memif creates its socket file at the given path, which must be absolute.
void check_memif(Draft& draft, const Devices& devices) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (!devices[i] || !devices[i]->is("net_memif")) {
            continue;
        }
        const MemifEnd end = memif_end(*devices[i]);
        if (end.socket_is_file && !end.socket.starts_with('/')) {
            draft.report(device_key(i), "socket: " + in_quotes(end.socket) +
                                            " is not absolute; a socket file needs its path "
                                            "from /");
        }
    }
}

void check_clock(Draft& draft, const Devices& devices) {
    if (draft.config.run.clock != Clock::kCapture) {
        return;
    }
    for (const Route& route : draft.config.routes) {
        for (const PortIndex port : route.from) {
            if (!devices[port] || !draft.sound(device_key(port))) {
                continue;
            }
            const Device& device = *devices[port];
            if (!device.has_files() || device.values_of("rx_pcap").empty()) {
                draft.report(device_key(port),
                             "clock = \"capture\" takes time from captures: this port must be a "
                             "net_pcap with rx_pcap, or clock \"tsc\"");
            } else if (device.last("infinite_rx", "0") != "0") {
                draft.report(device_key(port),
                             "infinite_rx turns the capture's time back at each round; leave it "
                             "out, or use clock = \"tsc\"");
            }
        }
    }
}

}  // namespace

EalOption eal_option(std::string_view argument) {
    for (const Reserved& reserved : kReserved) {
        if (is_option(argument, reserved)) {
            return {true, reserved.instead};
        }
    }
    const auto begins = [&](std::string_view option) { return argument.starts_with(option); };
    const std::string_view name = argument.substr(0, argument.find('='));
    const auto is_begin = [&](std::string_view option) { return option.starts_with(name); };
    const bool is_long = argument.starts_with("--");
    constexpr std::size_t kShortest = 4;  // what is shorter may be anything
    return {is_long ? name.size() >= kShortest &&
                          std::any_of(kLongOptions.begin(), kLongOptions.end(), is_begin)
                    : std::any_of(kShortOptions.begin(), kShortOptions.end(), begins),
            {}};
}

void check_devices(Draft& draft) {
    check_eal(draft);
    const Devices devices = parse_devices(draft);
    check_claims(draft, devices);
    check_captures(draft, devices);
    check_pci(draft, devices);
    check_memif(draft, devices);
    check_clock(draft, devices);
}

}  // namespace unecho::config
