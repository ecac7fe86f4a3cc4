// SPDX-License-Identifier: BSD-3-Clause
// The exact table with references against a map that follows the definition, packet by packet.
#include "filters/window/reference_table.h"

#include <map>
#include <optional>

#include "streams.h"
#include "support/instance.h"
#include "support/window_oracle.h"

namespace unecho::test::reference_table_test {
namespace {

using filter::EchoPolicy;
using filter::PacketReference;
using filter::ReferenceSpec;
using filter::ReferenceTable;

using Table = FilterInstance<ReferenceTable>;

// The last packet of each key that was accepted (fixed) or seen (refresh).
class Model {
  public:
    explicit Model(const ReferenceSpec& spec) : spec_(spec) {}

    std::optional<PacketReference> observe(Digest key, const PacketReference& seen) {
        const auto found = last_.find(key);
        std::optional<PacketReference> answer;
        if (found != last_.end() && inside(found->second, seen)) {
            answer = found->second;
        }
        if (!answer || spec_.policy == EchoPolicy::kRefresh) {
            last_[key] = seen;
        }
        return answer;
    }

    [[nodiscard]] std::size_t live(const PacketReference& seen) const {
        std::size_t n = 0;
        for (const auto& [key, reference] : last_) {
            n += inside(reference, seen) ? 1 : 0;
        }
        return n;
    }

  private:
    [[nodiscard]] bool inside(const PacketReference& reference, const PacketReference& seen) const {
        return (spec_.window == filter::kInfiniteWindow ||
                seen.time - reference.time < spec_.window) &&
               seen.number - reference.number <= spec_.count;
    }

