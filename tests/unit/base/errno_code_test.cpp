// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/errno_code.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace unecho {
namespace {

TEST(ErrnoCode, each_kind_of_error_has_its_numbers) {
    for (const int number : {ENOENT, ENOTDIR, ENODEV}) {
        EXPECT_EQ(errc_from_errno(number), Errc::kNotFound) << number;
    }
    for (const int number : {EACCES, EPERM, EROFS}) {
        EXPECT_EQ(errc_from_errno(number), Errc::kPermission) << number;
    }
    for (const int number : {EISDIR, ENAMETOOLONG}) {
        EXPECT_EQ(errc_from_errno(number), Errc::kInvalidArgument) << number;
    }
    for (const int number : {EBUSY, EEXIST, EADDRINUSE}) {
        EXPECT_EQ(errc_from_errno(number), Errc::kBusy) << number;
    }
    EXPECT_EQ(errc_from_errno(ENOMEM), Errc::kNoMemory);
}

TEST(ErrnoCode, others_are_of_reading_or_writing) {
    for (const int number : {0, EIO, ENOSPC, EPIPE, EINVAL, -1}) {
        EXPECT_EQ(errc_from_errno(number), Errc::kIo) << number;
    }
}

}  // namespace
}  // namespace unecho
