// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/session.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_pdump.h>
#include <sys/mman.h>
#include <unistd.h>

#include "appliance/eal/runtime_dir.h"
#include "appliance/eal/telemetry_access.h"
#include "base/os/fatal_handler.h"

namespace unecho::eal {
namespace {

// Keeps DPDK's log instead of printing it. The lines before an error tell its cause, so that a
// failed start is one line of ours.
class LogKeeper {
  public:
    static LogKeeper& instance() {
        static LogKeeper keeper;
        return keeper;
    }

    void capture() {
        cookie_io_functions_t functions{};
        functions.write = [](void*, const char* text, size_t n) -> ssize_t {
            instance().append({text, n});
            return static_cast<ssize_t>(n);
        };
        if (stream_ == nullptr) {
            stream_ = fopencookie(nullptr, "w", functions);
            if (stream_ != nullptr) {
                std::setvbuf(stream_, nullptr, _IONBF, 0);
            }
        }
        rte_openlog_stream(stream_);
    }

    std::string take() {
        const std::lock_guard lock(mutex_);
        return {text_.data(), std::exchange(size_, 0)};
    }

  private:
    void append(std::string_view text) noexcept {
        const std::lock_guard lock(mutex_);
        look_for_panic(text);
        text = text.substr(text.size() - std::min(text.size(), text_.size()));
        const std::size_t kept = std::min(size_, text_.size() - text.size());
        std::memmove(text_.data(), text_.data() + size_ - kept, kept);
        std::memcpy(text_.data() + kept, text.data(), text.size());
        size_ = kept + text.size();
    }

    // DPDK logs "PANIC in FUNCTION():", then why, then where, and ends the process by abort().
    void look_for_panic(std::string_view text) noexcept {
        if (panic_ && text.find_first_not_of('\n') != text.npos) {
            report_fatal(("DPDK gave up: " + std::string(text.substr(0, text.find('\n')))).c_str());
        }
        panic_ |= text.find("PANIC in ") != text.npos;
    }

    std::FILE* stream_ = nullptr;
    std::mutex mutex_;
    std::array<char, 4096> text_{};  // the end of it
    std::size_t size_ = 0;
    bool panic_ = false;
};
// DPDK's threads log until the process is gone.
static_assert(std::is_trivially_destructible_v<LogKeeper>);

// Captures standard output and standard error while it lives, for error messages: EAL prints its
// usage and its last lines there, past its own log.
class OutputCapture {
  public:
    OutputCapture() : file_(memfd_create("unecho-eal", MFD_CLOEXEC)) {
        if (file_ < 0) {
            return;
        }
        std::fflush(stdout);
        for (std::size_t i = 0; i < kStreams.size(); ++i) {
            saved_[i] = fcntl(kStreams[i], F_DUPFD_CLOEXEC, 3);
            if (saved_[i] >= 0) {  // else it could not be restored
                dup2(file_, kStreams[i]);
            }
        }
        real_standard_error = saved_[1];
    }
    ~OutputCapture() { finish(); }
    OutputCapture(const OutputCapture&) = delete;
    OutputCapture& operator=(const OutputCapture&) = delete;

    // Restore the streams and return the captured text.
    std::string finish() {
        std::string text;
        if (file_ < 0) {
            return text;
        }
        std::fflush(stdout);
        real_standard_error = -1;
        for (std::size_t i = 0; i < kStreams.size(); ++i) {
            if (saved_[i] >= 0) {
                dup2(saved_[i], kStreams[i]);
                close(saved_[i]);
            }
        }
        std::array<char, kKept> buffer{};
        const ssize_t n = pread(file_, buffer.data(), buffer.size(), 0);
        if (n > 0) {
            text.assign(buffer.data(), static_cast<std::size_t>(n));
            // Without the list of options: it would match every keyword of start_error().
            text.resize(std::min(text.find("Usage:"), text.size()));
        }
        close(std::exchange(file_, -1));
        return text;
    }

