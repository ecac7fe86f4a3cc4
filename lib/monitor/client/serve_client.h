// SPDX-License-Identifier: BSD-3-Clause
// Asks a running `unecho serve` for a change.
#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"
#include "monitor/server/listening_socket.h"

namespace unecho::monitor {

// Make the server at this address forget an appliance. Return its answer. Errc::kNotFound: nobody
// listens there. Errc::kBusy: the server refuses, and says why. Errc::kIo: it does not
// answer within `patience`, or is no unecho serve.
Result<std::string> forget_appliance(const ListenAddress& address, const std::string& name,
                                     Nanoseconds patience = 10 * kSecond);

}  // namespace unecho::monitor
