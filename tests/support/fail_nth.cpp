// SPDX-License-Identifier: BSD-3-Clause
// To be preloaded: of all allocations of the process, whoever asks, the one with the number
// FAIL_NTH fails, as where no memory is left. How many there were is in the file FAIL_COUNT
// afterwards.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

// What glibc's own allocator is called beside malloc.
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t number, std::size_t size);
extern "C" void* __libc_realloc(void* memory, std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);

namespace {

std::atomic<long> asked{0};
long failing = 0;  // none before the first line of this library has run

bool fails() {
    if (++asked != failing) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

[[gnu::constructor]] void begin() {
    const char* const number = std::getenv("FAIL_NTH");
    asked = 0;
    failing = number == nullptr ? 0 : std::atol(number);
}

[[gnu::destructor]] void end() {
    const long all = asked;
    failing = 0;
    if (const char* const path = std::getenv("FAIL_COUNT")) {
        if (std::FILE* const file = std::fopen(path, "w")) {
            std::fprintf(file, "%ld\n", all);
            std::fclose(file);
        }
    }
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
    return fails() ? nullptr : __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
    return fails() ? nullptr : __libc_calloc(number, size);
}

void* realloc(void* memory, std::size_t size) {
    return fails() ? nullptr : __libc_realloc(memory, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return fails() ? nullptr : __libc_memalign(alignment, size);
}

}  // extern "C"
