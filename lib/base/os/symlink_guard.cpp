// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/symlink_guard.h"

#include <array>
#include <climits>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

namespace unecho {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's limit

// Return true if others may create files here, by the kernel's rule: for links writable by
// everybody, for the rest also by a group.
bool others_may_write(const struct stat& directory, bool link) {
    const mode_t who = link ? S_IWOTH : S_IWOTH | S_IWGRP;
    return (directory.st_mode & S_ISVTX) != 0 && (directory.st_mode & who) != 0;
}

// Check one entry of a directory.
std::optional<std::string> why_not(const struct stat& what, const std::string& directory,
                                   uid_t user) {
    struct stat about {};
    const bool link = S_ISLNK(what.st_mode);
    if (::stat(directory.c_str(), &about) != 0 || !others_may_write(about, link)) {
        return std::nullopt;
    }
    // With protected hard links nobody can make a second name for somebody else's pipe or device.
    // Without them, the owner says nothing about who made the name.
    const bool other_name = !link && !S_ISREG(what.st_mode) && what.st_nlink > 1;
    if ((what.st_uid == user || what.st_uid == about.st_uid) && !other_name) {
        return std::nullopt;
    }
    const std::string_view kind = link                    ? "a symbolic link"
                                  : S_ISREG(what.st_mode) ? "a file"
                                  : other_name            ? "a further name of a pipe or device"
                                                          : "a pipe or device";
    return "is " + std::string(kind) + " that another user may have put into " +
           escaped(directory) + ", where others may write; give another name";
}

std::string target_of(const std::string& link) {
    std::array<char, PATH_MAX> text;
    const ssize_t length = ::readlink(link.c_str(), text.data(), text.size());
    return length <= 0 ? "" : std::string(text.data(), static_cast<std::size_t>(length));
}

}  // namespace

std::optional<std::string> foreign_owner_problem(const std::string& path, uid_t user) {
    std::string rest = path;
    std::string at = path.starts_with('/') ? "/" : "./";  // the directory reached so far
    int links = 0;
    while (!rest.empty()) {
        const std::size_t slash = rest.find('/');
        const std::string name = rest.substr(0, slash);
        rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
        if (name.empty()) {
            continue;
        }
        struct stat about {};
        const std::string here = at + name;
        if (::lstat(here.c_str(), &about) != 0) {
            return std::nullopt;  // writing the file will report what is wrong
        }
        if (S_ISDIR(about.st_mode)) {
            at = here + "/";
            continue;
        }
        if (auto why = why_not(about, at, user); why) {
            return why;
        }
        if (!S_ISLNK(about.st_mode)) {
            return std::nullopt;
        }
        const std::string target = target_of(here);
        if (target.empty() || ++links > kMaxLinks) {
            return std::nullopt;
        }
        at = target.starts_with('/') ? "/" : at;
        rest = rest.empty() ? target : target + "/" + rest;
    }
    return std::nullopt;
}

}  // namespace unecho
