// SPDX-License-Identifier: BSD-3-Clause
#include "watched_calls.h"

#include <cstddef>

#include <dlfcn.h>
#include <pthread.h>

#include "support/sanitizers.h"

#ifdef UNECHO_HAS_OWN_ALLOCATOR

const bool unecho::test::WatchedCalls::kCounts = false;

#else

const bool unecho::test::WatchedCalls::kCounts = true;

using unecho::test::WatchedCalls;

extern "C" {

// glibc's own names for its allocator.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void __libc_free(void* memory);

void* malloc(std::size_t size) {
    WatchedCalls::saw_allocation();
    return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
    WatchedCalls::saw_allocation();
    return __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) {
    WatchedCalls::saw_allocation();
    return __libc_realloc(memory, size);
}

void free(void* memory) {
    WatchedCalls::saw_allocation();
    __libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
    using Lock = int (*)(pthread_mutex_t*);
    static Lock lock = nullptr;  // no static-initialisation guard, which would lock
    if (lock == nullptr) {
        lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    }
    WatchedCalls::saw_lock();
    return lock(mutex);
}

}  // extern "C"

#endif
