// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/os/errno_code.h"
#include "base/os/symlink_guard.h"
#include "base/units.h"
#include "base/utf8.h"
#include "captures/output/temp_file_registry.h"
#include "captures/output/write_progress.h"
#include "captures/standard_streams.h"

namespace unecho::capture {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr mode_t kNewFile = 0666;  // less the umask
// A ready pipe takes so much without blocking.
constexpr std::size_t kPipePiece = PIPE_BUF;

std::string text_of(int number) {
    return std::generic_category().message(number);
}

// Return the open descriptor that a path stands for, or -1. If the path were opened instead, a file
// that standard output was redirected to would be written from its start.
int descriptor_of(std::string_view path) {
    if (path == kStandardStream || path == "/dev/stdout") {
        return STDOUT_FILENO;
    }
    if (path == "/dev/stderr") {
        return STDERR_FILENO;
    }
    for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"}) {
        if (path.starts_with(folder)) {
            int number = -1;
            const char* end = path.data() + path.size();
            const auto [stop, error] = std::from_chars(path.data() + folder.size(), end, number);
            return error == std::errc{} && stop == end ? number : -1;
        }
    }
    return -1;
}

std::string random_suffix() {
    constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyz";
    std::random_device device;
    std::string text;
    for (int i = 0; i < 6; ++i) {
        text += kLetters[device() % kLetters.size()];
    }
    return text;
}

bool stat_of_input(const std::string& path, struct stat& out) {
    return (path == kStandardStream ? ::fstat(STDIN_FILENO, &out) : ::stat(path.c_str(), &out)) ==
           0;
}

bool stat_of_output(const std::string& path, struct stat& out) {
    const int descriptor = descriptor_of(path);
    return (descriptor >= 0 ? ::fstat(descriptor, &out) : ::stat(path.c_str(), &out)) == 0;
}

bool equal(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Return true for /dev/null, where nothing can mix.
bool is_null_device(const struct stat& about) {
    return S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3);
}

std::filesystem::path canonical(const std::string& path) {
    std::error_code problem;
    const auto out = std::filesystem::weakly_canonical(
        std::filesystem::absolute(resolve(path), problem), problem);
    return problem ? std::filesystem::path() : out;
}

// Wait until a descriptor that another program made non-blocking takes more.
bool wait_for_room(int descriptor) {
    pollfd wanted{.fd = descriptor, .events = POLLOUT, .revents = 0};
    return ::poll(&wanted, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace

Result<std::unique_ptr<Output>> Output::create(const std::string& path,
                                               const OutputOptions& options) {
    const int descriptor = descriptor_of(path);
    std::unique_ptr<Output> out(new Output(printable_output_name(path), options));
    struct stat about {};
    const bool exists = descriptor < 0 && ::stat(path.c_str(), &about) == 0;
    if (path.empty()) {
        return fail(Errc::kInvalidArgument,
                    "no file name; allowed: a file, or - for standard output");
    }
    if (path.back() == '/' || (exists && S_ISDIR(about.st_mode))) {
        return fail(Errc::kInvalidArgument,
                    "\"" + escaped(path) + "\": is a directory; the output must be a file");
    }
    if (descriptor < 0) {
        if (const auto why = foreign_owner_problem(path, ::geteuid()); why) {
            return fail(Errc::kPermission, fmt::format("\"{}\": {}", escaped(path), *why));
        }
    }
    const bool direct = descriptor >= 0 || (exists && !S_ISREG(about.st_mode));
    const Status opened = direct         ? out->open_stream(path, descriptor)
                          : options.live ? out->open_in_place(path)
                                         : out->open_replacement(path);
    UNECHO_TRY(opened);
    return out;
}

Output::~Output() {
    discard();
}

void Output::discard() noexcept {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
        descriptor_ = -1;
    }
    forget_output(std::exchange(written_, -1));
    if (!temporary_.empty()) {
        ::unlink(temporary_.c_str());
        forget_temp_file(std::exchange(unfinished_, -1));
        temporary_.clear();
    }
    if (std::exchange(created_, false) && taken_ == 0) {
        ::unlink(final_.c_str());
    }
}

Status Output::open_stream(const std::string& path, int descriptor) {
    descriptor_ = descriptor >= 0 ? ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
                                  : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) {
        return failed(errno);
    }
    written_ = register_output(name_);
    struct stat about {};
    is_stream_ = ::fstat(descriptor_, &about) == 0 && !S_ISREG(about.st_mode);
    has_reader_ = is_stream_ && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
    return {};
}

