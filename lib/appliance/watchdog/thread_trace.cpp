// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/thread_trace.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/humanize.h"
#include "base/os/errno_code.h"

namespace unecho::appliance {
namespace {

// A recorded stack begins with the handler and the kernel's trampoline: skip them.
constexpr int kOfTheHandler = 2;

struct Noted {
    std::array<void*, 48> frames;
    int count = 0;
    std::atomic<unsigned> ticket{0};  // of the request that was answered
};
// A thread that answers late writes to an entry that is no longer read.
std::array<Noted, 4> noted;
std::atomic<unsigned> wanted{0};
static_assert(std::atomic<unsigned>::is_always_lock_free);

// backtrace() allocates and loads libgcc on its first call, which prepare() makes. Later calls walk
// tables that are found without a lock (_dl_find_object).
void note_stack(int /*signal*/, siginfo_t* info, void* /*context*/) {
    const auto ticket = static_cast<unsigned>(info->si_value.sival_int);
    if (info->si_code != SI_QUEUE || ticket != wanted.load(std::memory_order_acquire)) {
        return;
    }
    const int before = errno;
    Noted& here = noted[ticket % noted.size()];
    here.count = backtrace(here.frames.data(), static_cast<int>(here.frames.size()));
    here.ticket.store(ticket, std::memory_order_release);
    errno = before;
}

// Return the name without its parameters: a line holds many names.
std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> whole(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    std::string text = status == 0 ? whole.get() : name;
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    std::size_t end = text.find('(');
    while (end != std::string::npos && text.compare(end, kAnonymous.size(), kAnonymous) == 0) {
        end = text.find('(', end + kAnonymous.size());
    }
    return text.substr(0, end);
}

// Such as "eth_pcap_tx_dumper+0x1f3 (librte_net_pcap.so.23)", or the offset in the file for
// addr2line.
std::string place_of(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
        return "?";
    }
    const char* const slash = std::strrchr(info.dli_fname, '/');
    const std::string file = slash == nullptr ? info.dli_fname : slash + 1;
    const bool named = info.dli_sname != nullptr;
    const std::string offset = format_number(
        "+0x%tx", static_cast<const char*>(address) -
                      static_cast<const char*>(named ? info.dli_saddr : info.dli_fbase));
    return named ? demangled(info.dli_sname) + offset + " (" + file + ")" : file + offset;
}

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

// stat: "123 (name with ) in it) S ..."
std::string thread_state_of(std::string_view stat, std::string_view wchan) {
    const std::size_t behind = stat.rfind(')');
    if (behind == std::string_view::npos || behind + 2 >= stat.size()) {
        return "gone";
    }
    const auto in = [&](std::string text) {
        return wchan.empty() || wchan == "0" ? text : fmt::format("{} in {}", text, wchan);
    };
    switch (stat[behind + 2]) {
        case 'R':
            return "runnable";
        case 'S':
            return in("sleeping");
        case 'D':
            return in("waiting without being interruptible");
        case 'T':
        case 't':
            return "stopped";
        case 'Z':
        case 'X':
            return "gone";
        default:
            return std::string("in state ") + stat[behind + 2];
    }
}

std::string thread_state(pid_t tid) {
    const std::string folder = fmt::format("/proc/self/task/{}/", tid);
    return thread_state_of(text_of(folder + "stat"), text_of(folder + "wchan"));
}

Status ThreadTrace::prepare() {
    std::array<void*, 4> frames{};
    backtrace(frames.data(), static_cast<int>(frames.size()));
    struct sigaction action {};
    action.sa_sigaction = note_stack;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    if (sigaction(SIGRTMIN, &action, nullptr) != 0) {
        return fail(errc_from_errno(errno),
                    std::string("no handler for SIGRTMIN: ") + std::strerror(errno));
    }
    return {};
}

bool ThreadTrace::ask(pid_t tid) {
    ticket_ = wanted.fetch_add(1, std::memory_order_acq_rel) + 1;
    siginfo_t info{};
    info.si_signo = SIGRTMIN;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = static_cast<int>(ticket_);
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGRTMIN, &info) == 0;
}

std::optional<std::string> ThreadTrace::answer() const {
    const Noted& there = noted[ticket_ % noted.size()];
    if (ticket_ == 0 || there.ticket.load(std::memory_order_acquire) != ticket_) {
        return std::nullopt;
    }
    std::string text;
    for (int i = kOfTheHandler; i < there.count; ++i) {
        text += (text.empty() ? "" : " < ") + place_of(there.frames[static_cast<std::size_t>(i)]);
    }
    return text;
}

}  // namespace unecho::appliance
