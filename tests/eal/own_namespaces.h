// SPDX-License-Identifier: BSD-3-Clause
// All test programs that run at one time share the machine's names, such as interfaces and paths in
// /run. A thread can have its own network and its own /run.
#pragma once

#include <thread>
#include <utility>

#include <sched.h>
#include <sys/mount.h>

namespace unecho::test {

inline constexpr const char* kNoNamespaces = "may not make namespaces";

// Call `body` on a thread that has its own network, in which lo is down, and its own empty /run.
// Return false without the call if the process may not make namespaces.
template <typename Body>
[[nodiscard]] bool in_own_namespaces(Body&& body) {
    bool isolated = false;
    std::thread([&] {
        isolated = unshare(CLONE_NEWNS | CLONE_NEWNET) == 0 &&
                   mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   mount("none", "/run", "tmpfs", 0, nullptr) == 0;
        if (isolated) {
            std::forward<Body>(body)();
        }
    }).join();
    return isolated;
}

}  // namespace unecho::test
