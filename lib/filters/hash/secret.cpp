// SPDX-License-Identifier: BSD-3-Clause
#include "filters/hash/secret.h"

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

#include <sys/random.h>

namespace unecho::hash {

static_assert(std::is_trivially_copyable_v<Secret> && sizeof(Secret) % sizeof(ChachaBlock) == 0);
static_assert(sizeof(Secret) == sizeof(std::uint64_t) * (8 + 136 + 128), "words without gaps");
static_assert(std::endian::native == std::endian::little, "words are filled as they lie in memory");

Result<Secret> random_secret() {
    Secret secret{};
    auto* const bytes = reinterpret_cast<std::uint8_t*>(&secret);
    std::size_t have = 0;
    while (have < sizeof secret) {
        const ssize_t got = getrandom(bytes + have, sizeof secret - have, 0);
        if (got > 0) {
            have += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
            return fail(Errc::kIo, std::string("no random bytes for the hash secret: getrandom: ") +
                                       std::strerror(errno));
        }
    }
    return secret;
}

Secret secret_from_seed(std::uint64_t seed) noexcept {
    return secret_from_key(
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, {});
}

Secret secret_from_key(const ChachaKey& key, const ChachaNonce& nonce) noexcept {
    Secret secret{};
    auto* const bytes = reinterpret_cast<std::uint8_t*>(&secret);
    for (std::uint32_t i = 0; i < sizeof secret / sizeof(ChachaBlock); ++i) {
        const ChachaBlock block = chacha20_block(key, i, nonce);
        std::memcpy(bytes + i * sizeof block, block.data(), sizeof block);
    }
    return secret;
}

}  // namespace unecho::hash
