// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/audit.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dedup/pipeline/bits.h"
#include "dedup/pipeline/stages.h"
#include "support/filter_memory.h"
#include "support/link_frames.h"
#include "support/packet_builder.h"
#include "support/packet_samples.h"
#include "unit/pipeline/made_burst.h"

namespace unecho::pipeline {
namespace {

using test::Bytes;
using test::MadeBurst;
using test::with_all_tunnels;
using test::operator+;

// An audit stage that samples every packet, with its records.
class Looking {
  public:
    explicit Looking(const packet::KeySpec& key = {})
        : key_(key), memory_(filter::Audit::bytes(params_)), audit_(params_, memory_.span()) {}

    AuditStage& stage() { return stage_; }
    [[nodiscard]] const filter::AuditCounters& counters() const { return audit_.counters(); }
    [[nodiscard]] std::uint64_t crossed(PortIndex from, PortIndex to) const {
        return crossings_[from][to];
    }

  private:
    static filter::AuditSpec spec() {
        filter::AuditSpec spec;
        spec.memory = 1 << 16;
        spec.window = kSecond;
        spec.begins_whole = true;
        return spec;
    }
    const packet::KeySpec key_;
    const AuditSecret secret_ = audit_secret_from(5);
    const filter::AuditParams params_ = *filter::AuditParams::make(spec());
    const test::FilterMemory memory_;
    filter::Audit audit_;
    PortPairMatrix crossings_{};
    AuditStage stage_{audit_, key_, secret_, crossings_};
};

filter::AuditState state_at(Nanoseconds first, Nanoseconds last) {
    filter::AuditState state;
    state.first = first;
    state.last = last;
    state.window.achieved = kSecond;
    return state;
}

// With the pipeline's secret it is the digest itself, for every kind of packet and key.
TEST(DigestAgain, is_of_the_same_key) {
    const hash::Secret secret = hash::secret_from_seed(1);
    const auto& samples = test::packet_samples();
    for (std::size_t mode = 0; mode < packet::kKeyModes; ++mode) {
        for (const bool tunnels : {false, true}) {
            packet::KeySpec key{.mode = static_cast<packet::KeyMode>(mode)};
            if (key.mode == packet::KeyMode::kFrame && tunnels) {
                continue;
            }
            key.non_ip =
                key.mode == packet::KeyMode::kFrame ? packet::NonIp::kPass : packet::NonIp::kFrame;
            if (tunnels) {
                key = with_all_tunnels(key);
            }
            for (std::size_t from = 0; from + 16 <= samples.size(); from += 16) {
                std::vector<Bytes> frames;
                for (std::size_t i = 0; i < 16; ++i) {
                    frames.push_back(samples[from + i].bytes);
                }
                const MadeBurst made(frames, key);
                for_each_bit(made.burst.keys.keyed, [&](unsigned i) {
                    EXPECT_EQ(audit_digest(made.burst, i, key, secret), made.burst.digests[i])
                        << samples[from + i].name;
                    EXPECT_NE(audit_digest(made.burst, i, key, hash::secret_from_seed(2)),
                              made.burst.digests[i]);
                });
            }
        }
    }
}

// Key bytes are equal iff digests are: for every two samples and every kind of key.
TEST(CopyKey, is_equal_iff_digests_are) {
    const auto& samples = test::packet_samples();
    for (std::size_t mode = 0; mode < packet::kKeyModes; ++mode) {
        packet::KeySpec key{.mode = static_cast<packet::KeyMode>(mode)};
        if (key.mode != packet::KeyMode::kFrame) {
            key = with_all_tunnels(key);
            key.non_ip = packet::NonIp::kFrame;
        }
        std::map<Digest, Bytes> by_digest;
        std::map<Bytes, Digest> by_key;
        for (const auto& sample : samples) {
            const MadeBurst made({sample.bytes}, key);
            if (made.burst.keys.keyed == 0) {
                continue;
            }
            Bytes bytes(65536);
            bytes.resize(copy_key(made.burst, 0, key, bytes));
            const Digest digest = made.burst.digests[0];
            EXPECT_EQ(by_digest.emplace(digest, bytes).first->second, bytes) << sample.name;
            EXPECT_EQ(by_key.emplace(bytes, digest).first->second, digest) << sample.name;
            Bytes some(16);
            some.resize(copy_key(made.burst, 0, key, some));
            EXPECT_TRUE(std::equal(some.begin(), some.end(), bytes.begin())) << sample.name;
        }
        EXPECT_GT(by_key.size(), 10U);
    }
}

// A packet, another one, and the first a hop later at another port.
TEST(AuditStage, judges_answers_and_counts_where_packets_were_repeated) {
    test::PacketSpec spec;
    const Bytes first = test::build(spec);
    spec.ttl -= 1;
    spec.tags = {{0x8100, 7}};
    const Bytes repeated = test::build(spec);
    spec.id += 1;
    const Bytes other = test::build(spec);
    MadeBurst made({first, other, repeated, other});
    made.burst.echoes = 0b0110;  // the second packet is a false drop, and was not recorded
    Looking looking;
    AuditStage& stage = looking.stage();
    ASSERT_EQ(stage.sampled(made.burst), 0b1111U);
    std::array<PortIndex, kMaxBurst> ports{3, 4, 5, 6};
    const filter::AuditState state = state_at(kSecond, kSecond);
    stage.inspect(made.burst, 0b1111, ports, state, false);
    const filter::AuditCounters& counted = stage.totals().counters;
    EXPECT_EQ(counted.fresh, 2U);
    EXPECT_EQ(counted.false_drops, 1U);
    EXPECT_EQ(counted.echoes, 1U);
    EXPECT_EQ(counted.sampled, 4U);
    EXPECT_EQ(looking.crossed(3, 5), 1U);
    EXPECT_EQ(looking.crossed(4, 6), 1U);
    const auto count = [&](packet::Cause cause) {
        return stage.totals().causes[static_cast<std::size_t>(cause)];
    };
    EXPECT_EQ(count(packet::Cause::kHopLimit), 1U);
    EXPECT_EQ(count(packet::Cause::kIdentical), 1U);
    // Again: packets that were new have a reference now.
    made.burst.echoes = 0;
    stage.inspect(made.burst, 0b1101, ports, state, false);
    EXPECT_EQ(stage.totals().counters.misses, 3U);
    EXPECT_EQ(looking.crossed(3, 3), 1U);
}

// With captures each packet has its own time, with live traffic a burst has one.
TEST(AuditStage, takes_packets_at_their_own_times_where_they_have_some) {
    for (const bool timed : {false, true}) {
        const Bytes frame = test::build(test::PacketSpec{});
        MadeBurst made({frame, frame});
        made.burst.times[0] = kSecond;
        made.burst.times[1] = 3 * kSecond;
        Looking looking;
        looking.stage().inspect(made.burst, 0b11, {}, state_at(kSecond, 3 * kSecond), timed);
        EXPECT_EQ(looking.counters().misses, timed ? 0U : 1U);
        EXPECT_EQ(looking.counters().fresh, timed ? 2U : 1U);
    }
}

// Return the cause that the audit gives an echo of the first frame.
std::string_view cause_between(const Bytes& first, const Bytes& echo, const packet::KeySpec& key) {
    MadeBurst made({first, echo}, key);
    made.burst.echoes = 0b10;
    Looking looking(key);
    looking.stage().inspect(made.burst, 0b11, {}, state_at(0, 0), false);
    const AuditCauses& causes = looking.stage().totals().causes;
    const auto found = std::find(causes.begin(), causes.end(), 1U);
    return found == causes.end()
               ? std::string_view("none")
               : audit_cause_name(static_cast<std::size_t>(found - causes.begin()));
}

// Packets of a flow are alike.
TEST(AuditStage, tells_why_echoes_are_not_their_originals) {
    test::PacketSpec spec;
    const Bytes first = test::build(spec);
    spec.id += 1;
    const Bytes next = test::build(spec);
    EXPECT_EQ(cause_between(first, first, {}), "identical");
    EXPECT_EQ(cause_between(first, next, {}), "none");
    EXPECT_EQ(cause_between(first, next, {.mode = packet::KeyMode::kFlow}), "alike");
    EXPECT_EQ(cause_between(first, first, {.mode = packet::KeyMode::kFlow}), "identical");
    spec.id -= 1;
    spec.ttl -= 1;
    spec.source_mac = {2, 3, 4, 5, 6, 7};
    EXPECT_EQ(cause_between(first, test::build(spec), {}), "routed");
    Bytes longer = first;
    longer.back() ^= 1;
    EXPECT_EQ(cause_between(first, longer, {.bytes = 20}), "alike");
}

// A packet in VXLAN over IPv6, or directly in IPv4.
struct Carried {
    test::PacketSpec outer{.version = 6, .source_port = 50'000, .destination_port = 4789};
    std::uint8_t vni = 9;
    test::PacketSpec inner{.id = 77, .payload = test::counting(30)};
};

Bytes in_vxlan(Carried carried) {
    carried.outer.payload = Bytes{8, 0, 0, 0, 0, 0, carried.vni, 0} + test::build(carried.inner);
    return test::build(carried.outer);
}

Bytes in_ip(Carried carried) {
    carried.outer.version = 4;
    carried.outer.protocol = 4;
    carried.outer.payload = test::build_ip(carried.inner);
    return test::build(carried.outer);
}

// The cause is that of the innermost packet, unless the tunnels around it differ.
TEST(AuditStage, tells_why_echoes_in_tunnels_are_not_their_originals) {
    struct Change {
        void (*apply)(Carried& echo);
        std::string_view vxlan;
        std::string_view ip;
    };
    packet::KeySpec key = with_all_tunnels({});
    key.tenant = packet::Tenant::kIgnore;
    for (const auto& [apply, vxlan, ip] : std::vector<Change>{
             {[](Carried&) {}, "identical", "identical"},
             {[](Carried& e) { e.outer.id += 1; }, "identical", "outer"},  // IPv6 has none
             {[](Carried& e) { e.outer.source_port += 1; }, "outer", "identical"},
             {[](Carried& e) { e.outer.source += 1; }, "tunnels", "tunnels"},
             {[](Carried& e) { e.vni += 1; }, "tunnels", "identical"},
             {[](Carried& e) { e.inner.ttl -= 1; }, "hop-limit", "hop-limit"},
             {[](Carried& e) { e.inner.source_mac[5] += 1; }, "relayed", "identical"},
             {[](Carried& e) {
                  e.inner.tags.push_back({0x8100, 7});
              },
              "retagged", "identical"},
             {[](Carried& e) { e.inner.tos = 8; }, "remarked", "remarked"},
             {[](Carried& e) { e.inner.trailer = {0}; }, "padded", "identical"}}) {
        Carried echo;
        apply(echo);
        EXPECT_EQ(cause_between(in_vxlan({}), in_vxlan(echo), key), vxlan);
        EXPECT_EQ(cause_between(in_ip({}), in_ip(echo), key), ip);
    }
    EXPECT_EQ(cause_between(in_vxlan({}), in_ip({}), key), "tunnelled");
    EXPECT_EQ(cause_between(in_vxlan({}), test::build(Carried{}.inner), key), "tunnelled");
    // The whole innermost packet decides whether packets of one flow are one packet.
    Carried next;
    next.inner.id += 1;
    key = with_all_tunnels({.mode = packet::KeyMode::kFlow});
    EXPECT_EQ(cause_between(in_vxlan({}), in_vxlan(next), key), "alike");
    EXPECT_EQ(cause_between(in_vxlan({}), in_vxlan({}), key), "identical");
    Carried same;
    same.outer.source_port += 1;
    EXPECT_EQ(cause_between(in_vxlan({}), in_vxlan(same), key), "outer");
}

// The answer in doubt is neither right nor a miss: it is counted apart, for new packets and echoes.
TEST(AuditStage, counts_doubts_of_new_packets_and_of_echoes) {
    const Bytes frame = test::build(test::PacketSpec{});
    MadeBurst made({frame, frame});
    made.burst.doubts = 0b11;
    Looking looking;
    looking.stage().inspect(made.burst, 0b11, {}, state_at(kSecond, kSecond), false);
    const filter::AuditCounters& counted = looking.stage().audit().counters();
    EXPECT_EQ(counted.doubts_of_new, 1U);
    EXPECT_EQ(counted.doubts_of_echoes, 1U);
    EXPECT_EQ(counted.sampled, 2U);
}

// A frame without a key has the digest left by the packet before it in its place.
TEST(AuditStage, leaves_packets_without_a_key_alone) {
    const Bytes arp = test::build_ethernet(0x0806, test::counting(46, 1));
    MadeBurst made({arp});
    made.burst.digests[0] = 0;
    EXPECT_EQ(Looking().stage().sampled(made.burst), 0U);
}

}  // namespace
}  // namespace unecho::pipeline
