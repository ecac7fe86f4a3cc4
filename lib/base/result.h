// SPDX-License-Identifier: BSD-3-Clause
// Module base: everything that all other modules use. It knows none of them.
//
// Errors are values: a cold function that can fail returns Result<T>, or Status without a value. An
// Error (error.h) is a code and one line for people: what failed, where, and what is allowed. Hot
// code has no errors, only counted reasons (dedup/pipeline/reasons.h).
//
// The module may use the C++ library, the system and tl/expected.hpp. It may not include another
// module or write to standard output.
//
// Next: ids.h (limits and index types), units.h (durations, rates, sizes), counters.h (blocks of
// counters that describe themselves), packet_clock.h (filter time from packet timestamps).
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "base/error.h"

namespace unecho {

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string context) {
    return tl::unexpected<Error>(Error{code, std::move(context)});
}

}  // namespace unecho

// Return the error of a Result or Status, if it has one, from the enclosing function, which returns
// a Result, too.
#define UNECHO_TRY(result)                                                                     \
    do {                                                                                       \
        if (auto&& unecho_tried = (result); !unecho_tried) {                                   \
            return tl::unexpected(std::forward<decltype(unecho_tried)>(unecho_tried).error()); \
        }                                                                                      \
    } while (false)
