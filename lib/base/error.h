// SPDX-License-Identifier: BSD-3-Clause
// What went wrong, where, and what is allowed. Cold code only: hot code has no errors, only
// counted reasons. Codes are for readers and tests, but for (*), which the program asks for.
#pragma once

#include <string>
#include <utility>

namespace unecho {

enum class Errc {
    kInvalidArgument,  // a value outside what is allowed
    kConfig,           // (*) what was asked for, in a file or an option, cannot be: exit status 2
    kNotFound,         // a file, device or driver that is not there
    kBusy,             // a device or address that somebody else holds
    kPermission,       // the process may not do this
    kNoMemory,         // hugepages or memory are short
    kIo,               // reading or writing failed
    kUnsupported,      // (*) the device or machine cannot do this
};

// context: what, where, the remedy. One line; of a configuration one a problem. No end behind it.
struct Error {
    Errc code;
    std::string context;
};

}  // namespace unecho
