// SPDX-License-Identifier: BSD-3-Clause
// Checks that throw an error of one line.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace unecho::test {

[[noreturn]] inline void wrong(const std::string& what) {
    throw std::runtime_error(what);
}

inline void require(bool holds, const char* what) {
    if (!holds) [[unlikely]] {
        wrong(what);
    }
}

// `what` is anything that a string can be made of; the string is made only on failure.
template <typename What>
void require_equal(std::uint64_t found, std::uint64_t expected, const What& what) {
    if (found != expected) [[unlikely]] {
        wrong(std::string(what) + ": " + std::to_string(found) + " instead of " +
              std::to_string(expected));
    }
}

}  // namespace unecho::test
