// SPDX-License-Identifier: BSD-3-Clause
// To be preloaded: of all calls of a kind that the process makes, whoever makes them, the one with
// a number fails, as it may at any time. FAIL_KIND is the kind, FAIL_NTH the number; how many there
// were is in the file FAIL_COUNT afterwards.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

// What glibc's own allocator is called beside malloc.
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t number, std::size_t size);
extern "C" void* __libc_realloc(void* memory, std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);

namespace {

enum class Kind { kNone, kAllocate, kOpen, kRead, kWrite, kClose, kRename, kMap, kThread };

struct Named {
    const char* name;
    Kind kind;
    int error;
};
constexpr Named kKinds[] = {
    {"allocate", Kind::kAllocate, ENOMEM},
    {"open", Kind::kOpen, EMFILE},
    {"read", Kind::kRead, EIO},
    {"write", Kind::kWrite, EIO},
    {"close", Kind::kClose, EIO},
    {"rename", Kind::kRename, EIO},
    {"map", Kind::kMap, ENOMEM},
    {"thread", Kind::kThread, EAGAIN},
};

std::atomic<long> asked{0};
Kind kind = Kind::kNone;  // before the first line of this library has run
int error = 0;
long failing = 0;

bool fails(Kind of) {
    if (of != kind || ++asked != failing) {
        return false;
    }
    errno = error;
    return true;
}

[[gnu::constructor]] void begin() {
    const char* const number = std::getenv("FAIL_NTH");
    const char* const name = std::getenv("FAIL_KIND");
    failing = number == nullptr ? 0 : std::atol(number);
    for (const Named& one : kKinds) {
        if (name != nullptr && std::strcmp(one.name, name) == 0) {
            error = one.error;
            kind = one.kind;
        }
    }
}

[[gnu::destructor]] void end() {
    const long all = asked;
    kind = Kind::kNone;
    if (const char* const path = std::getenv("FAIL_COUNT")) {
        if (std::FILE* const file = std::fopen(path, "w")) {
            std::fprintf(file, "%ld\n", all);
            std::fclose(file);
        }
    }
}

// What is called so in the library behind this one.
template <typename Function>
Function* behind(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
    return fails(Kind::kAllocate) ? nullptr : __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
    return fails(Kind::kAllocate) ? nullptr : __libc_calloc(number, size);
}

void* realloc(void* memory, std::size_t size) {
    return fails(Kind::kAllocate) ? nullptr : __libc_realloc(memory, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return fails(Kind::kAllocate) ? nullptr : __libc_memalign(alignment, size);
}

int open(const char* path, int flags, ...) {
    static const auto real = behind<int(const char*, int, ...)>("open");
    va_list rest;
    va_start(rest, flags);
    const auto mode = va_arg(rest, mode_t);  // used where flags say so
    va_end(rest);
    return fails(Kind::kOpen) ? -1 : real(path, flags, mode);
}

int mkostemp(char* path, int flags) {
    static const auto real = behind<int(char*, int)>("mkostemp");
    return fails(Kind::kOpen) ? -1 : real(path, flags);
}

std::FILE* fopen(const char* path, const char* mode) {
    static const auto real = behind<std::FILE*(const char*, const char*)>("fopen");
    return fails(Kind::kOpen) ? nullptr : real(path, mode);
}

ssize_t read(int file, void* to, std::size_t size) {
    static const auto real = behind<ssize_t(int, void*, std::size_t)>("read");
    return fails(Kind::kRead) ? -1 : real(file, to, size);
}

// Not to standard error, where the test reads why.
ssize_t write(int file, const void* from, std::size_t size) {
    static const auto real = behind<ssize_t(int, const void*, std::size_t)>("write");
    return file != STDERR_FILENO && fails(Kind::kWrite) ? -1 : real(file, from, size);
}

ssize_t writev(int file, const iovec* parts, int number) {
    static const auto real = behind<ssize_t(int, const iovec*, int)>("writev");
    return fails(Kind::kWrite) ? -1 : real(file, parts, number);
}

// It is closed all the same.
int close(int file) {
    static const auto real = behind<int(int)>("close");
    if (fails(Kind::kClose)) {
        real(file);
        errno = error;
        return -1;
    }
    return real(file);
}

int rename(const char* from, const char* to) noexcept {
    static const auto real = behind<int(const char*, const char*)>("rename");
    return fails(Kind::kRename) ? -1 : real(from, to);
}

void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
    static const auto real = behind<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
    return fails(Kind::kMap) ? MAP_FAILED : real(at, size, protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
    static const auto real =
        behind<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    return fails(Kind::kThread) ? EAGAIN : real(thread, attributes, run, argument);
}

}  // extern "C"
