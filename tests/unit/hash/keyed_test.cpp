// SPDX-License-Identifier: BSD-3-Clause
#include "filters/hash/keyed.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filters/hash/kernels/body_sum.h"
#include "support/source_root.h"
#include "support/vectors.h"

namespace unecho::hash {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kHead = 0x0123'4567'89AB'CDEF;

Bytes counting(std::size_t n) {
    Bytes out(n);
    for (std::size_t i = 0; i < n; ++i) {
        out[i] = static_cast<std::uint8_t>((i + 1) % 251);
    }
    return out;
}

// Every length up to 300 (the algorithm changes at 16 and 128), then around larger units.
std::vector<std::size_t> lengths() {
    std::vector<std::size_t> out;
    for (std::size_t n = 0; n <= 300; ++n) {
        out.push_back(n);
    }
    for (const std::size_t n : {511, 512, 513, 1023, 1024, 1025, 1500, 2048, 2049, 9000}) {
        out.push_back(n);
    }
    return out;
}

std::vector<std::size_t> lengths_of_groups() {
    return {kGroupBytes - 1,  kGroupBytes,     kGroupBytes + 1,
            kGroupBytes + 65, 2 * kGroupBytes, 2 * kGroupBytes + 1};
}

// Vectors by independent code, tests/support/digest_reference.py. Digests must be the same on every
// machine, with every compiler, in every release: reproducible runs depend on it.
TEST(KeyedDigest, known_input_known_digest) {
    const auto rows = test::read_vectors(test::source_root() + "/tests/vectors/digests.csv");
    ASSERT_EQ(rows.size(), 376U);
    for (const test::Row& row : rows) {
        const auto number = [&](const char* name, int base = 10) {
            return std::stoull(row.text(name), nullptr, base);
        };
        const Secret secret = secret_from_seed(number("seed"));
        const Bytes body = counting(number("length"));
        const Digest digest =
            row.text("second") == "none"
                ? keyed_digest(number("head"), body.data(), body.size(), secret)
                : keyed_digest(number("head"), number("second"), body.data(), body.size(), secret);
        EXPECT_EQ(digest, number("digest", 16))
            << row.text("seed") << " " << row.text("head") << " " << row.text("second") << " "
            << row.text("length");
    }
}

TEST(KeyedDigest, no_head_is_a_head_of_0) {
    const Secret secret = secret_from_seed(10);
    for (const std::size_t n : lengths()) {
        const Bytes bytes = counting(n);
        ASSERT_EQ(keyed_digest(bytes.data(), n, secret), keyed_digest(0, bytes.data(), n, secret));
    }
}

// Each length to four blocks and more, at every offset in a cache line. The body ends with its
// buffer, so that a sanitizer sees reads beyond it.
TEST(BodySum, every_kernel_equals_scalar) {
    const Secret secret = secret_from_seed(11);
    std::mt19937_64 random(11);
    std::vector<std::size_t> sizes = {8980, 8999, 9000, 9001, 9216, kGroupBytes - 1, kGroupBytes};
    for (std::size_t n = kStripeBytes; n <= 4 * kBlockBytes + 2 * kStripeBytes; ++n) {
        sizes.push_back(n);
    }
    for (const std::size_t n : sizes) {
        const std::size_t before = random() % kStripeBytes;
        Bytes bytes(before + n);
        std::generate(bytes.begin(), bytes.end(),
                      [&] { return static_cast<std::uint8_t>(random()); });
        const std::uint8_t* const body = bytes.data() + before;
        for (const BodySumKernel& kernel : kBodySumKernels) {
            ASSERT_TRUE(kernel.sum(body, n, secret) == body_sum_scalar(body, n, secret))
                << kernel.name << " " << n;
        }
    }
}

// Words of all ones and keys of 0 cause carries that random words seldom have.
TEST(BodySum, every_kernel_equals_scalar_at_the_ends_of_the_range) {
    Secret secret{};
    constexpr std::array<std::uint64_t, 5> kWords{0, ~std::uint64_t{0}, std::uint64_t{1} << 63,
                                                  0x8000'0000'8000'0000, 0x0000'0001'0000'0001};
    for (const std::uint64_t word : kWords) {
        secret.body.fill(word);
        secret.blocks.fill(word);
        for (const std::uint8_t byte : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
            const Bytes bytes(2 * kBlockBytes + 100, byte);
            for (const BodySumKernel& kernel : kBodySumKernels) {
                ASSERT_TRUE(kernel.sum(bytes.data(), bytes.size(), secret) ==
                            body_sum_scalar(bytes.data(), bytes.size(), secret))
                    << kernel.name;
            }
        }
    }
}

// Each bit of it counts, at lengths of each algorithm. A head of 0 differs from no head.
TEST(KeyedDigest, second_head_counts) {
    const Secret secret = secret_from_seed(13);
    for (const std::size_t n : {0, 15, 100, 300, 9000}) {
        const Bytes body = counting(n);
        const auto digest = [&](std::uint64_t second) {
            return keyed_digest(kHead, second, body.data(), n, secret);
        };
        EXPECT_NE(digest(0), keyed_digest(kHead, body.data(), n, secret));
        for (unsigned bit = 0; bit < 64; ++bit) {
            EXPECT_NE(digest(std::uint64_t{1} << bit), digest(0)) << n << " bit " << bit;
        }
        for (std::size_t word = 0; word < 2; ++word) {
            Secret other = secret;
            other.second[word] ^= 1;
            EXPECT_NE(keyed_digest(kHead, kHead, body.data(), n, other), digest(kHead)) << word;
        }
    }
}

// An unused word of the secret would weaken the proof. A word that some lengths leave out is tested
// at the lengths that use it.
TEST(KeyedDigest, every_word_of_the_secret_counts) {
    const Secret secret = secret_from_seed(12);
    const auto counts_at = [&](std::size_t n) {
        const Bytes body = counting(n);
        std::vector<bool> out;
        for (std::size_t word = 0; word < sizeof secret / 8; ++word) {
            Secret other = secret;
            reinterpret_cast<std::uint64_t*>(&other)[word] ^= 0x0100'0000'0100'0000;
            out.push_back(keyed_digest(kHead, body.data(), n, other) !=
                          keyed_digest(kHead, body.data(), n, secret));
        }
        return out;
    };
    const auto expect = [&](std::size_t n, const auto& counts) {
        const std::vector<bool> seen = counts_at(n);
        for (std::size_t word = 0; word < seen.size(); ++word) {
            EXPECT_EQ(seen[word], counts(word)) << n << " word " << word;
        }
    };
    expect(16, [](std::size_t word) { return word < 4 || word == 8 || word == 9; });
    expect(128, [](std::size_t word) { return word < 4 || (word >= 8 && word < 24); });
    expect(1024, [](std::size_t word) { return word < 4 || (word >= 8 && word < 146); });
    expect(kGroupBytes, [](std::size_t word) { return word < 4 || word >= 8; });
    expect(kGroupBytes + 1, [](std::size_t word) { return word < 6 || word >= 8; });
}

TEST(KeyedDigest, null_and_empty_are_the_same) {
    const Secret secret = secret_from_seed(1);
    const std::uint8_t byte = 0;
    EXPECT_EQ(keyed_digest(nullptr, 0, secret), keyed_digest(&byte, 0, secret));
    EXPECT_EQ(keyed_digest(kHead, nullptr, 0, secret), keyed_digest(kHead, &byte, 0, secret));
}

// If the hash ignored its secret at some length, anyone could compute it for that length.
TEST(KeyedDigest, secret_counts_at_every_length) {
    const Secret a = secret_from_seed(1);
    const Secret b = secret_from_seed(2);
    for (const std::size_t n : lengths()) {
        const Bytes bytes = counting(n);
        EXPECT_NE(keyed_digest(bytes.data(), n, a), keyed_digest(bytes.data(), n, b)) << n;
        EXPECT_NE(keyed_digest(kHead, bytes.data(), n, a), keyed_digest(kHead, bytes.data(), n, b))
            << n;
    }
}

TEST(KeyedDigest, every_byte_counts_at_every_length) {
    const Secret secret = secret_from_seed(3);
    for (const std::size_t n : lengths()) {
        Bytes bytes = counting(n);
        const Digest whole = keyed_digest(bytes.data(), n, secret);
        const Digest headed = keyed_digest(kHead, bytes.data(), n, secret);
        for (std::size_t at = 0; at < n; ++at) {
            bytes[at] ^= 0x10;
            ASSERT_NE(keyed_digest(bytes.data(), n, secret), whole) << n << " at " << at;
            ASSERT_NE(keyed_digest(kHead, bytes.data(), n, secret), headed) << n << " at " << at;
            bytes[at] ^= 0x10;
        }
    }
}

// Tests the bytes that two stripes, blocks or groups share, and the others.
TEST(KeyedDigest, every_byte_counts_above_a_group) {
    const Secret secret = secret_from_seed(3);
    for (const std::size_t n : lengths_of_groups()) {
        Bytes bytes = counting(n);
        const Digest whole = keyed_digest(bytes.data(), n, secret);
        for (std::size_t at = 0; at < n; at += at + 130 < n && at > 130 ? 1021 : 1) {
            bytes[at] ^= 0x80;
            ASSERT_NE(keyed_digest(bytes.data(), n, secret), whole) << n << " at " << at;
            bytes[at] ^= 0x80;
        }
    }
}

TEST(KeyedDigest, place_in_memory_does_not_count) {
    const Secret secret = secret_from_seed(5);
    const Bytes bytes = counting(1500);
    const Digest expected = keyed_digest(bytes.data(), bytes.size(), secret);
    for (std::size_t shift = 0; shift < 64; ++shift) {
        Bytes moved(shift);
        moved.insert(moved.end(), bytes.begin(), bytes.end());
        EXPECT_EQ(keyed_digest(moved.data() + shift, bytes.size(), secret), expected) << shift;
    }
}

// Memory between two inaccessible pages.
class Fenced {
  public:
    explicit Fenced(std::size_t least)
        : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
          bytes_((least + page_ - 1) / page_ * page_),
          map_(mmap(nullptr, bytes_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        if (map_ == MAP_FAILED || mprotect(begin(), bytes_, PROT_READ | PROT_WRITE) != 0) {
            std::abort();
        }
    }
    ~Fenced() { munmap(map_, bytes_ + 2 * page_); }
    Fenced(const Fenced&) = delete;
    Fenced& operator=(const Fenced&) = delete;

    [[nodiscard]] std::uint8_t* begin() const { return static_cast<std::uint8_t*>(map_) + page_; }
    [[nodiscard]] std::uint8_t* end() const { return begin() + bytes_; }

  private:
    std::size_t page_;
    std::size_t bytes_;
    void* map_;
};

// A packet may be at either end of its memory: reading beside it crashes even without a sanitizer.
// Every length to two blocks and more, then around groups; with each kernel.
TEST(KeyedDigest, nothing_beside_the_body_is_read) {
    const Secret secret = secret_from_seed(13);
    const Fenced memory(2 * kGroupBytes + 1);
    std::vector<std::size_t> sizes = lengths_of_groups();
    for (std::size_t n = 0; n <= 2 * kBlockBytes + 2 * kStripeBytes; ++n) {
        sizes.push_back(n);
    }
    for (const std::size_t n : sizes) {
        const Bytes bytes = counting(n);
        const Digest expected = keyed_digest(kHead, bytes.data(), n, secret);
        for (std::uint8_t* const at : {memory.begin(), memory.end() - n}) {
            std::copy(bytes.begin(), bytes.end(), at);
            ASSERT_EQ(keyed_digest(kHead, at, n, secret), expected) << n;
            if (n >= kStripeBytes && n <= kGroupBytes) {
                const auto elsewhere = body_sum_scalar(bytes.data(), n, secret);
                for (const BodySumKernel& kernel : kBodySumKernels) {
                    ASSERT_TRUE(kernel.sum(at, n, secret) == elsewhere) << kernel.name << " " << n;
                }
            }
        }
    }
}

TEST(KeyedDigestWithHead, every_bit_of_the_head_counts) {
    const Secret secret = secret_from_seed(6);
    const Bytes body = counting(34);
    std::set<Digest> digests{keyed_digest(kHead, body.data(), body.size(), secret)};
    for (unsigned bit = 0; bit < 64; ++bit) {
        digests.insert(
            keyed_digest(kHead ^ std::uint64_t{1} << bit, body.data(), body.size(), secret));
    }
    EXPECT_EQ(digests.size(), 65U);
}

TEST(KeyedDigestOfWords, equals_the_digest_of_their_bytes) {
    const Secret secret = secret_from_seed(8);
    const std::array<std::uint64_t, 2> words{0x0807'0605'0403'0201, 0x100F'0E0D'0C0B'0A09};
    const Bytes bytes = counting(16);
    EXPECT_EQ(keyed_digest(words, secret), keyed_digest(bytes.data(), bytes.size(), secret));
}

}  // namespace
}  // namespace unecho::hash
