// SPDX-License-Identifier: BSD-3-Clause
// Runs a function in a child process, for functions that would change or end the test's own.
#pragma once

#include <string>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace unecho::capture {

struct ChildEnd {
    std::string text;  // returned by the function
    int status = 0;    // from waitpid()
};

template <typename Function>
ChildEnd in_child(const Function& function) {
    int ends[2];
    if (::pipe(ends) != 0) {
        return {"no pipe", -1};
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        const std::string text = function();
        const bool told = ::write(ends[1], text.data(), text.size()) >= 0;
        ::_exit(told ? 0 : 1);
    }
    ::close(ends[1]);
    ChildEnd out;
    char part[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof(part))) > 0;) {
        out.text.append(part, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    ::waitpid(child, &out.status, 0);
    return out;
}

}  // namespace unecho::capture
