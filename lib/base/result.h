// SPDX-License-Identifier: BSD-3-Clause
// Errors are values: a function that can fail returns Result<T> or Status.
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
