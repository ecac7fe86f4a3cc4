// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/runtime_dir.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

namespace unecho::eal {
namespace {

constexpr int kMaxLinks = 40;  // like the kernel

std::string base_folder() {
    const char* folder = std::getenv("RUNTIME_DIRECTORY");
    if (folder == nullptr) {
        folder = getuid() == 0 ? "/var/run" : std::getenv("XDG_RUNTIME_DIR");
    }
    return folder == nullptr ? "/tmp" : folder;
}

bool others_may_write(const struct stat& directory) {
    return (directory.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// Walks a path from the root. Each directory is checked before its content, so that nobody can
// replace what was checked.
class Walk {
  public:
    // alone: nobody but this user may own the last directory or write to it.
    Status go(const std::string& path, bool alone) {
        UNECHO_TRY(enter("/", ""));
        root_owner_ = directory_.st_uid;
        for (std::string rest = path; !rest.empty();) {
            const std::size_t end = std::min(rest.find('/'), rest.size());
            const std::string name = rest.substr(0, end);
            rest.erase(0, std::min(end + 1, rest.size()));
            UNECHO_TRY(step(name, rest));
        }
        if (!alone) {
            return {};
        }
        if (directory_.st_uid != geteuid()) {
            return foreign(place_, directory_);
        }
        return others_may_write(directory_) ? writable() : Status{};
    }

  private:
    Status step(const std::string& name, std::string& rest) {
        if (name.empty() || name == ".") {
            return {};
        }
        if (name == "..") {
            return enter(place_.substr(0, std::max<std::size_t>(place_.rfind('/'), 1)), "");
        }
        const std::string path = (place_ == "/" ? "" : place_) + "/" + name;
        struct stat found {};
        if (lstat(path.c_str(), &found) != 0) {
            const int number = errno;
            return fail(number == ENOENT ? Errc::kNotFound : Errc::kPermission,
                        number == ENOENT ? "there is no folder " + escaped(path)
                                         : escaped(path) + ": " + std::strerror(number));
        }
        return S_ISLNK(found.st_mode) ? follow(path, found, rest) : enter(path, name);
    }

    Status follow(const std::string& path, const struct stat& link, std::string& rest) {
        if (!trusted(link)) {
            return fail(Errc::kPermission,
                        fmt::format("{} is a link that user {} made", escaped(path), link.st_uid));
        }
        std::array<char, PATH_MAX> target{};
        const ssize_t length = readlink(path.c_str(), target.data(), target.size());
        if (length <= 0 || ++links_ > kMaxLinks) {
            return fail(Errc::kPermission, escaped(path) + " is a link that leads nowhere");
        }
        const std::string to(target.data(), static_cast<std::size_t>(length));
        rest = to + "/" + rest;
        return to.front() == '/' ? enter("/", "") : Status{};
    }

    // Enter a directory. name: set if it was not checked before.
    Status enter(const std::string& path, const std::string& name) {
        struct stat found {};
        if (lstat(path.c_str(), &found) != 0) {
            return fail(Errc::kPermission, escaped(path) + ": " + std::strerror(errno));
        }
        if (!S_ISDIR(found.st_mode)) {
            return fail(Errc::kPermission, escaped(path) + " is no folder");
        }
        if (!name.empty() && !trusted(found)) {
            return foreign(path, found);
        }
        place_ = path;
        directory_ = found;
        // In a sticky directory such as /tmp, others can replace only what they own.
        return others_may_write(found) && (found.st_mode & S_ISVTX) == 0 ? writable() : Status{};
    }

    // The owner of what is in a directory can replace it, and so can root. In a user namespace
    // shared_flows has another number, that of the owner of "/"; other users may have the same
    // number there.
    [[nodiscard]] bool trusted(const struct stat& found) const {
        return found.st_uid == 0 || found.st_uid == geteuid() ||
               (found.st_uid == root_owner_ && !others_may_write(directory_));
    }

    static Status foreign(const std::string& path, const struct stat& found) {
        return fail(Errc::kPermission,
                    fmt::format("{} belongs to user {} and this process runs as user {}",
                                escaped(path), found.st_uid, geteuid()));
    }
    [[nodiscard]] Status writable() const {
        return fail(Errc::kPermission,
                    "others may write to " + escaped(place_) + " (chmod go-w would forbid it)");
    }

    std::string place_;
    struct stat directory_ {};
    uid_t root_owner_ = 0;
    int links_ = 0;
};

constexpr const char* kRemedy =
    "; set RUNTIME_DIRECTORY to a folder that you alone may write to, as mkdir -m 700 makes one";

Status check(const std::string& path, bool alone) {
    Walk walk;
    return walk.go(path, alone);
}

Status make(const std::string& path, bool alone) {
    constexpr mode_t kOwner = 0700;  // like DPDK
    if (mkdir(path.c_str(), kOwner) != 0 && errno != EEXIST) {
        return fail(Errc::kNotFound,
                    fmt::format("{} cannot be made: {}", escaped(path), std::strerror(errno)));
    }
    return check(path, alone);
}

}  // namespace

std::string runtime_dir(const std::string& prefix) {
    return fmt::format("{}/dpdk/{}", base_folder(), prefix);
}

Status prepare_runtime_dir(const std::string& prefix) {
    std::error_code error;
    std::string base = std::filesystem::absolute(base_folder(), error).string();
    while (base.size() > 1 && base.back() == '/') {
        base.pop_back();
    }
    // A missing directory is made if its parent exists.
    Status status = check(std::filesystem::path(base).parent_path().string(), false);
    if (status) {
        status = make(base, false);
    }
    if (status) {
        status = make(base + "/dpdk", false);
    }
    if (status) {
        status = make(fmt::format("{}/dpdk/{}", base, prefix), true);
    }
    if (!status) {
        return fail(status.error().code,
                    fmt::format("runtime folder {}: {}{}", escaped(runtime_dir(prefix)),
                                status.error().context, kRemedy));
    }
    return {};
}

}  // namespace unecho::eal
