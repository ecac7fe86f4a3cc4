// SPDX-License-Identifier: BSD-3-Clause
// What nearly every test includes, compiled once for each of their programs; each file includes what
// it uses all the same.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
