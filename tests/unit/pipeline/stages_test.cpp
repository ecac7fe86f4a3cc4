// SPDX-License-Identifier: BSD-3-Clause
// Stages on made bursts: all later stages read the result of parsing. A fake filter shows what a
// filter context's confidence policy learns from a burst.
#include "dedup/pipeline/stages.h"

#include <array>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "dedup/pipeline/bits.h"
#include "support/link_frames.h"
#include "support/packet_builder.h"
#include "support/packet_samples.h"

namespace unecho::pipeline {
namespace {

using test::operator+;

filter::Answers answer(void* filter, filter::Ageing& /*ageing*/,
                       std::span<const Digest> /*digests*/, filter::TimerSnapshot /*published*/,
                       unsigned /*first*/, const filter::ChanceLimits* /*limits*/) noexcept {
    return *static_cast<filter::Answers*>(filter);
}

filter::Answers answer_timed(void* filter, filter::Ageing& /*ageing*/,
                             std::span<const Digest> /*digests*/, const Nanoseconds* /*times*/,
                             unsigned /*first*/, const filter::ChanceLimits* /*limits*/) noexcept {
    return *static_cast<filter::Answers*>(filter);
}

float never(const void* /*filter*/, Digest /*digest*/) noexcept {
    return 0;
}

class JudgedStages : public testing::Test {
  protected:
    static constexpr EngineOps kOps{.test = answer,
                                    .test_timed = answer_timed,
                                    .test_with_predecessor = nullptr,
                                    .known_slots = nullptr,
                                    .chance = never,
                                    .advance = nullptr,
                                    .counters = nullptr,
                                    .window = nullptr,
                                    .fill = nullptr,
                                    .maintain = nullptr,
                                    .segments = nullptr};

