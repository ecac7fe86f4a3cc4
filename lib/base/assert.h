// SPDX-License-Identifier: BSD-3-Clause
// UNECHO_ASSERT states an invariant: active in debug builds only. Never assert input: parse it.
#pragma once

#include <cassert>

#define UNECHO_ASSERT(condition) assert(condition)
