// SPDX-License-Identifier: BSD-3-Clause
// A library for LD_PRELOAD that makes calls fail as the system may at any time. It counts all calls
// of one kind in the process, libraries included, and fails the one with a given number.

// Libraries call file functions by both their names, with and without "64", so both are defined.
#undef _FILE_OFFSET_BITS

#include "failing_calls.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

// glibc's names for its own allocator.
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t number, std::size_t size);
extern "C" void* __libc_realloc(void* memory, std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);

namespace failing {
namespace {

// Until the constructor has mapped the control file, nothing fails.
Control own;
Control* control = &own;

[[gnu::constructor]] void begin() {
    static const auto open_it = behind<int(const char*, int, ...)>("open");
    static const auto map = behind<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
    static const auto close_it = behind<int(int)>("close");
    if (const char* const path = std::getenv("FAIL_CONTROL")) {
        const int file = open_it(path, O_RDWR | O_CLOEXEC);
        void* const there =
            map(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file < 0 || there == MAP_FAILED) {
            std::abort();
        }
        close_it(file);
        control = static_cast<Control*>(there);
    }
}

// Fail as a system call does: set errno.
bool with(int error, Kind of, const char* name) {
    if (!fails(of, name)) {
        return false;
    }
    errno = error;
    return true;
}

// Return true for the first of the calls that fail.
bool is_first() {
    return control->asked == control->from;
}

bool interrupted(const char* name) {
    return with(EINTR, Kind::kInterrupt, name);
}

}  // namespace

bool fails(Kind of, const char* name) noexcept {
    if (control->kind.load(std::memory_order_relaxed) != static_cast<std::int64_t>(of)) {
        return false;
    }
    if (control->others.load(std::memory_order_relaxed) != 0 && gettid() == getpid()) {
        return false;
    }
    const std::int64_t from = control->from;
    const std::int64_t number = ++control->asked;
    if (from == 0 || number < from || number >= from + control->many) {
        return false;
    }
    std::strncpy(control->name, name, sizeof(control->name) - 1);
    return true;
}

}  // namespace failing

using failing::behind;
using failing::interrupted;
using failing::Kind;
using failing::with;

extern "C" {

// ---- memory ---------------------------------------------------------------------------------

// Sanitizers bring their own allocator.
#ifndef UNECHO_SANITIZED
void* malloc(std::size_t size) {
    return with(ENOMEM, Kind::kAllocate, "malloc") ? nullptr : __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
    return with(ENOMEM, Kind::kAllocate, "calloc") ? nullptr : __libc_calloc(number, size);
}

void* realloc(void* memory, std::size_t size) {
    return with(ENOMEM, Kind::kAllocate, "realloc") ? nullptr : __libc_realloc(memory, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return with(ENOMEM, Kind::kAllocate, "aligned_alloc") ? nullptr
                                                          : __libc_memalign(alignment, size);
}
#endif

}  // extern "C"

// C++ allocation, if the sanitizer's runtime is a shared library (tools/sanitized shared). A
// program that has the runtime linked in does not call these functions.
#ifdef UNECHO_SANITIZED
// Call the new-handler on each failure; the sanitizer's operator new does not.
template <typename... More>
void* allocated(const char* name, std::size_t size, More... more) {
    while (with(ENOMEM, Kind::kAllocate, "operator new")) {
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
            throw std::bad_alloc();
        }
        handler();
    }
    return behind<void*(std::size_t, More...)>(name)(size, more...);
}

void* operator new(std::size_t size) {
    return allocated("_Znwm", size);
}

void* operator new[](std::size_t size) {
    return allocated("_Znam", size);
}

void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocated("_ZnwmSt11align_val_t", size, alignment);
}

