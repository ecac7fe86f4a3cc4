// SPDX-License-Identifier: BSD-3-Clause
// The path of the repository, for tests that read its files. It is a function in an object of its
// own, not a macro, so objects of tests are equal in every checkout and a compiler cache serves
// all.
#pragma once

#include <string>

namespace unecho::test {

// Without a slash at the end.
const std::string& source_root();

}  // namespace unecho::test
