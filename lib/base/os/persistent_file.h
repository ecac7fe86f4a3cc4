// SPDX-License-Identifier: BSD-3-Clause
// Memory that outlives the process: files of a folder in tmpfs or hugetlbfs, mapped and shared with
// whoever is started next. Both are of this user alone, and a file is held by one process at a
// time.
//
// May not: know what lies in them, or whether it is still worth anything.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace unecho {

// Mapped and locked as long as this; the file stays.
class PersistentFile {
  public:
    ~PersistentFile();
    PersistentFile(PersistentFile&& other) noexcept
        : descriptor_(std::move(other.descriptor_)),
          mapped_(std::exchange(other.mapped_, {})),
          bytes_(std::exchange(other.bytes_, 0)),
          found_(other.found_) {}
    PersistentFile& operator=(PersistentFile&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        std::swap(mapped_, other.mapped_);
        std::swap(bytes_, other.bytes_);
        std::swap(found_, other.found_);
        return *this;
    }
    PersistentFile(const PersistentFile&) = delete;
    PersistentFile& operator=(const PersistentFile&) = delete;

    // As many as were asked for, page-aligned. All of them have room: writing never fails.
    [[nodiscard]] std::span<std::byte> bytes() const { return mapped_.first(bytes_); }
    // It was there with this length, and holds what was written before; else all is zero.
    [[nodiscard]] bool found() const { return found_; }

  private:
    friend class PersistentDirectory;
    PersistentFile(Descriptor descriptor, std::span<std::byte> mapped, std::size_t bytes,
                   bool found)
        : descriptor_(std::move(descriptor)), mapped_(mapped), bytes_(bytes), found_(found) {}

    Descriptor descriptor_;
    std::span<std::byte> mapped_;  // in whole pages of the folder's
    std::size_t bytes_;
    bool found_;
};

class PersistentDirectory {
  public:
    // Made, with mode 0700, where there is none; the folder that it lies in must be there. Refused:
    // a link, one that another user owns or may enter, and file systems that lie on a disk.
    static Result<PersistentDirectory> open(const std::string& path);

    // A file of another length becomes an empty one. Errc::kBusy: another process holds it.
    // name: letters, digits, _ . and -, of which the first is none of the last two; without "map_",
    // as DPDK deletes files with that in its folders.
    [[nodiscard]] Result<PersistentFile> open_file(const std::string& name,
                                                   std::size_t bytes) const;
    // Of all files that it holds, whosever they are.
    [[nodiscard]] Result<std::vector<std::string>> names() const;
    // Whoever has it mapped goes on with it. One that is not there is as good as removed.
    [[nodiscard]] Status remove_file(const std::string& name) const;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::size_t page_bytes() const { return page_bytes_; }

  private:
    PersistentDirectory(std::string path, Descriptor descriptor, std::size_t page_bytes)
        : path_(std::move(path)), descriptor_(std::move(descriptor)), page_bytes_(page_bytes) {}

    std::string path_;
    Descriptor descriptor_;
    std::size_t page_bytes_;
};

}  // namespace unecho
