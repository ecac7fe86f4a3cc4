// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/discovery.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/os/directory.h"
#include "base/utf8.h"

namespace unecho::monitor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSocket = "dpdk_telemetry.v2";
constexpr std::size_t kMost = 64;  // appliances on a host; more are ignored

std::vector<std::string> names(const std::string& folder, std::error_code& problem) {
    auto found = list_directory(folder);
    problem = found ? std::error_code() : std::error_code(found.error(), std::generic_category());
    return found ? std::move(*found) : std::vector<std::string>();
}

// Return the telemetry sockets in the directory. Processes with separate configurations may share
// one: the second one's socket has ":1" behind its name.
std::vector<fs::path> sockets_in(const fs::path& folder, std::error_code& problem) {
    std::vector<fs::path> out;
    for (const std::string& name : names(folder, problem)) {
        std::error_code ignored;
        if ((name == kSocket || name.starts_with(std::string(kSocket) + ":")) &&
            fs::is_socket(folder / name, ignored)) {
            out.push_back(folder / name);
        }
    }
    return out;
}

std::vector<fs::path> folders_in(const std::string& parent, std::error_code& problem) {
    std::vector<fs::path> out;
    for (const std::string& name : names(parent, problem)) {
        std::error_code ignored;
        if (fs::is_directory(fs::path(parent) / name, ignored)) {
            out.push_back(fs::path(parent) / name);
        }
    }
    return out;
}

void note(const std::string& path, const std::error_code& problem, TelemetrySockets& to) {
    if (problem && problem != std::errc::no_such_file_or_directory) {
        to.problems.push_back(fmt::format(
            "{}: {}; run as its user, or let [run] telemetry_group name a group of yours",
            escaped(path), problem.message()));
    }
}

void add(const fs::path& folder, const fs::path& socket, TelemetrySockets& to) {
    const std::string file = socket.filename().string();
    const std::string tail = file.substr(std::string(kSocket).size());
    const auto taken = [&](const std::string& name) {
        return std::any_of(to.found.begin(), to.found.end(),
                           [&](const TelemetrySocket& place) { return place.name == name; });
    };
    const std::string name = escaped(folder.filename().string() + tail);
    to.found.push_back({taken(name) ? escaped(folder.string() + tail) : name, socket.string()});
}

}  // namespace

std::vector<std::string> runtime_folders() {
    if (const char* given = std::getenv("RUNTIME_DIRECTORY"); given != nullptr) {
        return {std::string(given) + "/dpdk"};
    }
    std::vector<std::string> out{"/run/dpdk"};
    if (geteuid() != 0) {
        const char* own = std::getenv("XDG_RUNTIME_DIR");
        out.push_back(std::string(own != nullptr ? own : "/tmp") + "/dpdk");
    }
    return out;
}

std::string default_socket(const std::vector<std::string>& folders, const std::string& name) {
    return (folders.empty() ? "" : folders.front()) + "/" + name + "/" + kSocket;
}

TelemetrySockets find_telemetry_sockets(const std::vector<std::string>& folders) {
    TelemetrySockets out;
    for (const std::string& parent : folders) {
        std::error_code problem;
        const auto inner = folders_in(parent, problem);
        note(parent, problem, out);
        for (const fs::path& folder : inner) {
            problem.clear();
            for (const fs::path& socket : sockets_in(folder, problem)) {
                if (out.found.size() < kMost) {
                    add(folder, socket, out);
                }
            }
            note(folder.string(), problem, out);
        }
    }
    return out;
}

}  // namespace unecho::monitor
