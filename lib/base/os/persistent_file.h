// SPDX-License-Identifier: BSD-3-Clause
// Memory that outlives the process: files in a directory of tmpfs or hugetlbfs, mapped shared,
// which the next process can map again. Directory and files belong to this user alone, and one
// process holds a file at a time.
//
// This code does not know the contents of the files, nor whether they are still valid.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace unecho {

// A file, mapped and locked while this object exists. Destruction leaves the file in place.
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

    // Return the requested bytes, page-aligned and all allocated: writing never fails.
    [[nodiscard]] std::span<std::byte> bytes() const { return mapped_.first(bytes_); }
    // Return true if the file existed with this length and has its old contents; else it is zeroed.
    [[nodiscard]] bool found() const { return found_; }

  private:
    friend class PersistentDirectory;
    PersistentFile(Descriptor descriptor, std::span<std::byte> mapped, std::size_t bytes,
                   bool found)
        : descriptor_(std::move(descriptor)), mapped_(mapped), bytes_(bytes), found_(found) {}

    Descriptor descriptor_;
    std::span<std::byte> mapped_;  // whole pages of the directory's file system
    std::size_t bytes_;
    bool found_;
};

class PersistentDirectory {
  public:
    // Open a directory, or create it with mode 0700; its parent must exist. Refuse symbolic links,
    // directories that another user owns or may enter, and file systems on disks.
    static Result<PersistentDirectory> open(const std::string& path);

    // Open and lock a file; one of another length is emptied. Return Errc::kBusy if another process
    // holds it. `name` has letters, digits, _ . and -, begins with none of the last two, and does
    // not contain "map_": DPDK deletes files with that in its directories.
    [[nodiscard]] Result<PersistentFile> open_file(const std::string& name,
                                                   std::size_t bytes) const;
    // Return the names of all files in the directory, whoever made them.
    [[nodiscard]] Result<std::vector<std::string>> names() const;
    // Remove a file. Processes that have it mapped keep its memory. Succeed if it does not exist.
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