void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    try {
        return allocated("_Znwm", size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
#endif

extern "C" {

void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
    static const auto real = behind<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
    return with(ENOMEM, Kind::kMap, "mmap") ? MAP_FAILED
                                            : real(at, size, protection, flags, file, offset);
}

void* mmap64(void* at, std::size_t size, int protection, int flags, int file,
             off64_t offset) noexcept {
    static const auto real = behind<void*(void*, std::size_t, int, int, int, off64_t)>("mmap64");
    return with(ENOMEM, Kind::kMap, "mmap64") ? MAP_FAILED
                                              : real(at, size, protection, flags, file, offset);
}

// ---- files ----------------------------------------------------------------------------------

int open(const char* path, int flags, ...) {
    static const auto real = behind<int(const char*, int, ...)>("open");
    va_list rest;
    va_start(rest, flags);
    const auto mode = va_arg(rest, mode_t);  // only passed if the flags ask for it
    va_end(rest);
    return with(EMFILE, Kind::kOpen, "open") ? -1 : real(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    static const auto real = behind<int(const char*, int, ...)>("open64");
    va_list rest;
    va_start(rest, flags);
    const auto mode = va_arg(rest, mode_t);
    va_end(rest);
    return with(EMFILE, Kind::kOpen, "open64") ? -1 : real(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
    static const auto real = behind<int(int, const char*, int, ...)>("openat");
    va_list rest;
    va_start(rest, flags);
    const auto mode = va_arg(rest, mode_t);
    va_end(rest);
    return with(EMFILE, Kind::kOpen, "openat") ? -1 : real(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
    static const auto real = behind<int(int, const char*, int, ...)>("openat64");
    va_list rest;
    va_start(rest, flags);
    const auto mode = va_arg(rest, mode_t);
    va_end(rest);
    return with(EMFILE, Kind::kOpen, "openat64") ? -1 : real(folder, path, flags, mode);
}

int mkostemp(char* path, int flags) {
    static const auto real = behind<int(char*, int)>("mkostemp");
    return with(EMFILE, Kind::kOpen, "mkostemp") ? -1 : real(path, flags);
}

int mkostemp64(char* path, int flags) {
    static const auto real = behind<int(char*, int)>("mkostemp64");
    return with(EMFILE, Kind::kOpen, "mkostemp64") ? -1 : real(path, flags);
}

std::FILE* fopen(const char* path, const char* mode) {
    static const auto real = behind<std::FILE*(const char*, const char*)>("fopen");
    return with(EMFILE, Kind::kOpen, "fopen") ? nullptr : real(path, mode);
}

std::FILE* fopen64(const char* path, const char* mode) {
    static const auto real = behind<std::FILE*(const char*, const char*)>("fopen64");
    return with(EMFILE, Kind::kOpen, "fopen64") ? nullptr : real(path, mode);
}

DIR* opendir(const char* path) {
    static const auto real = behind<DIR*(const char*)>("opendir");
    return with(EMFILE, Kind::kOpen, "opendir") ? nullptr : real(path);
}

int memfd_create(const char* name, unsigned flags) noexcept {
    static const auto real = behind<int(const char*, unsigned)>("memfd_create");
    return with(EMFILE, Kind::kOpen, "memfd_create") ? -1 : real(name, flags);
}

int mkdir(const char* path, mode_t mode) noexcept {
    static const auto real = behind<int(const char*, mode_t)>("mkdir");
    return with(ENOSPC, Kind::kOpen, "mkdir") ? -1 : real(path, mode);
}

ssize_t read(int file, void* to, std::size_t size) {
    static const auto real = behind<ssize_t(int, void*, std::size_t)>("read");
    return with(EIO, Kind::kRead, "read") || interrupted("read") ? -1 : real(file, to, size);
}

ssize_t __read_chk(int file, void* to, std::size_t size, std::size_t most) {
    static const auto real = behind<ssize_t(int, void*, std::size_t, std::size_t)>("__read_chk");
    return with(EIO, Kind::kRead, "read") || interrupted("read") ? -1 : real(file, to, size, most);
}

ssize_t pread64(int file, void* to, std::size_t size, off64_t at) {
    static const auto real = behind<ssize_t(int, void*, std::size_t, off64_t)>("pread64");
    return with(EIO, Kind::kRead, "pread64") || interrupted("pread64") ? -1
                                                                       : real(file, to, size, at);
}

// Writes to standard error never fail: the test reads the reason there.
ssize_t write(int file, const void* from, std::size_t size) {
    static const auto real = behind<ssize_t(int, const void*, std::size_t)>("write");
    const bool counts = file != STDERR_FILENO;
    if (counts && with(ENOSPC, Kind::kFull, "write")) {
        return failing::is_first() && size > 1 ? real(file, from, size / 2) : -1;
    }
    return counts && (with(EIO, Kind::kWrite, "write") || interrupted("write"))
               ? -1
               : real(file, from, size);
}

ssize_t writev(int file, const iovec* parts, int number) {
    static const auto real = behind<ssize_t(int, const iovec*, int)>("writev");
    return with(EIO, Kind::kWrite, "writev") || with(ENOSPC, Kind::kFull, "writev")
               ? -1
               : real(file, parts, number);
}

int ftruncate64(int file, off64_t size) noexcept {
    static const auto real = behind<int(int, off64_t)>("ftruncate64");
    return with(ENOSPC, Kind::kWrite, "ftruncate64") || with(ENOSPC, Kind::kFull, "ftruncate64")
               ? -1
               : real(file, size);
}

// The file is closed nevertheless, as by Linux.
int close(int file) {
    static const auto real = behind<int(int)>("close");
    if (with(EIO, Kind::kClose, "close")) {
        real(file);
        errno = EIO;
        return -1;
    }
    return real(file);
}

int rename(const char* from, const char* to) noexcept {
    static const auto real = behind<int(const char*, const char*)>("rename");
    return with(EIO, Kind::kRename, "rename") ? -1 : real(from, to);
}

// ---- threads --------------------------------------------------------------------------------

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
    static const auto real =
        behind<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    return with(EAGAIN, Kind::kThread, "pthread_create") ? EAGAIN
                                                         : real(thread, attributes, run, argument);
}

// ---- sockets --------------------------------------------------------------------------------

int socket(int domain, int type, int protocol) noexcept {
    static const auto real = behind<int(int, int, int)>("socket");
    return with(EMFILE, Kind::kSocket, "socket") ? -1 : real(domain, type, protocol);
}

int bind(int socket, const sockaddr* address, socklen_t size) noexcept {
    static const auto real = behind<int(int, const sockaddr*, socklen_t)>("bind");
    return with(ENOBUFS, Kind::kSocket, "bind") ? -1 : real(socket, address, size);
}

int listen(int socket, int waiting) noexcept {
    static const auto real = behind<int(int, int)>("listen");
    return with(ENOBUFS, Kind::kSocket, "listen") || with(ENOBUFS, Kind::kListen, "listen")
               ? -1
               : real(socket, waiting);
}

int connect(int socket, const sockaddr* address, socklen_t size) {
    static const auto real = behind<int(int, const sockaddr*, socklen_t)>("connect");
    return with(ENOBUFS, Kind::kSocket, "connect") ? -1 : real(socket, address, size);
}

int accept(int socket, sockaddr* address, socklen_t* size) {
    static const auto real = behind<int(int, sockaddr*, socklen_t*)>("accept");
    return with(EMFILE, Kind::kSocket, "accept") || interrupted("accept")
               ? -1
               : real(socket, address, size);
}

int accept4(int socket, sockaddr* address, socklen_t* size, int flags) {
    static const auto real = behind<int(int, sockaddr*, socklen_t*, int)>("accept4");
    return with(EMFILE, Kind::kSocket, "accept4") || interrupted("accept4")
               ? -1
               : real(socket, address, size, flags);
}

int setsockopt(int socket, int level, int name, const void* value, socklen_t size) noexcept {
    static const auto real = behind<int(int, int, int, const void*, socklen_t)>("setsockopt");
    return with(ENOBUFS, Kind::kSocket, "setsockopt") ? -1 : real(socket, level, name, value, size);
}

int getsockopt(int socket, int level, int name, void* value, socklen_t* size) noexcept {
    static const auto real = behind<int(int, int, int, void*, socklen_t*)>("getsockopt");
    return with(ENOBUFS, Kind::kSocket, "getsockopt") ? -1 : real(socket, level, name, value, size);
}

int getsockname(int socket, sockaddr* address, socklen_t* size) noexcept {
    static const auto real = behind<int(int, sockaddr*, socklen_t*)>("getsockname");
    return with(ENOBUFS, Kind::kSocket, "getsockname") ? -1 : real(socket, address, size);
}

ssize_t send(int socket, const void* from, std::size_t size, int flags) {
    static const auto real = behind<ssize_t(int, const void*, std::size_t, int)>("send");
    return with(ENOBUFS, Kind::kSend, "send") || interrupted("send")
               ? -1
               : real(socket, from, size, flags);
}

ssize_t sendto(int socket, const void* from, std::size_t size, int flags, const sockaddr* to,
               socklen_t to_size) {
    static const auto real =
        behind<ssize_t(int, const void*, std::size_t, int, const sockaddr*, socklen_t)>("sendto");
    return with(ENOBUFS, Kind::kSend, "sendto") ? -1 : real(socket, from, size, flags, to, to_size);
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
    static const auto real = behind<ssize_t(int, const msghdr*, int)>("sendmsg");
    return with(ENOBUFS, Kind::kSend, "sendmsg") || interrupted("sendmsg")
               ? -1
               : real(socket, message, flags);
}

ssize_t recv(int socket, void* to, std::size_t size, int flags) {
    static const auto real = behind<ssize_t(int, void*, std::size_t, int)>("recv");
    return with(ENOMEM, Kind::kReceive, "recv") || interrupted("recv")
               ? -1
               : real(socket, to, size, flags);
}

ssize_t recvfrom(int socket, void* to, std::size_t size, int flags, sockaddr* from,
                 socklen_t* from_size) {
    static const auto real =
        behind<ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*)>("recvfrom");
    return with(ENOMEM, Kind::kReceive, "recvfrom") || interrupted("recvfrom")
               ? -1
               : real(socket, to, size, flags, from, from_size);
}

ssize_t recvmsg(int socket, msghdr* message, int flags) {
    static const auto real = behind<ssize_t(int, msghdr*, int)>("recvmsg");
    return with(ENOMEM, Kind::kReceive, "recvmsg") || interrupted("recvmsg")
               ? -1
               : real(socket, message, flags);
}

// ---- waiting --------------------------------------------------------------------------------

int poll(pollfd* files, nfds_t number, int milliseconds) {
    static const auto real = behind<int(pollfd*, nfds_t, int)>("poll");
    return interrupted("poll") ? -1 : real(files, number, milliseconds);
}

int select(int number, fd_set* readable, fd_set* writable, fd_set* odd, timeval* longest) {
    static const auto real = behind<int(int, fd_set*, fd_set*, fd_set*, timeval*)>("select");
    return interrupted("select") ? -1 : real(number, readable, writable, odd, longest);
}

int epoll_wait(int set, epoll_event* events, int most, int milliseconds) {
    static const auto real = behind<int(int, epoll_event*, int, int)>("epoll_wait");
    return interrupted("epoll_wait") ? -1 : real(set, events, most, milliseconds);
}

int epoll_create(int size) noexcept {
    static const auto real = behind<int(int)>("epoll_create");
    return with(EMFILE, Kind::kWait, "epoll_create") ? -1 : real(size);
}

int epoll_create1(int flags) noexcept {
    static const auto real = behind<int(int)>("epoll_create1");
    return with(EMFILE, Kind::kWait, "epoll_create1") ? -1 : real(flags);
}

int epoll_ctl(int set, int operation, int file, epoll_event* event) noexcept {
    static const auto real = behind<int(int, int, int, epoll_event*)>("epoll_ctl");
    return with(ENOMEM, Kind::kWait, "epoll_ctl") ? -1 : real(set, operation, file, event);
}

int eventfd(unsigned value, int flags) noexcept {
    static const auto real = behind<int(unsigned, int)>("eventfd");
    return with(EMFILE, Kind::kWait, "eventfd") ? -1 : real(value, flags);
}

int timerfd_create(clockid_t clock, int flags) noexcept {
    static const auto real = behind<int(clockid_t, int)>("timerfd_create");
    return with(EMFILE, Kind::kWait, "timerfd_create") ? -1 : real(clock, flags);
}

int timerfd_settime(int timer, int flags, const itimerspec* at, itimerspec* before) noexcept {
    static const auto real =
        behind<int(int, int, const itimerspec*, itimerspec*)>("timerfd_settime");
    return with(EINVAL, Kind::kWait, "timerfd_settime") ? -1 : real(timer, flags, at, before);
}

// UBSan tests by pipe() whether memory is readable, and would report a failure as unreadable.
#ifndef UNECHO_SANITIZED
int pipe(int ends[2]) noexcept {
    static const auto real = behind<int(int*)>("pipe");
    return with(EMFILE, Kind::kWait, "pipe") ? -1 : real(ends);
}
#endif

// ---- the rest -------------------------------------------------------------------------------

int ioctl(int file, unsigned long what, ...) noexcept {
    static const auto real = behind<int(int, unsigned long, ...)>("ioctl");
    va_list rest;
    va_start(rest, what);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    return with(EIO, Kind::kControl, "ioctl") ? -1 : real(file, what, argument);
}

int fcntl(int file, int what, ...) {
    static const auto real = behind<int(int, int, ...)>("fcntl");
    va_list rest;
    va_start(rest, what);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    return with(EMFILE, Kind::kControl, "fcntl") ? -1 : real(file, what, argument);
}

int fcntl64(int file, int what, ...) {
    static const auto real = behind<int(int, int, ...)>("fcntl64");
    va_list rest;
    va_start(rest, what);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    return with(EMFILE, Kind::kControl, "fcntl64") ? -1 : real(file, what, argument);
}

int flock(int file, int what) noexcept {
    static const auto real = behind<int(int, int)>("flock");
    return with(ENOLCK, Kind::kControl, "flock") ? -1 : real(file, what);
}

int pthread_setaffinity_np(pthread_t thread, std::size_t size, const cpu_set_t* set) noexcept {
    static const auto real =
        behind<int(pthread_t, std::size_t, const cpu_set_t*)>("pthread_setaffinity_np");
    return with(EINVAL, Kind::kControl, "pthread_setaffinity_np") ? EINVAL
                                                                  : real(thread, size, set);
}

}  // extern "C"
