// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/errno_code.h"

#include <cerrno>

namespace unecho {

Errc errc_from_errno(int number) noexcept {
    switch (number) {
        case ENOENT:
        case ENOTDIR:
        case ENODEV:
            return Errc::kNotFound;
        case EACCES:
        case EPERM:
        case EROFS:
            return Errc::kPermission;
        case EISDIR:
        case ENAMETOOLONG:
            return Errc::kInvalidArgument;
        case EBUSY:
        case EEXIST:
        case EADDRINUSE:
            return Errc::kBusy;
        case ENOMEM:
            return Errc::kNoMemory;
        default:
            return Errc::kIo;
    }
}

}  // namespace unecho
