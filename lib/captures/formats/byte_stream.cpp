// SPDX-License-Identifier: BSD-3-Clause
#include "captures/formats/byte_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/errno_code.h"
#include "captures/standard_streams.h"

namespace unecho::capture {
namespace {

FileId id_of(const struct stat& about) {
    return {about.st_dev, about.st_ino};
}

// A file or pipe with an open descriptor. Standard input stays open: it belongs to the caller.
class File final : public ByteStream {
  public:
    File(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
    ~File() override {
        if (descriptor_ != STDIN_FILENO) {
            ::close(descriptor_);
        }
    }

    Status examine() {
        struct stat status {};
        if (::fstat(descriptor_, &status) != 0) {
            return fail(Errc::kIo, fmt::format("{}: {}", name_, std::strerror(errno)));
        }
        if (S_ISDIR(status.st_mode)) {
            return fail(Errc::kUnsupported,
                        name_ +
                            ": a directory; allowed: a pcap or pcapng file, or - for "
                            "standard input");
        }
        if (S_ISREG(status.st_mode)) {
            // Another program may have read part of standard input before.
            const off_t at = ::lseek(descriptor_, 0, SEEK_CUR);
            size_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size - at, 0));
            waits_ = false;
            ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
        }
        return {};
    }

    // Also read from a pipe that another program made non-blocking. A signal that does not restart
    // system calls is meant to end the wait.
    Result<std::size_t> read(std::span<std::byte> to) override {
        ssize_t got = ::read(descriptor_, to.data(), to.size());
        while (got < 0 && errno == EAGAIN && wait()) {
            got = ::read(descriptor_, to.data(), to.size());
        }
        if (got < 0) {
            return fail(Errc::kIo,
                        fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
        }
        taken_ += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
    }

    [[nodiscard]] bool ready() const override {
        pollfd wanted{.fd = descriptor_, .events = POLLIN, .revents = 0};
        return !waits_ || ::poll(&wanted, 1, 0) > 0;
    }

    [[nodiscard]] std::uint64_t taken() const override { return taken_; }
    [[nodiscard]] std::uint64_t size() const override { return size_; }

  private:
    [[nodiscard]] bool wait() const {
        pollfd wanted{.fd = descriptor_, .events = POLLIN, .revents = 0};
        return ::poll(&wanted, 1, -1) >= 0;
    }

    int descriptor_;
    std::string name_;
    std::uint64_t taken_ = 0;
    std::uint64_t size_ = 0;
    bool waits_ = true;  // read() may wait for a writer
};

// A regular file that is opened for each read, and must stay the same file.
class ReopenedFile final : public ByteStream {
  public:
    ReopenedFile(std::string path, std::string name, FileId id, std::uint64_t size)
        : path_(std::move(path)), name_(std::move(name)), id_(id), size_(size) {}

    Result<std::size_t> read(std::span<std::byte> to) override {
        const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) {
            return failed(std::strerror(errno));
        }
        struct stat about {};
        const bool same = ::fstat(descriptor, &about) == 0 && id_of(about) == id_;
        const ssize_t got = ::pread(descriptor, to.data(), to.size(), static_cast<off_t>(taken_));
        const int error = errno;
        ::close(descriptor);
        if (!same) {
            return failed("replaced while it was read");
        }
        if (got < 0) {
            return failed(std::strerror(error));
        }
        taken_ += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
    }

    [[nodiscard]] std::uint64_t taken() const override { return taken_; }
    [[nodiscard]] std::uint64_t size() const override { return size_; }

  private:
    [[nodiscard]] tl::unexpected<Error> failed(const std::string& why) const {
        return fail(Errc::kIo, fmt::format("{}: cannot be read: {}", name_, why));
    }

    std::string path_;
    std::string name_;
    FileId id_;
    std::uint64_t size_;
    std::uint64_t taken_ = 0;
};

}  // namespace

std::optional<FileId> regular_file_id(const std::string& path) {
    struct stat about {};
    if (path == kStandardStream || ::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
        return std::nullopt;
    }
    return id_of(about);
}

bool raise_descriptor_limit(std::size_t files) {
    constexpr std::size_t kOthers = 64;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    const rlim_t wanted = files + kOthers;
    if (limit.rlim_cur < wanted && limit.rlim_max >= wanted) {
        limit.rlim_cur = wanted;
        return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
    }
    return limit.rlim_cur >= wanted;
}

Result<std::unique_ptr<ByteStream>> open_file(const std::string& path, DescriptorMode hold) {
    const std::string name = printable_input_name(path);
    const int descriptor =
        path == kStandardStream ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        const int error = errno;
        return fail(errc_from_errno(error),
                    fmt::format("{}: cannot be opened: {}", name, std::strerror(error)));
    }
    auto file = std::make_unique<File>(descriptor, name);
    UNECHO_TRY(file->examine());
    struct stat about {};
    if (hold == DescriptorMode::kClosed && path != kStandardStream &&
        ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode)) {
        return std::make_unique<ReopenedFile>(path, name, id_of(about), file->size());
    }
    return file;
}

}  // namespace unecho::capture
