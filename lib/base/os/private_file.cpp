// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/private_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"

namespace unecho {
namespace {

constexpr std::size_t kMostBytes = 1024;

}  // namespace

Result<std::string> read_private_line(const std::string& path) {
    // A FIFO must not block the open.
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

}  // namespace unecho
