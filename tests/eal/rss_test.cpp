// SPDX-License-Identifier: BSD-3-Clause
// Copies that a card may put on different queues. Workers get a double of a card over net_ring,
// which hashes as the test wants. The set-up gets net_null, which hashes nothing, behind functions
// that replace DPDK's and answer as the test wants.
#include "appliance/plan/rss.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "appliance/topology/port_start.h"
#include "packets.h"
#include "rig.h"

namespace unecho::test {
namespace {

using Rss = EalTest;
using RssSetup = EalTest;

// Answers that replace those of DPDK's functions, by port.
struct Answers {
    std::optional<int> table_update;
    bool table_was_so = false;  // table cannot be written but is already as wanted
    std::optional<int> table_query;
    std::optional<int> key_query;
    std::optional<std::uint8_t> key_byte;      // first byte of the key
    std::optional<std::uint16_t> table_entry;  // first entry of the table
    std::uint64_t types_less = 0;
};

std::map<std::uint16_t, Answers>& answers() {
    static std::map<std::uint16_t, Answers> instance;
    return instance;
}

template <typename Function>
Function* real(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace unecho::test

// The linker finds these before those of DPDK's shared library.
extern "C" int rte_eth_dev_rss_reta_update(std::uint16_t port, rte_eth_rss_reta_entry64* table,
                                           std::uint16_t size) {
    const auto& told = unecho::test::answers()[port];
    const int code = told.table_update && !told.table_was_so
                         ? 0
                         : unecho::test::real<decltype(rte_eth_dev_rss_reta_update)>(
                               "rte_eth_dev_rss_reta_update")(port, table, size);
    return told.table_update.value_or(code);
}

extern "C" int rte_eth_dev_rss_reta_query(std::uint16_t port, rte_eth_rss_reta_entry64* table,
                                          std::uint16_t size) {
    const auto& told = unecho::test::answers()[port];
    const int code = told.table_query ? *told.table_query
                                      : unecho::test::real<decltype(rte_eth_dev_rss_reta_query)>(
                                            "rte_eth_dev_rss_reta_query")(port, table, size);
    table->reta[0] = told.table_entry.value_or(table->reta[0]);
    return code;
}

extern "C" int rte_eth_dev_rss_hash_conf_get(std::uint16_t port, rte_eth_rss_conf* conf) {
    const auto& told = unecho::test::answers()[port];
    const int code = told.key_query ? *told.key_query
                                    : unecho::test::real<decltype(rte_eth_dev_rss_hash_conf_get)>(
                                          "rte_eth_dev_rss_hash_conf_get")(port, conf);
    conf->rss_key[0] = told.key_byte.value_or(conf->rss_key[0]);
    conf->rss_hf &= ~told.types_less;
    return code;
}

namespace unecho::test {
namespace {

constexpr std::uint64_t kTypes = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 |
                                 RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
                                 RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP |
                                 RTE_ETH_RSS_NONFRAG_IPV6_UDP;

eal::RssSettings answer_of(unsigned workers) {
    eal::RssSettings answer;
    for (unsigned i = 0; i < 40; ++i) {
        answer.key.push_back(i % 2 == 0 ? 0x6d : 0x5a);
    }
    answer.types = kTypes;
    for (unsigned i = 0; i < 128; ++i) {
        answer.table.push_back(static_cast<std::uint16_t>(i % workers));
    }
    return answer;
}

// Compute the Toeplitz hash bit by bit from its definition, independently of the tested code.
std::uint32_t toeplitz(const Bytes& input, const std::vector<std::uint8_t>& key) {
    std::uint32_t hash = 0;
    std::uint64_t window = 0;
    for (unsigned i = 0; i < 8; ++i) {
        window = window << 8 | key[i];
    }
    std::size_t next = 8;
    for (const std::uint8_t byte : input) {
        for (int bit = 7; bit >= 0; --bit) {
            hash ^= (byte >> bit & 1) != 0 ? static_cast<std::uint32_t>(window >> 32) : 0;
            window <<= 1;
            if (bit == 0) {
                window |= next < key.size() ? key[next] : 0;
                ++next;
            }
        }
    }
    return hash;
}

dataplane::RssModel model_of(const eal::RssSettings& answer, packet::KeyMode key,
                             packet::NonIp non_ip = packet::NonIp::kPass) {
    appliance::Plan plan;
    plan.filters.emplace_back().key = {.mode = key, .non_ip = non_ip};
    return appliance::rss_model(plan, answer);
}

// A port of a typical card: it parses one tag, no MPLS, and no ports of fragments.
class Card {
  public:
    Card(Rig& rig, const eal::RssSettings& answer, PortIndex port, unsigned index)
        : rig_(rig), answer_(answer), port_(port), index_(index) {}

    void receive(const Bytes& frame) {
        rte_mbuf* mbuf = make_mbuf(frame);
        unsigned worker = 0;
        if (const auto hash = hash_of(frame)) {
            mbuf->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
            mbuf->hash.rss = *hash;
            worker = answer_.table[*hash % answer_.table.size()];
        }
        // Worker (i + q) mod n polls queue q of the i-th port.
        const unsigned workers = 3;
        rig_.offer(port_, mbuf, static_cast<QueueId>((worker + workers - index_) % workers));
    }

  private:
    [[nodiscard]] std::optional<std::uint32_t> hash_of(const Bytes& frame) const {
        std::size_t at = 12;
        if (frame[at] == 0x81 && frame[at + 1] == 0) {
            at += 4;
        }
        const bool v4 = frame[at] == 0x08 && frame[at + 1] == 0;
        if (!v4 && !(frame[at] == 0x86 && frame[at + 1] == 0xDD)) {
            return std::nullopt;
        }
        const std::size_t ip = at + 2;
        const std::size_t addresses = ip + (v4 ? 12 : 8);
        const std::size_t size = v4 ? 8 : 32;
        Bytes input(frame.begin() + static_cast<std::ptrdiff_t>(addresses),
                    frame.begin() + static_cast<std::ptrdiff_t>(addresses + size));
        const std::uint8_t protocol = frame[ip + (v4 ? 9 : 6)];
        const bool fragment = v4 && ((frame[ip + 6] & 0x3F) != 0 || frame[ip + 7] != 0);
        if (!fragment && (protocol == 6 || protocol == 17)) {
            const std::size_t ports = ip + (v4 ? 20 : 40);
            input.insert(input.end(), frame.begin() + static_cast<std::ptrdiff_t>(ports),
                         frame.begin() + static_cast<std::ptrdiff_t>(ports + 4));
        }
        return toeplitz(input, answer_.key);
    }

    Rig& rig_;
    const eal::RssSettings& answer_;
    PortIndex port_;
    unsigned index_;
};

// Flows that differ in the sum of their 16-bit words, which is all that a symmetric key hashes.
PacketSpec far_spec(unsigned flow) {
    PacketSpec spec = spec_of(flow, flow);
    spec.destination = flow * 2654435761U;
    return spec;
}

Layout cards(const eal::RssSettings& answer, packet::KeyMode key) {
    Layout layout;
    layout.workers = 3;
    layout.steer = false;
    layout.ports[0].rx_queues = layout.ports[1].rx_queues = 3;
    layout.filters[0].key = key;
    layout.card = model_of(answer, key);
    return layout;
}

// Return the packet as other taps may have seen it.
std::vector<Bytes> dresses(PacketSpec spec) {
    const std::vector<std::pair<std::vector<Tag>, std::vector<std::uint32_t>>> worn{
        {{}, {}},
        {{{0x8100, 7}}, {}},
        {{{0x88A8, 7}}, {}},
        {{{0x88A8, 7}, {0x8100, 8}}, {}},
        {{{0x8100, 7}, {0x8100, 8}}, {}},
        {{{0x8100, 7}, {0x8100, 8}, {0x8100, 9}}, {}},
        {{}, {16}},
        {{{0x8100, 7}}, {16, 17}}};
    std::vector<Bytes> out;
    for (const auto& [tags, labels] : worn) {
        spec.tags = tags;
        spec.labels = labels;
        out.push_back(build(spec));
    }
    return out;
}

TEST_F(Rss, of_the_vectors_that_card_makers_check_by_is_theirs) {
    // "Verifying the RSS hash calculation", Microsoft: 66.9.149.187:2794 -> 161.142.100.80:1766.
    const Bytes key{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                    0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                    0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
    eal::RssSettings answer = answer_of(2);
    answer.key = key;
    const dataplane::RssModel model = model_of(answer, packet::KeyMode::kPacket);
    PacketSpec spec;
    spec.source = 0x420995BB;
    spec.destination = 0xA18E6450;
    spec.source_port = 2794;
    spec.destination_port = 1766;
    const auto hash = [&](const Bytes& frame) {
        return dataplane::rss_hash(
            model, packet::parse_frame(packet::LinkType::kEthernet,
                                       {frame.data(), static_cast<std::uint32_t>(frame.size())}));
    };
    EXPECT_EQ(hash(build(spec)), 0x51ccc178U);
    spec.fragment_offset = 185;
    EXPECT_EQ(hash(build(spec)), 0x323e8fc2U) << "addresses alone";
}

TEST_F(Rss, of_copies_in_every_dress_finds_each_one) {
    for (const auto key : {packet::KeyMode::kPacket, packet::KeyMode::kFlow}) {
        const eal::RssSettings answer = answer_of(3);
        Rig rig(cards(answer, key));
        Card first(rig, answer, 0, 0);
        Card second(rig, answer, 1, 1);
        std::uint64_t copies = 0;
        for (unsigned flow = 0; flow < 120; ++flow) {
            PacketSpec spec = far_spec(flow);
            spec.version = flow % 2 == 0 ? 4 : 6;
            const std::uint8_t icmp = spec.version == 4 ? 1 : 58;
            spec.protocol = flow % 3 == 0 ? 17 : flow % 3 == 1 ? 6 : icmp;
            const std::vector<Bytes> frames = dresses(spec);
            copies += frames.size() - 1;
            for (std::size_t i = 0; i < frames.size(); ++i) {
                (i % 2 == 0 ? first : second).receive(frames[(i + flow) % frames.size()]);
            }
        }
        rig.settle();
        EXPECT_EQ(rig.count(Reason::kNew), 120U);
        EXPECT_EQ(rig.count(Reason::kEcho), copies);
        rig.sent(2);
    }
}

// Packets that every card hashes alike stay on their worker.
TEST_F(Rss, of_plain_packets_leaves_them_where_the_card_put_them) {
    const eal::RssSettings answer = answer_of(3);
    Rig rig(cards(answer, packet::KeyMode::kPacket));
    Card first(rig, answer, 0, 0);
    Card second(rig, answer, 1, 1);
    for (unsigned flow = 0; flow < 300; ++flow) {
        PacketSpec spec = far_spec(flow);
        first.receive(build(spec));
        spec.ttl -= 1;
        spec.tags = {{0x8100, 7}};
        second.receive(build(spec));
        second.receive(arp(flow));
    }
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 300U);
    EXPECT_EQ(rig.count(Reason::kEcho), 300U);
    EXPECT_EQ(rig.count(Reason::kNonIp), 300U);
    for (WorkerIndex w = 1; w < 3; ++w) {
        // Only worker 0 owns a tx queue: the others hand over what they send, and nothing else.
        EXPECT_EQ(rig.worker(w).counters().handed_in, 0U);
        EXPECT_GT(rig.filter_counters(w).insertions, 0U);
    }
    rig.sent(2);
}

// Return true if the hash of a card that hashes these types is trusted for the first bytes of a
// frame.
bool trusted(const Bytes& bytes, std::uint64_t types,
             std::uint64_t flags = RTE_MBUF_F_RX_RSS_HASH) {
    dataplane::RssModel model;
    model.types = types;
    rte_mbuf* const mbuf = make_mbuf(bytes);
    mbuf->ol_flags |= flags;
    const bool out = dataplane::has_trusted_rss_hash(*mbuf, model);
    rte_pktmbuf_free(mbuf);
    return out;
}

// Cards differ in what they read of all but TCP and UDP in plain IP, at most behind one VLAN tag.
TEST_F(Rss, of_what_cards_read_differently_is_not_trusted) {
    constexpr std::uint64_t kTcp = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_TCP;
    constexpr std::uint64_t kUdp = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
    for (const unsigned version : {4U, 6U}) {
        for (const std::uint8_t protocol : {6, 17}) {
            const std::uint64_t types = protocol == 6 ? kTcp : kUdp;
            const PacketSpec plain{.version = version, .protocol = protocol};
            EXPECT_TRUE(trusted(build(plain), types));
            EXPECT_FALSE(trusted(build(plain), types ^ (kTcp | kUdp))) << "another protocol's";
            EXPECT_FALSE(trusted(build(plain), types, 0)) << "not hashed";
            PacketSpec spec = plain;
            spec.tags = {{0x8100, 7}};
            EXPECT_TRUE(trusted(build(spec), types));
            spec.tags = {{0x88A8, 7}};
            EXPECT_FALSE(trusted(build(spec), types));
            for (const std::uint16_t port : {4789, 8472, 6081, 2152}) {
                spec = plain;
                spec.destination_port = port;
                EXPECT_EQ(trusted(build(spec), types), protocol == 6) << port;
                std::swap(spec.source_port, spec.destination_port);
                EXPECT_EQ(trusted(build(spec), types), protocol == 6) << port;
            }
            // Cut before the end of the ports, by the card or by the length that IP states.
            const Bytes frame = build(plain);
            const std::size_t ports_end = 14 + (version == 4 ? 20 : 40) + 4;
            for (std::size_t length = 14; length <= frame.size(); ++length) {
                const Bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
                EXPECT_EQ(trusted(cut, types), length >= ports_end) << length;
            }
            Bytes lying = frame;
            lying[version == 4 ? 16 : 18] = 0;
            lying[version == 4 ? 17 : 19] = version == 4 ? 23 : 3;
            EXPECT_FALSE(trusted(lying, types));
            lying = frame;
            lying[14] ^= 0x10;  // another version
            EXPECT_FALSE(trusted(lying, types));
        }
    }
    const auto changed = [](void (*change)(PacketSpec & spec)) {
        PacketSpec spec{.protocol = 6};
        change(spec);
        return build(spec);
    };
    for (const Bytes& frame :
         {changed([](PacketSpec& spec) {
              spec.options = {1, 1, 1, 1};
          }),
          changed([](PacketSpec& spec) { spec.more_fragments = true; }),
          changed([](PacketSpec& spec) { spec.fragment_offset = 1; }),
          changed([](PacketSpec& spec) { spec.protocol = 132; }), changed([](PacketSpec& spec) {
              spec.version = 6;
              spec.extensions = {{0, {0, 1, 4, 0, 0, 0, 0}}};
          }),
          arp()}) {
        EXPECT_FALSE(trusted(frame, kTcp | kUdp));
    }
}

// A first fragment has the ports of its flow, but cards do not read them.
TEST_F(Rss, of_a_first_fragment_is_with_its_flow_where_keys_are_flows) {
    const eal::RssSettings answer = answer_of(3);
    Rig rig(cards(answer, packet::KeyMode::kFlow));
    Card first(rig, answer, 0, 0);
    Card second(rig, answer, 1, 1);
    for (unsigned flow = 0; flow < 100; ++flow) {
        PacketSpec spec = far_spec(flow);
        first.receive(build(spec));
        spec.more_fragments = true;
        second.receive(build(spec));
    }
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 100U);
    EXPECT_EQ(rig.count(Reason::kEcho), 100U);
    rig.sent(2);
}

TEST_F(Rss, of_a_card_that_flags_nothing_finds_every_copy) {
    const eal::RssSettings answer = answer_of(3);
    Rig rig(cards(answer, packet::KeyMode::kPacket));
    std::mt19937_64 random(3);
    for (unsigned flow = 0; flow < 200; ++flow) {
        rig.offer(0, packet(flow), static_cast<QueueId>(random() % 3));
        rig.offer(1, copy_of(flow), static_cast<QueueId>(random() % 3));
    }
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 200U);
    EXPECT_EQ(rig.count(Reason::kEcho), 200U);
    rig.sent(2);
}

// With `frame` keys frames without IP have a key, but no card hashes them.
TEST_F(Rss, of_frames_without_ip_brings_copies_together_where_keys_are_frames) {
    const eal::RssSettings answer = answer_of(3);
    Rig rig(cards(answer, packet::KeyMode::kFrame));
    for (unsigned i = 0; i < 50; ++i) {
        rig.offer(0, arp(i), static_cast<QueueId>(i % 3));
        rig.offer(1, arp(i), static_cast<QueueId>((i / 3) % 3));
    }
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 50U);
    EXPECT_EQ(rig.count(Reason::kEcho), 50U);
    rig.sent(2);
}

TEST_F(Rss, of_frames_without_ip_brings_copies_together_where_they_are_compared) {
    const eal::RssSettings answer = answer_of(3);
    for (const auto key : {packet::KeyMode::kPacket, packet::KeyMode::kFlow}) {
        Layout layout = cards(answer, key);
        layout.filters[0].non_ip = packet::NonIp::kFrame;
        layout.card = model_of(answer, key, packet::NonIp::kFrame);
        Rig rig(layout);
        for (unsigned i = 0; i < 50; ++i) {
            rig.offer(0, short_arp(i), static_cast<QueueId>(i % 3));
            rig.offer(1, arp_copy(i), static_cast<QueueId>((i / 3) % 3));
        }
        rig.settle();
        EXPECT_EQ(rig.count(Reason::kNew), 50U);
        EXPECT_EQ(rig.count(Reason::kEcho), 50U);
        EXPECT_EQ(rig.count(Reason::kNonIp), 0U);
        rig.sent(2);
    }
}

// --- set-up --------------------------------------------------------------------------------------

// Two taps and a tool of net_null, whose device info claims that they hash.
class Bench {
  public:
    explicit Bench(config::SteeringMode steering = config::SteeringMode::kAuto,
                   const std::string& driver = "net_null") {
        answers().clear();
        for (const char* name : {"tap-a", "tap-b", "tool"}) {
            config::Port port;
            port.name = name;
            port.device = driver + std::to_string(20 + config_.ports.size());
            config_.ports.push_back(port);
            Device spec;
            spec.name = port.device;
            auto opened = eal::Port::open(name, spec);
            EXPECT_TRUE(opened) << opened.error().context;
            ports_.push_back(std::move(*opened));
            facts_.push_back(ports_.back().facts().value());
            EXPECT_FALSE(facts_.back().rss())
                << "net_null takes a configuration but hashes nothing";
            facts_.back().rss_types = kTypes;
            facts_.back().reta_size = 128;
        }
        config::Filter filter;
        filter.name = "echo";
        filter.window = 50 * kMillisecond;
        filter.rate = 1000;
        config_.filters.push_back(filter);
        config::Route route;
        route.from = {0, 1};
        route.to = 2;
        config_.routes.push_back(route);
        config_.workers.lcores = {1, 2, 3};
        config_.workers.steering = steering;
        machine_.cpus = {0, 1, 2, 3};
    }
    ~Bench() { answers().clear(); }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    Answers& told(std::size_t port) { return answers()[ports_[port].id()]; }
    std::vector<eal::Port>& ports() { return ports_; }

