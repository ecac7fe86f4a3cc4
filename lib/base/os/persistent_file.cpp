// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/persistent_file.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/os/directory.h"
#include "base/os/errno_code.h"

namespace unecho {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr mode_t kOthers = 0077;

tl::unexpected<Error> fail_with(int number, const std::string& what) {
    return fail(errc_from_errno(number), what + ": " + std::generic_category().message(number));
}

// Return what is wrong with the owner or mode of a file that must be private; empty if nothing is.
std::string strangers_of(const struct stat& of) {
    if (of.st_uid != geteuid()) {
        return "it belongs to user " + std::to_string(of.st_uid) + ", this process runs as " +
               std::to_string(geteuid());
    }
    return (of.st_mode & kOthers) != 0 ? "others than its owner may use it; chmod go= is needed"
                                       : "";
}

bool good_name(std::string_view name) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return !name.empty() && kLetters.find(name.front()) != std::string_view::npos &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) {
                           return kLetters.find(c) != std::string_view::npos || c == '.' ||
                                  c == '-';
                       }) &&
           name.find("map_") == std::string_view::npos;
}

// Allocate all of the file's pages. A file that had another length is emptied first, so it reads as
// zeros. Refuse if there is no room, so that the process is not killed by a page fault later. This
// also covers a file whose creator was killed before it had allocated all pages.
Status make_room(int file, bool found, off_t length) {
    const bool sized = found || (ftruncate(file, 0) == 0 && ftruncate(file, length) == 0);
    if (!sized || fallocate(file, 0, 0, length) != 0) {
        const int number = errno;
        [[maybe_unused]] const int given_back = ftruncate(file, 0);
        return fail(number == ENOSPC ? Errc::kNoMemory : errc_from_errno(number),
                    std::generic_category().message(number));
    }
    return {};
}

}  // namespace

PersistentFile::~PersistentFile() {
    if (!mapped_.empty()) {
        munmap(mapped_.data(), mapped_.size());
    }
}

Result<PersistentDirectory> PersistentDirectory::open(const std::string& path) {
    if (mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST) {
        return fail_with(errno, path);
    }
    Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder.get() < 0) {
        const int number = errno;
        if (number == ELOOP || number == ENOTDIR) {
            return fail(Errc::kInvalidArgument, path + ": it is no folder, or a link to one");
        }
        return fail_with(number, path);
    }
    struct stat of {};
    struct statfs system {};
    if (fstat(folder.get(), &of) != 0 || fstatfs(folder.get(), &system) != 0) {
        return fail_with(errno, path);
    }
    if (const std::string strangers = strangers_of(of); !strangers.empty()) {
        return fail(Errc::kPermission, path + ": " + strangers);
    }
    const auto magic = static_cast<unsigned long>(system.f_type);
    if (magic != TMPFS_MAGIC && magic != HUGETLBFS_MAGIC) {
        return fail(Errc::kUnsupported,
                    path + ": it lies neither in tmpfs, as /run and /dev/shm do, nor in hugetlbfs");
    }
    const auto page = magic == HUGETLBFS_MAGIC ? system.f_bsize : sysconf(_SC_PAGESIZE);
    return PersistentDirectory(path, std::move(folder), static_cast<std::size_t>(page));
}

Result<PersistentFile> PersistentDirectory::open_file(const std::string& name,
                                                      std::size_t bytes) const {
    const std::string where = path_ + "/" + name;
    if (!good_name(name) || bytes == 0) {
        return fail(Errc::kInvalidArgument,
                    where +
                        ": a file has letters, digits or _ . - for its name, no \"map_\", and "
                        "at least a byte");
    }
    Descriptor file(openat(descriptor_.get(), name.c_str(),
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (file.get() < 0) {
        const int number = errno;
        return number == ELOOP ? fail(Errc::kPermission, where + ": it is a link")
                               : fail_with(number, where);
    }
    // Lock before reading anything: until then another holder may change it.
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        const int number = errno;
        return number == EWOULDBLOCK ? fail(Errc::kBusy, where + ": another process holds it")
                                     : fail_with(number, where);
    }
    struct stat of {};
    if (fstat(file.get(), &of) != 0) {
        return fail_with(errno, where);
    }
    if (!S_ISREG(of.st_mode)) {
        return fail(Errc::kPermission, where + ": it is no plain file");
    }
    if (of.st_nlink != 1) {
        return fail(Errc::kPermission,
                    where + ": it has " + std::to_string(of.st_nlink) + " names, instead of one");
    }
    if (const std::string strangers = strangers_of(of); !strangers.empty()) {
        return fail(Errc::kPermission, where + ": " + strangers);
    }
    const std::size_t length = (bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
    const bool found = of.st_size == static_cast<off_t>(length);
    if (const Status made = make_room(file.get(), found, static_cast<off_t>(length)); !made) {
        return fail(made.error().code, where + ": " + made.error().context);
    }
    void* const begin =
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
    if (begin == MAP_FAILED) {
        return fail(Errc::kNoMemory, where + ": " + std::generic_category().message(errno));
    }
    return PersistentFile(std::move(file), {static_cast<std::byte*>(begin), length}, bytes, found);
}

Result<std::vector<std::string>> PersistentDirectory::names() const {
    // List the directory that is open, even if its path now leads elsewhere.
    auto names = list_directory("/proc/self/fd/" + std::to_string(descriptor_.get()));
    if (!names) {
        return fail_with(names.error(), path_);
    }
    return std::move(*names);
}

Status PersistentDirectory::remove_file(const std::string& name) const {
    if (!good_name(name)) {
        return fail(Errc::kInvalidArgument, path_ + "/" + name + ": no file of ours has this name");
    }
    if (unlinkat(descriptor_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
        return fail_with(errno, path_ + "/" + name);
    }
    return {};
}

}  // namespace unecho
