// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kept_file.h"
#include "root/layout.h"

namespace unecho::root {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::size_t kMostBytes = 1024;

// What is in a file of this user's own.
Result<std::string> read_private(const std::string& path) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const auto cannot = [&](const std::string& why) {
        return fail(Errc::kConfig, path + ": " + why);
    };
    if (file.get() < 0) {
        return cannot(std::strerror(errno));
    }
    struct stat facts {};
    if (fstat(file.get(), &facts) != 0) {
        return cannot(std::strerror(errno));
    }
    if (!S_ISREG(facts.st_mode)) {
        return cannot("is no file");
    }
    if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return cannot("others than its owner may use it; chmod 600");
    }
    std::string text(kMostBytes, '\0');
    const ssize_t got = read(file.get(), text.data(), text.size());
    if (got < 0) {
        return cannot(std::strerror(errno));
    }
    text.resize(static_cast<std::size_t>(got));
    return text.substr(0, text.find_first_of("\r\n"));
}

int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

}  // namespace

Result<hash::ChachaKey> read_secret(const std::string& path) {
    const Result<std::string> text = read_private(path);
    if (!text) {
        return tl::unexpected(text.error());
    }
    hash::ChachaKey key{};
    bool digits = text->size() == kDigits;
    for (std::size_t i = 0; digits && i < kDigits; ++i) {
        const int digit = digit_of((*text)[i]);
        digits = digit >= 0;
        key[i / 8] = key[i / 8] << 4 | static_cast<std::uint32_t>(digit & 15);
    }
    if (!digits) {
        return fail(Errc::kConfig, path +
                                       ": is no secret; needed: 64 hexadecimal digits, as of "
                                       "openssl rand -hex 32");
    }
    return key;
}

Result<std::string> read_password(const std::string& path) {
    Result<std::string> text = read_private(path);
    if (text && text->empty()) {
        return fail(Errc::kConfig, path + ": its first line is empty; needed: a password");
    }
    return text;
}

}  // namespace unecho::root
