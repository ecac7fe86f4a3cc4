// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/layout.h"
#include "base/os/private_file.h"

namespace unecho::shared_flows {
namespace {

constexpr std::size_t kDigits = 64;

int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

}  // namespace

Result<hash::ChachaKey> read_secret(const std::string& path) {
    const Result<std::string> text = read_private_line(path);
    UNECHO_TRY(text);
    hash::ChachaKey key{};
    bool digits = text->size() == kDigits;
    for (std::size_t i = 0; digits && i < kDigits; ++i) {
        const int digit = digit_of((*text)[i]);
        digits = digit >= 0;
        key[i / 8] = key[i / 8] << 4 | static_cast<std::uint32_t>(digit & 15);
    }
    if (!digits) {
        return fail(Errc::kConfig, path +
                                       ": is no secret; needed: 64 hexadecimal digits, as of "
                                       "openssl rand -hex 32");
    }
    return key;
}

Result<std::string> read_password(const std::string& path) {
    Result<std::string> text = read_private_line(path);
    if (text && text->empty()) {
        return fail(Errc::kConfig, path + ": its first line is empty; needed: a password");
    }
    return text;
}

}  // namespace unecho::shared_flows
