// SPDX-License-Identifier: BSD-3-Clause
// What nearly every test includes, compiled once for each of their programs; each file includes
// what it uses all the same. No #pragma once: this is compiled as a file of its own.
#ifndef UNECHO_TESTS_PCH
#define UNECHO_TESTS_PCH

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#endif
