// SPDX-License-Identifier: BSD-3-Clause
// An attacker who knows all of the code but not the secret, and may send any packets. Keys chosen
// for one line or worker under a secret of his own spread everywhere under ours. Whatever he floods
// a filter with, other packets fare as among as many random ones: no copy younger than the achieved
// window is missed, and no more of them are dropped.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/hash/keyed.h"
#include "packets/keys/digests.h"
#include "packets/parse.h"
#include "packets/tunnels/tunnels.h"
#include "support/bounds.h"
#include "support/every_engine.h"
#include "support/packet_builder.h"
#include "support/planned_engine.h"
#include "support/seed.h"

namespace unecho::test::adversary_test {
namespace {

using config::Engine;
using hash::Secret;

constexpr unsigned kSecrets = 8;

// Return the digest of a flow or packet key that he can choose.
Digest digest_of(std::uint64_t chosen, const Secret& secret) {
    std::array<std::uint64_t, 4> body{chosen, 0, 0x5A5A, 0};
    return hash::keyed_digest(1, reinterpret_cast<const std::uint8_t*>(body.data()), sizeof body,
                              secret);
}

Secret secret_of_his() {
    return hash::secret_from_seed(seed() ^ 0x5EC2E7);
}

Secret secret_of_ours(unsigned number) {
    return hash::secret_from_seed(seed() + number);
}

// Return the line, row or bucket that filters derive (digest_spread_test.cpp).
std::uint64_t place_of(Digest digest, unsigned row) {
    switch (row) {
        case 0:
            return digest >> 54;
        case 1:
            return (digest ^ digest >> 32) * 0x9E3779B97F4A7C15 >> 54;
        default:
            return digest * 0x9E3779B97F4A7C15 >> 54;
    }
}

TEST(adversary, keys_aimed_at_one_line_go_to_all_lines) {
    SCOPED_TRACE(seed_note());
    constexpr std::size_t kLines = 1U << 10;
    constexpr std::size_t kKeys = 16 * kLines;
    const Secret his = secret_of_his();
    const Counts allowed = chi_square_bounds(static_cast<double>(kLines - 1));
    for (unsigned row = 0; row < 3; ++row) {
        std::vector<std::uint64_t> aimed;
        for (std::uint64_t i = 0; aimed.size() < kKeys; ++i) {
            if (place_of(digest_of(i, his), row) == 7) {
                aimed.push_back(i);
            }
        }
        for (unsigned s = 0; s < kSecrets; ++s) {
            const Secret ours = secret_of_ours(s);
            std::vector<std::uint64_t> counts(kLines);
            for (const std::uint64_t key : aimed) {
                ++counts[place_of(digest_of(key, ours), row)];
            }
            EXPECT_GT(chi_square(counts), allowed.low) << "row " << row << ", secret " << s;
            EXPECT_LT(chi_square(counts), allowed.high) << "row " << row << ", secret " << s;
        }
    }
}

std::uint64_t owner_of(std::uint32_t address, std::uint16_t port, unsigned workers,
                       const Secret& secret) {
    PacketSpec spec;
    spec.source = address;
    spec.source_port = port;
    const Bytes bytes = build(spec);
    const packet::Frame frame{bytes.data(), static_cast<std::uint32_t>(bytes.size())};
    packet::ParsedBurst parsed;
    Digest owner = 0;
    packet::parse_burst(packet::LinkType::kEthernet, {&frame, 1}, parsed);
    packet::owner_digests(packet::LinkType::kEthernet, {&frame, 1}, parsed, secret, &owner);
    return reduce(owner, workers);
}

// With rings between workers; the hash of network cards is not secret.
TEST(adversary, flows_aimed_at_one_worker_go_to_all_workers) {
    SCOPED_TRACE(seed_note());
    constexpr unsigned kWorkers = 4;
    constexpr std::size_t kFlows = 4000;
    const Secret his = secret_of_his();
    std::vector<std::uint32_t> aimed;
    for (std::uint32_t i = 0; aimed.size() < kFlows; ++i) {
        if (owner_of(0x0A000000U + i / 64, static_cast<std::uint16_t>(i % 64), kWorkers, his) ==
            0) {
            aimed.push_back(i);
        }
    }
    const Counts allowed = binomial_bounds(kFlows, 1.0 / kWorkers);
    for (unsigned s = 0; s < kSecrets; ++s) {
        const Secret ours = secret_of_ours(s);
        std::array<double, kWorkers> counts{};
        for (const std::uint32_t i : aimed) {
            counts.at(owner_of(0x0A000000U + i / 64, static_cast<std::uint16_t>(i % 64), kWorkers,
                               ours)) += 1;
        }
        for (const double count : counts) {
            EXPECT_GE(count, allowed.low) << "secret " << s;
            EXPECT_LE(count, allowed.high) << "secret " << s;
        }
    }
}

// Packets of many tenants at chosen differences: what the tenant adds to a digest, the packet may
// subtract. 2^17 in all, 8.6e9 pairs.
TEST(adversary, packets_of_tenants_at_chosen_differences_have_digests_of_their_own) {
    SCOPED_TRACE(seed_note());
    constexpr std::uint32_t kIds = 512;
    constexpr std::uint32_t kTenants = 256;
    constexpr std::size_t kId = 18;  // offset in an Ethernet frame with IPv4
    using Tenant = std::function<std::uint32_t(std::uint32_t i)>;
    const Tenant counting = [](std::uint32_t i) { return i; };
    const Tenant high = [](std::uint32_t i) { return i << 16; };
    const Tenant like_ids = [](std::uint32_t i) { return 0x5A0000 | i << 8; };
    const Secret secret = secret_of_ours(0);
    for (const Tenant& tenant : {counting, high, like_ids}) {
        std::vector<Digest> digests;
        Bytes bytes = build(PacketSpec{});
        for (std::uint32_t id = 0; id < kIds; ++id) {
            bytes[kId] = static_cast<std::uint8_t>(id);
            bytes[kId + 1] = static_cast<std::uint8_t>(id >> 8);
            const packet::Frame frame{bytes.data(), static_cast<std::uint32_t>(bytes.size())};
            packet::ParsedBurst parsed;
            packet::parse_burst(packet::LinkType::kEthernet, {&frame, 1}, parsed);
            Digest plain = 0;
            packet::digest_burst(packet::KeyMode::kPacket, {&frame, 1}, parsed, secret, &plain);
            for (std::uint32_t i = 0; i < kTenants; ++i) {
                packet::DecapsulatedBurst opened;
                opened.opened = 1;
                opened.tenants[0] = {packet::TenantSpace::kVirtualNetwork, tenant(i)};
                Digest digest = plain;
                packet::add_tenants(packet::KeyMode::kPacket, opened, 1, secret, &digest);
                digests.push_back(digest);
            }
        }
        std::sort(digests.begin(), digests.end());
        EXPECT_EQ(std::adjacent_find(digests.begin(), digests.end()), digests.end());
    }
}

// ---- floods -----------------------------------------------------------------------------------

constexpr Nanoseconds kWindow = 5 * kMillisecond;
constexpr double kPlanned = 300'000;
constexpr double kBound = 1e-2;
constexpr Nanoseconds kBetweenVictims = 10 * kMicrosecond;  // from one victim's packet to the next
constexpr unsigned kFloodEach = 9;                          // flood packets in between
constexpr unsigned kVictims = 30'000;

// The packet that he sends as the i-th.
struct Flood {
    const char* name;
    bool new_keys;  // no key repeats
    std::function<Digest(std::uint64_t i, const Secret& ours)> packet;
};

std::vector<Flood> floods() {
    const auto aimed = [](std::uint64_t i, const Secret& ours) {
        static const std::vector<std::uint64_t> keys = [] {
            std::vector<std::uint64_t> out;
            const Secret his = secret_of_his();
            for (std::uint64_t key = 0; out.size() < kVictims * kFloodEach; ++key) {
                if (digest_of(key, his) >> 60 == 3) {  // a sixteenth of all lines
                    out.push_back(key);
                }
            }
            return out;
        }();
        return digest_of(keys[i % keys.size()], ours);
    };
    return {
        {"random keys", true, [](std::uint64_t i, const Secret&) { return remix(i, 3); }},
        {"one key", false, [](std::uint64_t, const Secret& ours) { return digest_of(1, ours); }},
        {"sixty-four keys in turns", false,
         [](std::uint64_t i, const Secret& ours) { return digest_of(i % 64, ours); }},
        {"keys that count", true,
         [](std::uint64_t i, const Secret& ours) { return digest_of(i, ours); }},
        {"keys that differ in one byte each", true,
         [](std::uint64_t i, const Secret& ours) {
             return digest_of(i % 256 << (i / 256 % 8 * 8) | i << 32, ours);
         }},
        {"keys aimed at a sixteenth of a filter", true, aimed},
    };
}

struct Disposition {
    double packets = 0;  // packets of victims, without copies
    double dropped = 0;
    std::uint64_t copies = 0;
    std::uint64_t found = 0;
    std::vector<Nanoseconds> missed;  // ages of missed copies
    filter::WindowState window;
};

Disposition suffer(Engine engine, const Flood& flood) {
    PlannedEngine tested(
        {.engine = engine,
         .targets = {kWindow, kPlanned, kBound},
         .first = engine == Engine::kShbfX ? 2U : 1U,
         .on_full = engine == Engine::kTlbf ? config::OnFull::kGrow : config::OnFull::kShrink,
         .bounded = true});
    const Secret ours = secret_of_ours(99);
    std::mt19937_64 random(seed());
    const auto passes = engine == Engine::kShbfX ? 2U : 1U;
    struct Copy {
        Nanoseconds original;
        Digest digest;
        bool dropped;  // the original; then there may be nothing to find
    };
    std::deque<Copy> copies;
    Disposition out;
    Nanoseconds now = kSecond;
    std::uint64_t sent = 0;
    for (unsigned i = 0; i < kVictims; ++i, now += kBetweenVictims) {
        const Digest victim = random();
        bool dropped = false;
        for (unsigned n = 0; n < passes; ++n) {
            const auto answers = tested.observe({&victim, 1}, &now);
            dropped |= answers.echoes != 0;
            out.packets += 1;
        }
        out.dropped += dropped ? 1 : 0;
        copies.push_back({now, victim, dropped});
        if (copies.size() > 50) {  // at least 0.5 ms old
            const Copy& copy = copies.front();
            const auto answers = tested.observe({&copy.digest, 1}, &now);
            ++out.copies;
            if (answers.echoes != 0) {
                ++out.found;
            } else if (answers.doubts == 0 && !copy.dropped) {
                out.missed.push_back(now - copy.original);
            }
            copies.pop_front();
        }
        for (unsigned n = 0; n < kFloodEach; ++n) {
            const Digest his = flood.packet(sent++, ours);
            const Nanoseconds at = now + n * (kBetweenVictims / kFloodEach);
            tested.observe({&his, 1}, &at);
        }
    }
    out.window = tested.window(now);
    return out;
}

class Flooded : public testing::TestWithParam<Engine> {};

TEST_P(Flooded, victims_fare_as_among_random_packets) {
    SCOPED_TRACE(seed_note());
    const std::vector<Flood> all = floods();
    const Disposition plain = suffer(GetParam(), all.front());
    for (const Flood& flood : all) {
        SCOPED_TRACE(flood.name);
        const Disposition fate = suffer(GetParam(), flood);
        for (const Nanoseconds age : fate.missed) {
            EXPECT_GE(age, fate.window.shortest);
        }
        EXPECT_GT(static_cast<double>(fate.found), 0.93 * static_cast<double>(fate.copies));
        EXPECT_LE(fate.dropped, binomial_bounds(fate.packets, kBound).high);
        // If both rates are equal, each drop is equally likely to belong to either run.
        const Counts fair = binomial_bounds(fate.dropped + plain.dropped, 0.5);
        EXPECT_LE(fate.dropped, fair.high);
        if (flood.new_keys) {
            EXPECT_GE(fate.dropped, fair.low);
            // Each full bucket gives way by itself, so the shortest is an extreme of few events.
            // Other engines shrink as a whole, and "exact" and "tlbf" forget the oldest of all.
            const bool whole = engines::info_of(GetParam()).by_generation ||
                               GetParam() == Engine::kExact || GetParam() == Engine::kTlbf;
            const double factor = whole ? 1.1 : 3.0;
            const auto shortest = static_cast<double>(plain.window.shortest);
            EXPECT_GE(static_cast<double>(fate.window.shortest), shortest / factor);
            EXPECT_LE(static_cast<double>(fate.window.shortest), shortest * factor);
        } else {  // few keys are inserted
            EXPECT_EQ(fate.window.shortest, kWindow);
        }
        RecordProperty(flood.name,
                       std::to_string(fate.dropped) + " of " + std::to_string(fate.packets));
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Flooded, testing::ValuesIn(every_engine()), case_name);

}  // namespace
}  // namespace unecho::test::adversary_test
