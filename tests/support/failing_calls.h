// SPDX-License-Identifier: BSD-3-Clause
// What libraries that are preloaded to make calls fail have in common.
//
// The file that FAIL_CONTROL names is mapped: what fails is written there, before the process
// begins or while it runs, and how many calls there were is read there. The first eight bytes are
// the kind, then the number of the call from which on so many fail (0: none), how many these are,
// how many calls of the kind were made since, whether those of the first thread count not, and the
// name of the last that was made to fail.
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
    kInterrupt,  // what a signal may interrupt
    kDpdk,
    kMbuf,
    kFull,    // a disk: the first that fails has room for half, the others for nothing
    kListen,  // of kSocket, by itself: threads decide which of those is the n-th
};

struct Control {
    std::atomic<std::int64_t> kind{0};
    std::atomic<std::int64_t> from{0};
    std::atomic<std::int64_t> many{1};
    std::atomic<std::int64_t> asked{0};
    std::atomic<std::int64_t> others{0};
    char name[64] = {};
};

// Whether this call fails; its name is kept.
bool fails(Kind of, const char* name) noexcept;

// What is called so in the library behind this one.
template <typename Function>
Function* behind(const char* name) noexcept {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace failing