    // Return the share of echoes learned from bursts with so many keyed packets and these answers,
    // once the initial even odds are forgotten.
    double learned(std::uint64_t keyed, unsigned count, filter::Answers answers, bool timed) {
        CostRatios ratios;
        ratios.fill(1);
        ConfidencePolicy confidence = ConfidencePolicy::penalty(ratios);
        filter::Ageing ageing({.window = 1});
        const FilterContext context{
            .ops = &kOps, .filter = &answers, .ageing = &ageing, .confidence = &confidence};
        Burst burst;
        burst.count = count;
        burst.keys.keyed = keyed;
        for (unsigned i = 0; i < 100'000; ++i) {
            timed ? decide_timed(burst, context) : decide(burst, context, {});
        }
        return confidence.echo_share();
    }
};

// One answer more or less would be a share of 1/3 or 1/5.
TEST_F(JudgedStages, every_answer_is_learned_from_those_in_doubt_too) {
    for (const bool timed : {false, true}) {
        EXPECT_NEAR(learned(0b1111, 4, {0b0010, 0}, timed), 0.25, 1e-3);
        EXPECT_NEAR(learned(0b1111, 4, {0, 0b1000}, timed), 0.25, 1e-3);
        EXPECT_NEAR(learned(0b1111, 4, {0b0010, 0b1000}, timed), 0.5, 1e-3);
    }
}

// ---- parse, and the stages that read its result ----

constexpr packet::KeyMode kIpModes[] = {packet::KeyMode::kPacket, packet::KeyMode::kFlow,
                                        packet::KeyMode::kFlowBidir};

struct SampleBurst {
    explicit SampleBurst(std::size_t from) {
        for (; burst.count < kMaxBurst; ++burst.count) {
            const auto& samples = test::packet_samples();
            const test::Bytes& bytes = samples[(from + burst.count) % samples.size()].bytes;
            burst.frames[burst.count] = {bytes.data(), static_cast<std::uint32_t>(bytes.size())};
            burst.lengths[burst.count] = burst.frames[burst.count].length;
        }
        parse(burst, {});
    }
    Burst burst;
};

// Frames are removed after parsing, so that later stages cannot search them again.
TEST(ParseStage, later_stages_read_what_it_found_and_look_for_nothing) {
    const hash::Secret secret = hash::secret_from_seed(1);
    CostRatios ratios;
    for (std::size_t i = 0; i < ratios.size(); ++i) {
        ratios[i] = static_cast<float>(i + 1);
    }
    const ConfidencePolicy confidence = ConfidencePolicy::penalty(ratios);
    for (std::size_t from = 0; from < test::packet_samples().size(); from += kMaxBurst / 2) {
        for (const packet::KeyMode mode : kIpModes) {
            SampleBurst whole(from);
            SampleBurst blind(from);
            blind.burst.frames.fill({nullptr, 0});
            digest(whole.burst, {.mode = mode}, secret);
            digest(blind.burst, {.mode = mode}, secret);
            EXPECT_EQ(blind.burst.keys.keyed, whole.burst.keys.keyed);
            EXPECT_EQ(blind.burst.keys.non_ip, whole.burst.keys.non_ip);
            EXPECT_EQ(blind.burst.keys.malformed, whole.burst.keys.malformed);
            EXPECT_EQ(whole.burst.keys.keyed ^ whole.burst.keys.non_ip ^ whole.burst.keys.malformed,
                      ~std::uint64_t{0});
            std::array<float, kMaxBurst> each{};
            const filter::ChanceLimits limits = confidence.limits(blind.burst, each);
            unsigned n = 0;
            for_each_bit(whole.burst.keys.keyed, [&](unsigned i) {
                EXPECT_EQ(blind.burst.digests[i], whole.burst.digests[i]);
                const std::uint8_t* const ip = whole.burst.parsed.ip[i].data;
                const unsigned tos = ip[0] >> 4 == 4 ? ip[1] : (ip[0] & 15U) << 4 | ip[1] >> 4;
                EXPECT_EQ(limits.at(n++), static_cast<float>(tos / 4 + 1));
            });
            EXPECT_GT(n, 0U);
        }
    }
}

TEST(ParseStage, bytes_behind_those_of_the_key_do_not_count) {
    test::PacketSpec spec;
    spec.payload.assign(200, 1);
    const test::Bytes one = test::build(spec);
    test::Bytes other = one;
    other.back() ^= 1;
    const hash::Secret secret = hash::secret_from_seed(1);
    for (const auto& [bytes, same] : {std::pair{0U, false}, std::pair{228U, false},
                                      std::pair{227U, true}, std::pair{64U, true}}) {
        Burst burst;
        burst.count = 2;
        burst.frames[0] = {one.data(), static_cast<std::uint32_t>(one.size())};
        burst.frames[1] = {other.data(), static_cast<std::uint32_t>(other.size())};
        const packet::KeySpec key{.bytes = bytes};
        parse(burst, key);
        digest(burst, key, secret);
        EXPECT_EQ(burst.digests[0] == burst.digests[1], same) << bytes;
    }
}

// A burst is reused for the packets of another filter.
TEST(DigestStage, of_flows_leaves_no_packet_to_the_union_rule) {
    test::PacketSpec spec;
    spec.version = 6;
    const test::Bytes frame = test::build(spec);
    const hash::Secret secret = hash::secret_from_seed(1);
    Burst burst;
    burst.count = 1;
    burst.frames[0] = {frame.data(), static_cast<std::uint32_t>(frame.size())};
    const packet::KeySpec packets{.repeats = packet::Repeats::kKeep};
    parse(burst, packets);
    digest(burst, packets, secret);
    EXPECT_EQ(burst.unidentified, 1u);
    EXPECT_EQ(burst.filtered(), 0u);
    digest_flows(burst, packet::Tenant::kIgnore, secret);
    EXPECT_EQ(burst.filtered(), 1u);
    digest(burst, packets, secret);
    digest(burst, {.mode = packet::KeyMode::kFlow}, secret);
    EXPECT_EQ(burst.filtered(), 1u);
}

// ---- where packets were seen ----

const packet::Tunnels& every_tunnel() {
    static const packet::Tunnels kAll(packet::EncapsulationSet::all());
    return kAll;
}

// Return an IPv6 packet, which has no ID, in VXLAN if a VNI is given.
test::Bytes seen_frame(test::PacketSpec spec, std::uint8_t vni) {
    spec.version = 6;
    const test::Bytes frame = test::build(spec);
    const test::Bytes vxlan{8, 0, 0, 0, 0, 0, vni, 0};
    return vni == 0 ? frame : test::build({.destination_port = 4789, .payload = vxlan + frame});
}

void add_frame(Burst& burst, const test::Bytes& bytes) {
    burst.frames[burst.count++] = {bytes.data(), static_cast<std::uint32_t>(bytes.size())};
}

// docs/same-packet.md, "Where a packet was seen": `point` and `tags` say what makes another place.
TEST(DigestStage, places_are_what_point_and_tags_say) {
    using packet::Point;
    struct Seen {
        test::PacketSpec spec;
        std::set<Point> elsewhere;
        bool elsewhere_by_tags;
    };
    const std::vector<Seen> all{{{}, {}, false},
                                {{.source_mac = {2, 9}}, {Point::kLink, Point::kLinkTtl}, false},
                                {{.ttl = 63}, {Point::kLinkTtl}, false},
                                {{.tags = {{0x8100, 7}}}, {}, true}};
    for (const std::uint8_t vni : {0, 9}) {
        std::vector<test::Bytes> frames;
        Burst burst;
        for (const Seen& one : all) {
            add_frame(burst, frames.emplace_back(seen_frame(one.spec, vni)));
        }
        for (const Point point : {Point::kPort, Point::kLink, Point::kLinkTtl}) {
            for (const packet::Tags tags : {packet::Tags::kIgnore, packet::Tags::kPoint}) {
                const packet::KeySpec key{.tunnels = every_tunnel(),
                                          .tags = tags,
                                          .repeats = packet::Repeats::kKeep,
                                          .point = point};
                parse(burst, key);
                digest(burst, key, hash::secret_from_seed(1));
                EXPECT_EQ(burst.unidentified, first_bits(burst.count));
                for (unsigned i = 0; i < burst.count; ++i) {
                    const bool elsewhere =
                        all[i].elsewhere.contains(point) ||
                        (tags == packet::Tags::kPoint && all[i].elsewhere_by_tags);
                    EXPECT_EQ(burst.places[i].link != burst.places[0].link, elsewhere) << i;
                    EXPECT_EQ(burst.digests[i], burst.digests[0]);
                }
            }
        }
    }
}

// Raw IP has no addresses. Identified packets have a place only if they are evidence.
TEST(DigestStage, places_are_found_on_every_link_type_for_those_that_need_one) {
    const test::Bytes one = test::build_ip({.version = 6});
    const test::Bytes other = test::build_ip({.version = 6, .ttl = 63});
    const test::Bytes identified = test::build_ip({.id = 7});
    for (const bool evidence : {false, true}) {
        Burst burst;
        burst.link = packet::LinkType::kRaw;
        add_frame(burst, one);
        add_frame(burst, other);
        add_frame(burst, identified);
        const packet::KeySpec key{.repeats = packet::Repeats::kKeep, .evidence = evidence};
        parse(burst, key);
        digest(burst, key, hash::secret_from_seed(1));
        EXPECT_EQ(burst.unidentified, 0b011U);
        EXPECT_NE(burst.places[0].link, burst.places[1].link);
        EXPECT_EQ(burst.places[1].ttl, 63U);
        EXPECT_EQ(burst.places[2].ttl, evidence ? 64U : 0U);
    }
}

// The shared flow store knows flows by digests under its own secret. Tenants and tags part flows.
TEST(DigestStage, under_another_secret_digests_are_those_of_that_secret) {
    const std::vector<test::Bytes> frames{seen_frame({}, 0), seen_frame({}, 8),
                                          seen_frame({.tags = {{0x8100, 7}}}, 0),
                                          test::build({.id = 9})};
    for (const packet::Tenant tenant : {packet::Tenant::kIgnore, packet::Tenant::kMatch}) {
        for (const packet::Tags tags : {packet::Tags::kIgnore, packet::Tags::kCompare}) {
            const packet::KeySpec key{.mode = packet::KeyMode::kFlow,
                                      .tunnels = every_tunnel(),
                                      .tenant = tenant,
                                      .tags = tags};
            Burst burst;
            for (const test::Bytes& frame : frames) {
                add_frame(burst, frame);
            }
            parse(burst, key);
            digest(burst, key, hash::secret_from_seed(2));
            const auto expected = burst.digests;
            digest(burst, key, hash::secret_from_seed(1));
            const auto before = burst.digests;
            EXPECT_EQ(before[0] != before[1], tenant == packet::Tenant::kMatch);
            EXPECT_EQ(before[0] != before[2], tags == packet::Tags::kCompare);
            std::array<Digest, kMaxBurst> digests{};
            digest_with_secret(burst, key, hash::secret_from_seed(2), digests);
            for (unsigned i = 0; i < burst.count; ++i) {
                EXPECT_EQ(digests[i], expected[i]) << i;
                EXPECT_NE(digests[i], before[i]) << i;
                EXPECT_EQ(burst.digests[i], before[i]) << i;
            }
        }
    }
}

// The frame is too long to be made contiguous: no byte of it is available.
TEST(ParseStage, frames_too_long_have_no_key_and_are_in_no_mask) {
    const hash::Secret secret = hash::secret_from_seed(1);
    for (const packet::KeyMode mode : {packet::KeyMode::kPacket, packet::KeyMode::kFlow,
                                       packet::KeyMode::kFlowBidir, packet::KeyMode::kFrame}) {
        SampleBurst made(0);
        made.burst.frames[5].length = 0;
        made.burst.too_long = 1U << 5U;
        parse(made.burst, {});
        EXPECT_EQ(made.burst.parsed.found(5), packet::L3Type::kMalformed);
        digest(made.burst, {.mode = mode, .non_ip = packet::NonIp::kFrame}, secret);
        EXPECT_EQ(made.burst.keys.keyed ^ made.burst.keys.non_ip ^ made.burst.keys.malformed,
                  ~std::uint64_t{1U << 5U});
    }
}

TEST(ParseStage, is_asked_for_by_all_but_frame_keys_that_nothing_judges) {
    CostRatios ratios{};
    ConfidencePolicy confidence = ConfidencePolicy::penalty(ratios);
    for (const packet::KeyMode mode : kIpModes) {
        EXPECT_TRUE(needs_parsing({.key = {.mode = mode}}));
    }
    EXPECT_FALSE(needs_parsing({.key = {.mode = packet::KeyMode::kFrame}}));
    EXPECT_TRUE(
        needs_parsing({.key = {.mode = packet::KeyMode::kFrame}, .confidence = &confidence}));
}

// Packets without a key have no answer.
TEST_F(JudgedStages, only_packets_with_keys_are_learned_from) {
    for (const bool timed : {false, true}) {
        EXPECT_NEAR(learned(0b101101, 7, {0b0001, 0}, timed), 0.25, 1e-3);
        EXPECT_NEAR(learned(0b1, 64, {0b1, 0}, timed), 1.0, 1e-3);
    }
}

// ---- settle ----

// The kinds of packet after decide(); each has its bits in the masks of a burst.
enum class Kind { kNew, kEcho, kDoubt, kNonIp, kMalformed, kTooLong };
constexpr unsigned kKinds = 6;

Reason expected(Kind kind, EchoAction on_echo) {
    switch (kind) {
        case Kind::kNew:
            return Reason::kNew;
        case Kind::kEcho:
            return on_echo == EchoAction::kPass     ? Reason::kEchoPassed
                   : on_echo == EchoAction::kDivert ? Reason::kEchoDiverted
                                                    : Reason::kEcho;
        case Kind::kDoubt:
            return Reason::kDoubt;
        case Kind::kNonIp:
            return Reason::kNonIp;
        case Kind::kMalformed:
            return Reason::kMalformed;
        case Kind::kTooLong:
            break;
    }
    return Reason::kTooLong;
}

void put(Burst& burst, unsigned i, Kind kind) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    burst.keys.keyed |= kind <= Kind::kDoubt ? bit : 0;
    burst.echoes |= kind == Kind::kEcho ? bit : 0;
    burst.doubts |= kind == Kind::kDoubt ? bit : 0;
    burst.keys.non_ip |= kind == Kind::kNonIp ? bit : 0;
    burst.keys.malformed |= kind == Kind::kMalformed ? bit : 0;
    burst.too_long |= kind == Kind::kTooLong ? bit : 0;
}

TEST(SettleStage, every_packet_has_the_one_reason_of_its_kind) {
    std::mt19937_64 random(1);
    for (const EchoAction on_echo : {EchoAction::kDrop, EchoAction::kPass, EchoAction::kDivert}) {
        for (unsigned count = 0; count <= kMaxBurst; ++count) {
            Burst burst;
            burst.count = count;
            std::array<Kind, kMaxBurst> kinds{};
            for (unsigned i = 0; i < count; ++i) {
                kinds[i] = static_cast<Kind>(random() % kKinds);
                put(burst, i, kinds[i]);
            }
            const Settlement settled = settle(burst, on_echo);
            ASSERT_TRUE(is_partition(settled, first_bits(count))) << count;
            const auto expect_of_its_kind = [&](const ReasonMask& outcome) {
                for_each_bit(outcome.mask, [&](unsigned i) {
                    EXPECT_EQ(outcome.reason, expected(kinds[i], on_echo)) << i;
                });
            };
            std::for_each(settled.forward.begin(), settled.forward.end(), expect_of_its_kind);
            expect_of_its_kind(settled.away);
        }
    }
}

TEST(SettleStage, a_packet_with_two_reasons_or_none_is_no_partition) {
    Settlement settled{};
    settled.forward[0].mask = 0b0011;
    settled.away.mask = 0b0100;
    EXPECT_TRUE(is_partition(settled, 0b0111));
    EXPECT_FALSE(is_partition(settled, 0b1111));
    EXPECT_FALSE(is_partition(settled, 0b0011));
    settled.forward[1].mask = 0b0001;
    EXPECT_FALSE(is_partition(settled, 0b0111));
    settled.forward[1].mask = 0b0100;
    EXPECT_FALSE(is_partition(settled, 0b0111));
}

// Nobody looked for an IP packet where the link type is not parsed.
TEST(SettleStage, frames_of_a_link_type_without_a_parser_are_unparsed) {
    for (const packet::LinkType link : {packet::LinkType::kEthernet, packet::LinkType::kUnknown}) {
        Burst burst;
        burst.count = 2;
        burst.link = link;
        put(burst, 0, Kind::kNew);
        put(burst, 1, Kind::kNonIp);
        const Settlement settled = settle(burst, EchoAction::kDrop);
        const bool parsed = link == packet::LinkType::kEthernet;
        for (const ReasonMask& outcome : settled.forward) {
            const std::uint64_t expected =
                outcome.reason == Reason::kNew                                    ? 0b01
                : outcome.reason == (parsed ? Reason::kNonIp : Reason::kUnparsed) ? 0b10
                                                                                  : 0;
            EXPECT_EQ(outcome.mask, expected) << info_of(outcome.reason).name;
        }
    }
}

// With a reason twice or missing, masks would belong to the wrong packets.
TEST(SettleStage, reasons_are_those_of_the_table_that_it_gives) {
    for (const EchoAction on_echo : {EchoAction::kDrop, EchoAction::kPass, EchoAction::kDivert}) {
        const Settlement settled = settle(Burst{}, on_echo);
        std::set<Reason> forwarded;
        for (const ReasonMask& outcome : settled.forward) {
            EXPECT_TRUE(forwarded.insert(outcome.reason).second) << info_of(outcome.reason).name;
        }
        for (const ReasonInfo& info : kReasonTable) {
            EXPECT_EQ(forwarded.contains(info.reason),
                      info.given_by == GivenBy::kSettle && info.fate == Disposition::kForwarded)
                << info.name;
        }
        EXPECT_EQ(info_of(settled.away.reason).given_by, GivenBy::kSettle);
        EXPECT_NE(info_of(settled.away.reason).fate, Disposition::kForwarded);
    }
}

}  // namespace
}  // namespace unecho::pipeline
