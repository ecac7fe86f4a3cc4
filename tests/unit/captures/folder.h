// SPDX-License-Identifier: BSD-3-Clause
// An empty directory for a test, removed with its contents.
#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include <stdlib.h>

namespace unecho::capture {

class Folder {
  public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "unecho-capture-XXXXXX";
        path_ = std::filesystem::canonical(::mkdtemp(name.data()));
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::string file(std::string_view name) const { return path_ / name; }
    [[nodiscard]] std::string path() const { return path_; }

    [[nodiscard]] std::set<std::string> names() const {
        std::set<std::string> out;
        for (const auto& entry : std::filesystem::directory_iterator(path_)) {
            out.insert(entry.path().filename());
        }
        return out;
    }

    void put(std::string_view name, std::string_view bytes) const {
        std::ofstream(file(name), std::ios::binary) << bytes;
    }
    [[nodiscard]] std::string get(std::string_view name) const {
        std::ifstream in(file(name), std::ios::binary);
        std::ostringstream out;
        out << in.rdbuf();
        return std::move(out).str();
    }

  private:
    std::filesystem::path path_;
};

}  // namespace unecho::capture
