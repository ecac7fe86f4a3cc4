// SPDX-License-Identifier: BSD-3-Clause
#include "hash/secret.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace unecho::hash {

static_assert(sizeof(Secret::bytes) == XXH_SECRET_DEFAULT_SIZE);

Result<Secret> random_secret() {
    Secret secret{};
    std::size_t have = 0;
    while (have < secret.bytes.size()) {
        const ssize_t got = getrandom(secret.bytes.data() + have, secret.bytes.size() - have, 0);
        if (got > 0) {
            have += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
            return fail(Errc::kIo, std::string("no random bytes for the hash secret: getrandom: ") +
                                       std::strerror(errno));
        }
    }
    return secret;
}

// XXH3's own derivation: byte order independent, and unchanged since XXH3 was declared stable.
Secret secret_from_seed(std::uint64_t seed) noexcept {
    Secret secret{};
    XXH3_generateSecret_fromSeed(secret.bytes.data(), seed);
    return secret;
}

}  // namespace unecho::hash
