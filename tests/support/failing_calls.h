// SPDX-License-Identifier: BSD-3-Clause
// Shared by the preloaded libraries that make calls fail.
//
// They map the file that FAIL_CONTROL names. Tests write there, before or during a run, which calls
// fail, and read how many calls there were. The first eight bytes are the kind. Then follow: the
// number of the first call to fail (0: none), how many fail from there on, how many calls of the
// kind were made since, whether calls of the main thread are exempt, and the name of the last
// failed call.
#pragma once

#include <atomic>
#include <cstdint>

#include <dlfcn.h>

namespace failing {

// In the order of KINDS in tests/e2e/failing.py.
enum class Kind : std::int64_t {
    kNone,
    kAllocate,
    kOpen,
    kRead,
    kWrite,
    kClose,
    kRename,
    kMap,
    kThread,
    kSocket,
    kSend,
    kReceive,
    kWait,
    kControl,
    kInterrupt,  // calls that a signal may interrupt
    kDpdk,
    kMbuf,
    kFull,    // disk full: the first failing write has room for half, later ones for nothing
    kListen,  // apart from kSocket, because threads decide which of those is the n-th
};

struct Control {
    std::atomic<std::int64_t> kind{0};
    std::atomic<std::int64_t> from{0};
    std::atomic<std::int64_t> many{1};
    std::atomic<std::int64_t> asked{0};
    std::atomic<std::int64_t> others{0};
    char name[64] = {};
};

// Count a call; return true, and keep its name, if it shall fail.
bool fails(Kind of, const char* name) noexcept;

// Return the function of this name in the next library (dlsym with RTLD_NEXT).
template <typename Function>
Function* behind(const char* name) noexcept {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace failing
