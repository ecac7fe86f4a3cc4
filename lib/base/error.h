// SPDX-License-Identifier: BSD-3-Clause
// Error: what went wrong, where, and what is allowed. Cold code only; hot code has counted reasons
// instead. The program branches on the codes marked (*); all others are for readers and tests.
#pragma once

#include <string>
#include <utility>

namespace unecho {

enum class Errc {
    kInvalidArgument,  // a value outside what is allowed
    kConfig,           // (*) a file or option requests something impossible: exit status 2
    kNotFound,         // a file, device or driver does not exist
    kBusy,             // another process or user holds the device or address
    kPermission,       // the process lacks the permission
    kNoMemory,         // not enough hugepages or memory
    kIo,               // reading or writing failed
    kUnsupported,      // (*) the device or machine cannot do this
};

// context: what failed, where, and the remedy. One line, without a full stop or line end;
// configuration errors have one line for each problem.
struct Error {
    Errc code;
    std::string context;
};

}  // namespace unecho