bool Output::is_terminal() const noexcept {
    return ::isatty(descriptor_) == 1;
}

Status Output::open_replacement(const std::string& path) {
    final_ = resolve(path);
    if (final_.empty()) {
        return failed(errno);
    }
    struct stat about {};
    const bool exists = ::stat(final_.c_str(), &about) == 0;
    if (exists && ::access(final_.c_str(), W_OK) != 0) {
        return failed(errno);  // the directory alone would permit to replace it
    }
    const std::size_t slash = final_.rfind('/');
    const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
    UNECHO_TRY(open_temporary(final_.substr(0, start), final_.substr(start)));
    if (exists && ::fchmod(descriptor_, about.st_mode & kModeBits) != 0) {
        return failed(errno);
    }
    return {};
}

Status Output::open_in_place(const std::string& path) {
    final_ = resolve(path);
    if (final_.empty()) {
        return failed(errno);
    }
    descriptor_ = ::open(final_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFile);
    created_ = descriptor_ >= 0;
    if (!created_ && errno == EEXIST) {
        descriptor_ = ::open(final_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        truncate_first_ = descriptor_ >= 0;
    }
    if (descriptor_ < 0) {
        return errno == ENOENT ? Status(no_directory()) : Status(failed(errno));
    }
    return {};
}

Status Output::truncate_once() {
    return !std::exchange(truncate_first_, false) || ::ftruncate(descriptor_, 0) == 0
               ? Status()
               : Status(failed(errno));
}

Status Output::open_temporary(const std::string& directory, const std::string& file) {
    constexpr int kTries = 100;
    constexpr std::size_t kAdded =
        std::string_view(".").size() + std::string_view(".unecho-XXXXXX").size();
    if (file.size() > NAME_MAX) {
        return failed(ENAMETOOLONG);
    }
    const std::string stem =
        fmt::format("{}.{}.unecho-", directory, file.substr(0, NAME_MAX - kAdded));
    int error = EEXIST;
    for (int i = 0; i < kTries && error == EEXIST; ++i) {
        const std::string name = stem + random_suffix();
        unfinished_ = register_temp_file(name);
        if (unfinished_ < 0) {
            return fail(Errc::kIo, name_ + ": too many files are being written");
        }
        descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFile);
        if (descriptor_ >= 0) {
            temporary_ = name;
            return {};
        }
        error = errno;
        forget_temp_file(std::exchange(unfinished_, -1));
    }
    if (error == ENOENT) {
        return no_directory();
    }
    return failed(error);
}

tl::unexpected<Error> Output::no_directory() const {
    return fail(Errc::kNotFound, name_ + ": its directory does not exist");
}

tl::unexpected<Error> Output::failed(int number) const {
    if (number == EPIPE) {
        return fail(Errc::kIo,
                    fmt::format("{}: closed by its reader after {}, before everything was written",
                                name_, given_text()));
    }
    return fail(errc_from_errno(number),
                fmt::format("{}: cannot be written: {}", name_, text_of(number)));
}

Status Output::wait_for_reader() const {
    using Clock = std::chrono::steady_clock;
    constexpr int kLookMilliseconds = 50;
    std::optional<Clock::time_point> told;
    for (;;) {
        pollfd wanted{.fd = descriptor_, .events = POLLOUT, .revents = 0};
        const int ready = ::poll(&wanted, 1, kLookMilliseconds);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return {};  // write() will report the error
        }
        if (!options_.stop->load(std::memory_order_relaxed)) {
            continue;
        }
        const Clock::time_point now = Clock::now();
        told = told.value_or(now);
        if (now - *told >= kReaderTimeout) {
            return fail(Errc::kIo, fmt::format("{}: told to end, and its reader takes no more; {}",
                                               name_, given_text()));
        }
    }
}