  private:
    static constexpr std::array<int, 2> kStreams{STDOUT_FILENO, STDERR_FILENO};
    static constexpr std::size_t kKept = 4096;
    int file_;
    std::array<int, 2> saved_{};
};

bool has_option(const std::vector<std::string>& args, std::string_view name) {
    return std::any_of(args.begin(), args.end(), [&](const std::string& arg) {
        return arg == name || arg.starts_with(std::string(name) + "=");
    });
}

// Return the --file-prefix of the arguments. DPDK accepts shortened names, and takes the last one.
std::optional<std::string> prefix_in(const std::vector<std::string>& args) {
    constexpr std::string_view kShortest = "--fi";
    std::optional<std::string> prefix;
    for (std::size_t i = 0; i < args.size(); ++i) {
        const std::size_t equals = args[i].find('=');
        const std::string_view name = std::string_view(args[i]).substr(0, equals);
        if (!name.starts_with(kShortest) || !std::string_view("--file-prefix").starts_with(name)) {
            continue;
        }
        if (equals != std::string::npos) {
            prefix = args[i].substr(equals + 1);
        } else if (i + 1 < args.size()) {
            prefix = args[++i];
        }
    }
    return prefix;
}

bool uses_name(const SessionOptions& options) {
    return !options.name.empty() && !prefix_in(options.args);
}

// Return true unless the arguments keep DPDK from using its directory.
bool needs_folder(const SessionOptions& options) {
    return !has_option(options.args, "--no-telemetry") ||
           (!has_option(options.args, "--no-shconf") && !has_option(options.args, "--in-memory"));
}

std::vector<std::string> arguments(const SessionOptions& options) {
    std::vector<std::string> out{options.program, "--lcores=" + options.lcores,
                                 "--main-lcore=" + std::to_string(options.main_lcore)};
    if (options.pci_devices.empty()) {
        if (!has_option(options.args, "--no-pci")) {
            out.emplace_back("--no-pci");
        }
    }
    for (const std::string& device : options.pci_devices) {
        out.emplace_back("-a");
        out.push_back(device);
    }
    if (uses_name(options)) {
        out.push_back("--file-prefix=" + options.name);
    }
    out.insert(out.end(), options.args.begin(), options.args.end());
    return out;
}

// Lines that DPDK logs at every start, or that follow from another line.
constexpr std::array<std::string_view, 6> kNoise{
    "Detected", "Selected IOVA",          "Multi-process socket",
    "No free",  "Invalid 'command line'", "TSC frequency"};

bool is_noise(std::string_view line) {
    return line.empty() || std::any_of(kNoise.begin(), kNoise.end(), [&](std::string_view noise) {
               return line.find(noise) != std::string_view::npos;
           });
}

// Return the line of DPDK's log that names the cause: the first that is no noise.
std::string cause_of(std::string_view log) {
    while (!log.empty()) {
        const std::size_t end = std::min(log.find('\n'), log.size());
        std::string_view line = log.substr(0, end);
        log.remove_prefix(std::min(end + 1, log.size()));
        if (is_noise(line)) {
            continue;
        }
        for (const std::string_view prefix : {"EAL: ", "FATAL: "}) {
            line.remove_prefix(line.starts_with(prefix) ? prefix.size() : 0);
        }
        return std::string(line);
    }
    return "";
}

Error start_error(const SessionOptions& options, int code, const std::string& log) {
    const auto mentions = [&](std::string_view text) {
        return log.find(text) != std::string::npos;
    };
    const std::string cause = cause_of(log);
    const std::string tail = cause.empty() ? "" : fmt::format(" ({})", cause);
    if (mentions("hugepage") || mentions("Not enough memory") || mentions("free hugepages")) {
        const bool denied = mentions("Permission denied");
        return {denied ? Errc::kPermission : Errc::kNoMemory,
                "DPDK found no usable hugepages" + tail +
                    "; reserve some (dpdk-hugepages.py --setup 1G) or add --no-huge to [eal] args"};
    }
    if (mentions("Cannot create lock") || mentions("another primary")) {
        if (uses_name(options)) {
            return {Errc::kBusy, taken_text(options.name)};
        }
        return {Errc::kBusy, "another DPDK process uses the same --file-prefix" + tail +
                                 "; give [eal] args a --file-prefix of its own"};
    }
    if (code == EACCES || code == EPERM || mentions("Permission denied")) {
        return {Errc::kPermission, fmt::format("not permitted to start DPDK{}; run as root", tail)};
    }
    if (cause.find("core") != std::string::npos || cause.find("cpuset") != std::string::npos) {
        return {Errc::kUnsupported,
                "DPDK refused the lcores" + tail + "; check [workers] lcores and [control] lcore"};
    }
    return {Errc::kConfig,
            fmt::format("DPDK did not start: {}{}; check [eal] args and what stands behind --",
                        rte_strerror(code), tail)};
}

// Remove the multi-process socket that DPDK leaves behind when it does not start. Another process
// of the same name would hold a lock.
void remove_left_socket() {
    const std::string folder = rte_eal_get_runtime_dir();
    const int config = open((folder + "/config").c_str(), O_RDWR | O_CLOEXEC);
    if (config < 0) {
        return;
    }
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(config, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK) {
        unlink((folder + "/mp_socket").c_str());
    }
    close(config);
}

}  // namespace

std::string name_on_host(const SessionOptions& options) {
    return uses_name(options) ? options.name : prefix_in(options.args).value_or("rte");
}

bool is_name_taken(const SessionOptions& options) {
    return uses_name(options) && prepare_runtime_dir(options.name) &&
           telemetry_answers(runtime_dir(options.name));
}

std::string taken_text(const std::string& name) {
    return "another process is named \"" + name +
           "\" already; give one of the two a [run] name of its own";
}

Result<Session> Session::open(const SessionOptions& options) {
    const Status folder = prepare_runtime_dir(name_on_host(options));
    if (!folder && (folder.error().code != Errc::kNotFound || needs_folder(options))) {
        return tl::unexpected(folder.error());
    }
    std::vector<std::string> args = arguments(options);
    std::vector<char*> argv;
    for (std::string& arg : args) {
        argv.push_back(arg.data());
    }
    if (!options.verbose) {
        LogKeeper::instance().capture();
    }
    int code = 0;
    std::string printed;
    if (options.verbose) {
        code = rte_eal_init(static_cast<int>(argv.size()), argv.data());
    } else {
        OutputCapture output;
        code = rte_eal_init(static_cast<int>(argv.size()), argv.data());
        printed = output.finish();
    }
    if (code < 0) {
        remove_left_socket();
        return tl::unexpected(start_error(options, rte_errno, printed + take_log()));
    }
    if (rte_pdump_init() < 0) {
        // Without shared memory configuration nobody could attach.
        RTE_LOG(INFO, USER1, "packet capture by dpdk-dumpcap is not available\n");
    }
    take_log();
    return Session(true);
}

Session::~Session() {
    if (owner_) {
        rte_pdump_uninit();
        rte_eal_cleanup();
    }
}

Session::Session(Session&& other) noexcept : owner_(std::exchange(other.owner_, false)) {}

bool Session::has_hugepages() const {
    return rte_eal_has_hugepages() != 0;
}

std::string take_log() {
    return LogKeeper::instance().take();
}

}  // namespace unecho::eal
