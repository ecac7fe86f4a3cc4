// SPDX-License-Identifier: BSD-3-Clause
// Where the repository is, for tests that read its files. A function of an object of its own, not a
// macro: the objects of tests are then the same in every checkout, and a compiler cache serves all.
#pragma once

#include <string>

namespace unecho::test {

// Without a slash at the end.
const std::string& source_root();

}  // namespace unecho::test