    Result<appliance::StartedPorts> start() {
        return appliance::start_ports(
            config_, machine_, facts_, ports_,
            [](const appliance::Plan&) -> Result<rte_mempool*> { return packet_pool(); });
    }

    // Check that start-up chose rings, and return the reason.
    std::string refusal() {
        const auto started = start();
        if (!started) {
            return "error: " + started.error().context;
        }
        EXPECT_EQ(started->plan.steering, appliance::SteeringMode::kRing);
        EXPECT_FALSE(started->card);
        EXPECT_EQ(started->plan.ports[0].setup.rx_queues, 1U);
        return started->plan.steering_reason;
    }

  private:
    config::Config config_;
    appliance::Machine machine_;
    std::vector<eal::Port> ports_;
    std::vector<eal::DeviceInfo> facts_;
};

void expect_contains(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(RssSetup, of_cards_that_answer_alike_is_read_back) {
    Bench bench;
    const auto started = bench.start();
    ASSERT_TRUE(started) << started.error().context;
    EXPECT_EQ(started->plan.steering, appliance::SteeringMode::kRss);
    ASSERT_TRUE(started->card);
    EXPECT_EQ(started->card->entries, 128U);
    for (unsigned i = 0; i < 128; ++i) {
        ASSERT_EQ(started->card->table[i], i % 3);
    }
    for (const std::uint32_t word : started->card->key) {
        EXPECT_EQ(word, 0x6d5a6d5aU);
    }
    EXPECT_NE(started->card->types & RTE_ETH_RSS_NONFRAG_IPV4_UDP, 0U);
}

TEST_F(RssSetup, of_a_table_that_cannot_be_written_takes_it_as_it_is_or_falls_back_to_rings) {
    {
        Bench bench;
        bench.told(1).table_update = -ENOTSUP;  // net_null's table is all zeros
        expect_contains(bench.refusal(), "port \"tap-b\" (net_null) sends packets to 1 of 3");
    }
    {
        Bench bench;
        bench.told(1).table_update = -ENOTSUP;
        bench.told(1).table_was_so = true;
        const auto started = bench.start();
        ASSERT_TRUE(started);
        EXPECT_EQ(started->plan.steering, appliance::SteeringMode::kRss);
    }
    Bench bench;
    bench.told(1).table_update = bench.told(1).table_query = -ENOTSUP;
    expect_contains(bench.refusal(), "port \"tap-b\" (net_null) does not tell");
}

TEST_F(RssSetup, of_answers_that_would_part_copies_falls_back_to_rings_and_says_why) {
    const auto refusal = [](auto tell) {
        Bench bench;
        tell(bench.told(1));
        return bench.refusal();
    };
    expect_contains(refusal([](Answers& a) { a.key_byte = 1; }), "a key of its own");
    expect_contains(refusal([](Answers& a) { a.key_query = -ENOTSUP; }), "does not tell its key");
    expect_contains(refusal([](Answers& a) { a.types_less = RTE_ETH_RSS_NONFRAG_IPV4_UDP; }),
                    "different packet types");
    expect_contains(refusal([](Answers& a) { a.types_less = ~std::uint64_t{0}; }),
                    "none of the packet types");
    expect_contains(refusal([](Answers& a) { a.table_entry = 2; }), "different redirection tables");
    expect_contains(refusal([](Answers& a) { a.table_entry = 3; }), "queue 3, which nobody reads");
}

TEST_F(RssSetup, of_a_card_that_refuses_it_falls_back_to_rings) {
    Bench bench(config::SteeringMode::kAuto, "net_ring");
    expect_contains(bench.refusal(), "port \"tap-a\" (net_ring20): not configured");
}

TEST_F(RssSetup, that_was_asked_for_is_refused_where_copies_would_part) {
    Bench bench(config::SteeringMode::kRss);
    bench.told(0).table_query = -ENOTSUP;
    const std::string text = bench.refusal();
    expect_contains(text, "error: ");
    expect_contains(text, "\"rss\" is not possible");
    expect_contains(text, "tap-a");
}

}  // namespace
}  // namespace unecho::test
