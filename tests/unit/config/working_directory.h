// SPDX-License-Identifier: BSD-3-Clause
// A temporary working directory with the captures that the configurations read. Paths in a
// configuration are relative to the working directory.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <stdlib.h>

#include "support/source_root.h"

namespace unecho::config {

class WorkingDirectory {
  public:
    WorkingDirectory() : before_(std::filesystem::current_path()) {
        std::string name = std::filesystem::temp_directory_path() / "unecho-config-XXXXXX";
        path_ = std::filesystem::canonical(::mkdtemp(name.data()));
        std::filesystem::current_path(path_);
        std::filesystem::permissions(path_, std::filesystem::perms::all);
        std::filesystem::create_directory("pcaps");
        write("pcaps/two-taps-a.pcap", "a");
        write("pcaps/two-taps-b.pcap", "b");
    }
    ~WorkingDirectory() {
        std::filesystem::current_path(before_);
        std::filesystem::remove_all(path_);
    }
    WorkingDirectory(const WorkingDirectory&) = delete;
    WorkingDirectory& operator=(const WorkingDirectory&) = delete;

    static void write(const std::string& file, std::string_view text) {
        std::ofstream(file, std::ios::binary) << text;
    }

    [[nodiscard]] std::string path() const { return path_.string(); }

  private:
    std::filesystem::path before_;
    std::filesystem::path path_;
};

// Return a file of the repository.
inline std::string read_source_file(const std::string& path) {
    std::ifstream file(test::source_root() + "/" + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace unecho::config
