// SPDX-License-Identifier: BSD-3-Clause
// What went wrong, where, and what is allowed. Cold code only: hot code has no errors, only
// counted reasons. Next: result.h.
#pragma once

#include <string>
#include <utility>

namespace unecho {

enum class Errc {
    kInvalidArgument,  // a value outside what is allowed
    kConfig,           // the configuration file; exit status 2
    kNotFound,         // a file, device or driver that is not there
    kBusy,             // a device or address that somebody else holds
    kPermission,       // the process may not do this
    kNoMemory,         // hugepages or memory are short
    kIo,               // reading or writing failed
    kUnsupported,      // the device or machine cannot do this
};

// context is one line: what, where and, where there is one, the remedy.
struct Error {
    Errc code;
    std::string context;
};

}  // namespace unecho
