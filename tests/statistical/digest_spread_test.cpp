// SPDX-License-Identifier: BSD-3-Clause
// How digests of very similar keys spread over bins; sums of products alone would turn such keys
// into arithmetic progressions. Filters take lines from the high bits and slots from the low ones,
// and rely on bins filled as by chance, neither worse nor more evenly. The line filter's other rows
// and the buckets of exact are high bits of products (filters/kernels/line_body-inl.h,
// filters/window/exact.h). The rows first undo the digest's last step, so their factor multiplies
// the value before it.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/hash/keyed.h"
#include "support/bounds.h"
#include "support/seed.h"

namespace unecho::test::digest_spread_test {
namespace {

using hash::keyed_digest;
using hash::Secret;

constexpr std::uint64_t kBins = 1U << 10;
constexpr std::uint64_t kKeysABin = 16;
constexpr unsigned kSecrets = 12;

using Stream = std::function<Digest(std::uint64_t i, const Secret& secret)>;

void expect_as_by_chance(const std::string& name, const Stream& stream) {
    const Counts allowed = chi_square_bounds(static_cast<double>(kBins - 1));
    for (std::uint64_t s = 0; s < kSecrets; ++s) {
        const Secret secret = hash::secret_from_seed(seed() + s);
        std::array<std::vector<std::uint64_t>, 6> counts;
        counts.fill(std::vector<std::uint64_t>(kBins));
        for (std::uint64_t i = 0; i < kKeysABin * kBins; ++i) {
            const Digest digest = stream(i, secret);
            ++counts[0][digest >> 54];
            ++counts[1][digest >> 27 & (kBins - 1)];
            ++counts[2][digest & (kBins - 1)];
            ++counts[3][(digest ^ digest >> 32) * 0x9E3779B97F4A7C15 >> 54];
            ++counts[4][(digest ^ digest >> 32) * 0xD1B54A32D192ED03 >> 54];
            ++counts[5][digest * 0x9E3779B97F4A7C15 >> 54];
        }
        for (std::size_t bits = 0; bits < counts.size(); ++bits) {
            const double sum = chi_square(counts[bits]);
            const std::string what = name + ", secret " + std::to_string(s) + ", " +
                                     std::array{"high bits",  "middle bits", "low bits",
                                                "second row", "third row",   "bucket"}[bits];
            EXPECT_GT(sum, allowed.low) << what;
            EXPECT_LT(sum, allowed.high) << what;
        }
    }
}

// Return a stream of keys with a counter in one word of a body of n bytes.
Stream counting_at(std::size_t n, std::size_t at, unsigned shift) {
    return [n, at, shift](std::uint64_t i, const Secret& secret) {
        std::array<std::uint8_t, 2048> body{};
        const std::uint64_t word = i << shift;
        std::memcpy(body.data() + at, &word, sizeof word);
        return keyed_digest(1, body.data(), n, secret);
    };
}

TEST(digest_spread, keys_that_count) {
    SCOPED_TRACE(seed_note());
    for (const unsigned shift : {0U, 24U, 50U}) {
        const std::string at = " << " + std::to_string(shift);
        expect_as_by_chance("head" + at, [shift](std::uint64_t i, const Secret& secret) {
            const std::array<std::uint8_t, 34> body{};
            return keyed_digest(i << shift, body.data(), body.size(), secret);
        });
        expect_as_by_chance("flow" + at, [shift](std::uint64_t i, const Secret& secret) {
            return keyed_digest(std::array<std::uint64_t, 2>{0x0A00'0001, i << shift}, secret);
        });
        for (const auto& [n, word] : std::array<std::array<std::size_t, 2>, 5>{
                 {{16, 0}, {34, 8}, {100, 64}, {300, 64}, {1488, 1200}}}) {
            expect_as_by_chance("body of " + std::to_string(n) + at, counting_at(n, word, shift));
        }
    }
}

TEST(digest_spread, keys_that_differ_in_length) {
    SCOPED_TRACE(seed_note());
    expect_as_by_chance("length", [](std::uint64_t i, const Secret& secret) {
        const std::array<std::uint8_t, 512> body{};
        return keyed_digest(i / 512, body.data(), i % 512, secret);
    });
}

}  // namespace
}  // namespace unecho::test::digest_spread_test