Status Output::write(std::span<const std::byte> bytes) {
    const bool looks = options_.stop != nullptr && has_reader_;
    UNECHO_TRY(truncate_once());
    while (!bytes.empty()) {
        if (looks) {
            UNECHO_TRY(wait_for_reader());
        }
        begin_write(written_, bytes.size());
        const ssize_t written = ::write(descriptor_, bytes.data(),
                                        looks ? std::min(bytes.size(), kPipePiece) : bytes.size());
        const int error = errno;
        end_write(written_, written < 0 ? 0 : static_cast<std::size_t>(written));
        taken_ += written < 0 ? 0 : static_cast<std::size_t>(written);
        const bool full = written < 0 && error == EAGAIN && wait_for_room(descriptor_);
        if (written < 0 && !full && error != EINTR) {
            return failed(error);
        }
        bytes = bytes.subspan(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return {};
}

std::string Output::given_text() const {
    const WriteProgress given = written(written_);
    return fmt::format("{}{} bytes",
                       given.packets != 0 ? format_count(given.packets) + " packets, " : "",
                       format_count(given.bytes));
}

Status Output::truncate(std::uint64_t bytes) {
    // Standard output may have been written before.
    const off_t end = ::lseek(descriptor_, 0, SEEK_CUR);
    if (end < 0 || ::ftruncate(descriptor_, end - static_cast<off_t>(bytes)) != 0 ||
        ::lseek(descriptor_, end - static_cast<off_t>(bytes), SEEK_SET) < 0) {
        return failed(errno);
    }
    taken_ -= bytes;
    return {};
}

void Output::count_packets(std::uint64_t packets) noexcept {
    count_packets_written(written_, packets);
}

Status Output::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written =
            ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0 && errno != EINTR) {
            return failed(errno);
        }
        const std::size_t taken = written < 0 ? 0 : static_cast<std::size_t>(written);
        bytes = bytes.subspan(taken);
        offset += taken;
    }
    return {};
}

Status Output::close() {
    if (descriptor_ < 0) {
        return {};
    }
    UNECHO_TRY(truncate_once());
    // The descriptor is closed even after EINTR (close(2)).
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
        const int error = errno;
        discard();
        return failed(error);
    }
    forget_output(std::exchange(written_, -1));
    if (temporary_.empty()) {
        created_ = false;
        return {};
    }
    if (::rename(temporary_.c_str(), final_.c_str()) != 0) {
        const int error = errno;
        discard();
        return failed(error);
    }
    forget_temp_file(std::exchange(unfinished_, -1));
    temporary_.clear();
    count_finished_file();
    return {};
}

std::string resolve(std::string path) {
    constexpr int kMaxLinks = 40;  // the kernel's limit
    for (int i = 0; i < kMaxLinks; ++i) {
        if (char* real = ::realpath(path.c_str(), nullptr); real != nullptr) {
            const std::string out = real;
            std::free(real);
            return out;
        }
        if (errno == ELOOP) {
            break;
        }
        std::array<char, PATH_MAX> target;
        const ssize_t length =
            errno == ENOENT ? ::readlink(path.c_str(), target.data(), target.size()) : -1;
        if (length <= 0) {
            return path;  // no link: opening it will report the error
        }
        const std::string_view leads_to(target.data(), static_cast<std::size_t>(length));
        const std::size_t folder = leads_to.front() == '/' ? 0 : path.rfind('/') + 1;
        path = path.substr(0, folder).append(leads_to);
    }
    errno = ELOOP;
    return "";
}

bool has_suffix(std::string_view name, std::string_view suffix) {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    };
    return name.size() >= suffix.size() &&
           std::equal(suffix.begin(), suffix.end(), name.end() - suffix.size(),
                      [&](char a, char b) { return lower(a) == lower(b); });
}

// A terminal or a socket has two directions, which are not the same.
bool is_same_file(const std::string& input, const std::string& output) {
    struct stat in {};
    struct stat out {};
    return stat_of_input(input, in) && stat_of_output(output, out) && equal(in, out) &&
           (S_ISREG(in.st_mode) || S_ISFIFO(in.st_mode) || S_ISBLK(in.st_mode));
}

bool is_same_output(const std::string& a, const std::string& b) {
    if (a == b || (descriptor_of(a) >= 0 && descriptor_of(a) == descriptor_of(b))) {
        return a != "/dev/null";
    }
    struct stat first {};
    struct stat second {};
    if (stat_of_output(a, first) && stat_of_output(b, second)) {
        return equal(first, second) && !is_null_device(first);
    }
    return descriptor_of(a) < 0 && descriptor_of(b) < 0 && !canonical(a).empty() &&
           canonical(a) == canonical(b);
}

std::optional<std::pair<std::size_t, std::size_t>> find_shared_pipe(
    std::span<const std::string> inputs) {
    std::map<std::pair<dev_t, ino_t>, std::size_t> pipes;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        struct stat about {};
        if (!stat_of_input(inputs[i], about) || S_ISREG(about.st_mode) || S_ISBLK(about.st_mode) ||
            is_null_device(about)) {
            continue;
        }
        const auto [known, fresh] = pipes.try_emplace({about.st_dev, about.st_ino}, i);
        if (!fresh) {
            return std::pair(known->second, i);
        }
    }
    return std::nullopt;
}

}  // namespace unecho::capture
