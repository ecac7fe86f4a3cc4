// SPDX-License-Identifier: BSD-3-Clause
// UNECHO_ASSERT states an invariant: active in debug builds, absent in release ones. Input is never
// asserted, it is parsed.
#pragma once

#include <cassert>

#define UNECHO_ASSERT(condition) assert(condition)
