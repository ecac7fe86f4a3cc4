// SPDX-License-Identifier: BSD-3-Clause
// The cost of a digest by the length of its body, with each kernel, beside XXH3 under a secret,
// which made digests formerly: docs/benchmarking.md. Rows alternate in short windows, so that the
// machine's state affects all alike. Prints medians in ns a digest.
//
//     digest_bench [WINDOWS]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/samples.h"
#include "filters/hash/kernels/body_sum.h"
#include "filters/hash/keyed.h"

namespace unecho::bench {
namespace {

constexpr std::array<std::size_t, 18> kBodies{20,  34,  48,  64,   100,  120,  128,  160,  256,
                                              384, 512, 768, 1024, 1488, 2048, 4096, 8980, 9000};
constexpr std::size_t kPackets = 64;  // consecutive in memory, as in a burst
constexpr std::size_t kWindowBytes = 128 * 1024;
constexpr std::size_t kIpOffset = 14;

using Xxh3Secret = std::array<std::uint64_t, 24>;

// The former digest by XXH3: one hash of head and body up to 120 bytes, two above. Here a
// short body follows a head in memory, which the parser had in a register.
Digest xxh3_digest(std::uint64_t head, const std::uint8_t* body, std::size_t n,
                   const Xxh3Secret& secret) {
    if (n <= 120) {
        return XXH3_64bits_withSecret(body - sizeof head, n + sizeof head, secret.data(),
                                      sizeof secret);
    }
    const std::array<std::uint64_t, 2> outer{
        XXH3_64bits_withSecret(body, n, secret.data(), sizeof secret), head};
    return XXH3_64bits_withSecret(outer.data(), sizeof outer, secret.data(), sizeof secret);
}

class Packets {
  public:
    explicit Packets(std::size_t n) : n_(n), stride_((n + kIpOffset + 127) / 64 * 64) {
        std::mt19937_64 random(n);
        bytes_.resize(kPackets * stride_);
        for (std::uint8_t& byte : bytes_) {
            byte = static_cast<std::uint8_t>(random());
        }
    }

    // Return the ns a digest in one window.
    template <typename Hash>
    [[gnu::noinline]] double time(Hash hash) const {
        const std::size_t count = std::max<std::size_t>(64, kWindowBytes / (n_ + 32));
        Digest all = 0;
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < count; ++i) {
            all ^= hash(i, bytes_.data() + i % kPackets * stride_ + kIpOffset, n_);
        }
        const auto end = std::chrono::steady_clock::now();
        asm volatile("" : : "r"(all));
        return std::chrono::duration<double, std::nano>(end - start).count() /
               static_cast<double>(count);
    }

  private:
    volatile std::size_t n_;  // hidden from the compiler
    std::size_t stride_;
    std::vector<std::uint8_t> bytes_;
};

// Like keyed_digest(), with a given kernel.
Digest digest_by(const hash::BodySumKernel& kernel, std::uint64_t head, const std::uint8_t* body,
                 std::size_t n, const hash::Secret& secret) {
    if (n <= hash::kMaxShort) {
        return hash::keyed_digest(head, body, n, secret);
    }
    return hash::detail::folded(
        hash::detail::pair(head, n, secret.ends.data()) + kernel.sum(body, n, secret), secret);
}

void print_row(std::size_t n, unsigned windows, const hash::Secret& secret,
               const Xxh3Secret& xxh3_secret) {
    const Packets packets(n);
    std::array<Samples, hash::kBodySumKernels.size()> ours;
    Samples xxh3;
    for (unsigned i = 0; i < windows; ++i) {
        for (std::size_t k = 0; k < ours.size(); ++k) {
            const hash::BodySumKernel& kernel = hash::kBodySumKernels[k];
            ours[k].add(
                packets.time([&](std::uint64_t head, const std::uint8_t* body, std::size_t size) {
                    return digest_by(kernel, head, body, size, secret);
                }));
        }
        xxh3.add(packets.time([&](std::uint64_t head, const std::uint8_t* body, std::size_t size) {
            return xxh3_digest(head, body, size, xxh3_secret);
        }));
    }
    std::printf("%6zu %9.2f", n, xxh3.median());
    for (const Samples& samples : ours) {
        std::printf(" %9.2f", samples.median());
    }
    std::printf(" %7.2f\n", ours.back().median() / xxh3.median());
}

}  // namespace
}  // namespace unecho::bench

int main(int argc, char** argv) {
    using namespace unecho;
    const auto windows =
        static_cast<unsigned>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2000);
    if (windows == 0) {
        std::fputs("digest_bench [WINDOWS]: at least 1\n", stderr);
        return 2;
    }
    bench::Xxh3Secret xxh3_secret;
    std::mt19937_64 random(1);
    std::generate(xxh3_secret.begin(), xxh3_secret.end(), [&] { return random(); });
    const hash::Secret secret = hash::secret_from_seed(1);
    std::printf("%6s %9s", "body", "xxh3");
    for (const hash::BodySumKernel& kernel : hash::kBodySumKernels) {
        std::printf(" %9s", std::string(kernel.name).c_str());
    }
    std::printf(" %7s\n", "ratio");
    for (const std::size_t n : bench::kBodies) {
        bench::print_row(n, windows, secret, xxh3_secret);
    }
}