    ReferenceSpec spec_;
    std::map<Digest, PacketReference> last_;
};

struct Packet {
    Digest digest;
    PacketReference seen;
};

// Times rise from `start`; equal ones are frequent. Numbers mostly rise by one: some have no key.
std::vector<Packet> random_packets(Random& random, Nanoseconds start, const ReferenceSpec& spec) {
    Digests digests(random);
    std::vector<Packet> packets;
    const Nanoseconds step = spec.window == filter::kInfiniteWindow ? 1000 : spec.window;
    PacketReference seen{start, random.below(3), 0};
    for (unsigned i = 0; i < 1500; ++i) {
        seen.time += random.one_in(2)     ? 0
                     : random.one_in(200) ? 2 * step
                     : random.one_in(20)  ? step
                                          : random.below(step / 10 + 2);
        seen.number += random.one_in(10) ? 1 + random.below(5) : 1;
        seen.tag = static_cast<std::uint32_t>(random.below(4));
        packets.push_back({digests.next(), seen});
    }
    return packets;
}

template <typename Function>
void for_each_case(Function function) {
    std::uint64_t index = 0;
    for (const Nanoseconds window :
         {Nanoseconds{1}, Nanoseconds{10}, Nanoseconds{1'000'000'007}, filter::kInfiniteWindow}) {
        for (const std::uint64_t count :
             {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{37}, filter::kAnyCount}) {
            for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
                ++index;
                SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " window " +
                             std::to_string(window) + " count " + std::to_string(count));
                Random random(index);
                const ReferenceSpec spec{
                    .entries = 1, .window = window, .count = count, .policy = policy};
                const Nanoseconds start = random.one_in(2) ? 0 : std::uint64_t{1} << 62;
                function(spec, random_packets(random, start, spec), random);
                if (testing::Test::HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

std::size_t most_live(const ReferenceSpec& spec, const std::vector<Packet>& packets) {
    Model model(spec);
    std::size_t most = 1;
    for (const Packet& packet : packets) {
        model.observe(packet.digest, packet.seen);
        most = std::max(most, model.live(packet.seen));
    }
    return most;
}

// The table has just as many entries as digests live at once: growth and eviction are exact.
TEST(reference_table, equals_the_model_with_just_enough_entries) {
    for_each_case([](ReferenceSpec spec, const std::vector<Packet>& packets, Random&) {
        spec.entries = most_live(spec, packets);
        Table table(spec);
        Model model(spec);
        unsigned echoes = 0;
        for (std::size_t i = 0; i < packets.size(); ++i) {
            PacketReference reference;
            const auto expected = model.observe(packets[i].digest, packets[i].seen);
            const bool echo =
                table.filter.test_and_insert(packets[i].digest, packets[i].seen, reference);
            ASSERT_EQ(echo, expected.has_value()) << "packet " << i;
            ASSERT_TRUE(!echo || reference == *expected) << "packet " << i;
            echoes += echo ? 1 : 0;
        }
        ASSERT_EQ(table.filter.counters().evicted_early, 0u);
        ASSERT_TRUE(echoes > 10 || spec.count == 1 || spec.window == 1);
    });
}

TEST(reference_table, one_entry_too_few_is_counted) {
    for_each_case([](ReferenceSpec spec, const std::vector<Packet>& packets, Random&) {
        spec.entries = most_live(spec, packets);
        if (spec.entries == 1) {
            return;
        }
        --spec.entries;
        Table table(spec);
        bool room = true;
        for (const Packet& packet : packets) {
            room = room && table.filter.has_room(1, packet.seen);
            PacketReference reference;
            table.filter.test_and_insert(packet.digest, packet.seen, reference);
        }
        ASSERT_GT(table.filter.counters().evicted_early, 0u);
        ASSERT_FALSE(room);
    });
}

TEST(reference_table, burst_equals_sequence) {
    for_each_case([](ReferenceSpec spec, const std::vector<Packet>& packets, Random& random) {
        spec.entries = 1 + random.below(2 * most_live(spec, packets));
        const unsigned first = 1 + static_cast<unsigned>(random.below(3));
        Table burst(spec);
        Table single(spec);
        for (std::size_t next = 0; next < packets.size();) {
            const std::size_t size =
                std::min<std::size_t>(random.below(kMaxBurst + 1), packets.size() - next);
            std::vector<Digest> digests;
            std::vector<PacketReference> seen;
            std::vector<PacketReference> expected(size);
            std::vector<PacketReference> references(size);
            std::uint64_t echoes = 0;
            for (std::size_t i = 0; i < size; ++i) {
                digests.push_back(packets[next + i].digest);
                seen.push_back(packets[next + i].seen);
                echoes |= std::uint64_t{single.filter.test_and_insert_first(digests[i], first,
                                                                            seen[i], expected[i])}
                          << i;
            }
            ASSERT_EQ(
                burst.filter.test_and_insert_burst(digests, first, seen.data(), references.data()),
                echoes)
                << "from " << next;
            ASSERT_EQ(references, expected) << "from " << next;
            next += size;
        }
    });
}

// "The first n packets of a flow" gives the same verdicts as in every other filter.
TEST(reference_table, first_equals_the_window_oracle) {
    for_each_case([](ReferenceSpec spec, const std::vector<Packet>& packets, Random& random) {
        if (spec.count != filter::kAnyCount) {
            return;
        }
        const unsigned first = 1 + static_cast<unsigned>(random.below(4));
        spec.entries = packets.size();
        Table table(spec);
        WindowOracle oracle(spec.window == filter::kInfiniteWindow ? kForEver : spec.window,
                            spec.policy == EchoPolicy::kFixed ? WindowOracle::Policy::kFixed
                                                              : WindowOracle::Policy::kRefresh,
                            first);
        for (std::size_t i = 0; i < packets.size(); ++i) {
            PacketReference reference;
            ASSERT_EQ(table.filter.test_and_insert_first(packets[i].digest, first, packets[i].seen,
                                                         reference),
                      oracle.observe(packets[i].digest, packets[i].seen.time))
                << "packet " << i << " first " << first;
        }
    });
}

}  // namespace
}  // namespace unecho::test::reference_table_test
