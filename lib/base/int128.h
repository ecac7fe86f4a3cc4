// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace unecho {

__extension__ using uint128 = unsigned __int128;

}  // namespace unecho
