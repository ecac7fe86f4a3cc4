// SPDX-License-Identifier: BSD-3-Clause
#include "commands/expected_appliances.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include "appliance/appliance.h"
#include "base/option_names.h"
#include "base/os/directory.h"
#include "base/utf8.h"
#include "config/load.h"
#include "monitor/server/host_monitor.h"
#include "options/arguments.h"

namespace unecho::app {
namespace {

constexpr std::string_view kEnding = ".toml";
constexpr std::size_t kMost = monitor::HostMonitor::kMost;

// Return a text that differs after each change of the file or of its rights; nothing if it is no
// regular file.
std::optional<std::string> version_of(const std::string& path) {
    struct stat found {};
    if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
        return std::nullopt;
    }
    return std::to_string(found.st_ino) + " " + std::to_string(found.st_size) + " " +
           std::to_string(found.st_ctim.tv_sec) + "." + std::to_string(found.st_ctim.tv_nsec);
}

std::string too_many() {
    return fmt::format("more than {} appliances; allowed: up to {}", kMost, kMost);
}

}  // namespace

Result<ExpectedAppliances> ExpectedAppliances::parse(const std::vector<std::string>& texts) {
    ExpectedAppliances out;
    for (const std::string& text : texts) {
        if (text.find('/') != std::string::npos) {
            if (const auto files = list_directory(text); !files) {
                return bad_option(
                    option::kExpect,
                    fmt::format("{}: {}; allowed: a folder of configurations, or a name without /",
                                escaped(text), std::strerror(files.error())));
            }
            out.folders_[text];
        } else if (text.empty() || text.starts_with('.')) {
            return bad_option(option::kExpect, "\"" + escaped(text) +
                                                   "\"; allowed: NAME,NAME or a folder with a / "
                                                   "in its path, as in ./configs");
        } else {
            out.names_.push_back(escaped(text));
        }
    }
    if (out.names_.size() > kMost) {
        return bad_option(option::kExpect, too_many());
    }
    return out;
}

void ExpectedAppliances::read_folder(const std::string& folder, const Log& log) {
    const auto report = [&](const std::string& about, const std::string& problem) {
        if (std::exchange(problems_[about], problem) != problem && !problem.empty()) {
            log(fmt::format("{}: {}: {}", option::kExpect, escaped(about), problem));
        }
    };
    const auto files = list_directory(folder);
    report(folder, files ? ""
                         : std::string(std::strerror(files.error())) +
                               "; the appliances of its configurations stay expected");
    if (!files) {
        return;
    }
    std::map<std::string, Configuration> found;
    for (const std::string& file : *files) {
        const std::string path = folder + (folder.ends_with('/') ? "" : "/") + file;
        const auto version =
            file.ends_with(kEnding) && !file.starts_with('.') ? version_of(path) : std::nullopt;
        if (!version) {
            continue;
        }
        if (const auto before = folders_[folder].find(file);
            before != folders_[folder].end() && before->second.version == *version) {
            found.insert(*before);
            continue;
        }
        std::string name = file.substr(0, file.size() - kEnding.size());
        const auto config = config::load_file(path, config::FileKind::kRegular);
        if (config) {
            name = appliance::name_on_host(*config);
        }
        name = escaped(name);
        report(path, config ? ""
                            : "is no valid configuration, as unecho check says; expected is \"" +
                                  name + "\", by the file's name");
        found[file] = {*version, name};
    }
    folders_[folder] = std::move(found);
}

std::vector<std::string> ExpectedAppliances::names(const Log& log) {
    std::vector<std::string> out = names_;
    for (auto& [folder, files] : folders_) {
        read_folder(folder, log);
        for (const auto& [file, configuration] : files) {
            out.push_back(configuration.name);
        }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    const bool many = out.size() > kMost;
    if (std::exchange(problems_[""], many ? too_many() : "").empty() && many) {
        log(fmt::format("{}: {}; the others are not expected", option::kExpect, too_many()));
    }
    out.resize(std::min(out.size(), kMost));
    return out;
}

}  // namespace unecho::app
