// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/deduplicator.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "packets.h"
#include "support/seed.h"

namespace unecho::dedup {
namespace {

using pipeline::Reason;

constexpr std::uint64_t kPlenty = std::uint64_t{8} << 20;

Options frames(Nanoseconds window) {
    Options options;
    options.repeats = packet::Repeats::kDrop;
    options.key = packet::KeyMode::kFrame;
    options.window = window;
    return options;
}

// Passes a whole capture through a deduplicator, in batches of an odd size.
class Pass {
  public:
    Pass(const Options& options, std::uint64_t memory)
        : digester_({.mode = options.key_mode()}, hash::secret_from_seed(3), options.clock(), 0,
                    true),
          deduplicator_(std::move(*Deduplicator::make(options, memory))) {}

    void take(const Packets& packets) {
        constexpr std::size_t kBatch = 1001;
        std::span<const capture::Record> rest(packets.records());
        Verdicts verdicts;
        while (!rest.empty()) {
            const auto some = rest.first(std::min(rest.size(), kBatch));
            digester_.digest(some, interfaces_, bursts_);
            ASSERT_TRUE(deduplicator_->decide(bursts_, some.size(), true, verdicts));
            for (std::size_t i = 0; i < some.size(); ++i) {
                kept.push_back((verdicts.keep[i / 64] >> i % 64 & 1) != 0);
            }
            pairs.insert(pairs.end(), verdicts.pairs.begin(), verdicts.pairs.end());
            rest = rest.subspan(some.size());
        }
    }

    [[nodiscard]] std::uint64_t count(Reason reason) const {
        return deduplicator_->counts().packets(reason);
    }
    [[nodiscard]] DeciderFacts facts() const { return deduplicator_->facts(); }
    [[nodiscard]] Deduplicator& operator*() { return *deduplicator_; }

    std::vector<bool> kept;
    std::vector<EchoPair> pairs;

  private:
    Digester digester_;
    std::unique_ptr<Deduplicator> deduplicator_;
    std::vector<capture::Interface> interfaces_{interface_of(1, 0), interface_of(1, 1),
                                                interface_of(113, 1)};
    std::vector<DigestedBurst> bursts_;
};

// Return n packets, a microsecond apart. Half of them repeat one of the last `reach`.
Packets random_packets(unsigned n, unsigned reach) {
    std::mt19937_64 random(test::seed());
    Packets packets;
    std::vector<std::uint64_t> contents;
    for (unsigned i = 0; i < n; ++i) {
        const bool fresh = contents.empty() || random() % 2 == 0;
        const std::size_t back = contents.empty() ? 0 : random() % std::min<std::size_t>(reach, i);
        contents.push_back(fresh ? random() : contents[i - 1 - back]);
        packets.add(i * kMicrosecond, contents.back(), static_cast<std::uint32_t>(random() % 3));
    }
    return packets;
}

// With the exact table, with each filter, and with one that takes over in the middle.
TEST(deduplicator, audit_of_all_packets_finds_no_miss) {
    SCOPED_TRACE(test::seed_note());
    const Packets packets = random_packets(60'000, 400);
    struct Asked {
        config::Engine engine;
        std::uint64_t memory;
    };
    for (const auto& [engine, memory] :
         {Asked{config::Engine::kAuto, kPlenty}, Asked{config::Engine::kLine, kPlenty},
          Asked{config::Engine::kTlbf, kPlenty}, Asked{config::Engine::kAuto, 1 << 17}}) {
        Options options = frames(5 * kMillisecond);
        options.engine = engine;
        options.max_false_drop = 1e-3;
        options.audit = true;
        options.seed = 7;
        Pass pass(options, memory);
        pass.take(packets);
        const auto report = (*pass).audit(kSecond, {"a", "b"});
        ASSERT_TRUE(report);
        const filter::AuditCounters& counted = report->facts.counters;
        EXPECT_EQ(counted.sampled, filter::accounted(counted));
        EXPECT_EQ(counted.misses, 0U);
        EXPECT_EQ(report->misses_verdict, engines::AuditVerdict::kHeld);
        EXPECT_NE(report->false_drops_verdict, engines::AuditVerdict::kBroken);
        EXPECT_EQ(report->facts.crossings.size(), 4U);
        if (memory == kPlenty) {
            EXPECT_EQ(counted.sampled, 60'000U);
            EXPECT_EQ(counted.unsettled + counted.not_held, 0U);
            EXPECT_EQ(counted.echoes + counted.slack_echoes + counted.late_echoes +
                          counted.overdue + counted.false_drops,
                      pass.count(Reason::kEcho));
        } else {
            EXPECT_GT(pass.facts().handed_over, 0U);
        }
    }
}

std::uint64_t content_of(const capture::Record& record) {
    std::uint64_t content = 0;
    std::memcpy(&content, record.data, sizeof content);
    return content;
}

TEST(deduplicator, verdicts_and_originals_follow_the_definition) {
    SCOPED_TRACE(test::seed_note());
    const Nanoseconds window = 300 * kMicrosecond;
    const Packets packets = random_packets(20'000, 400);
    Pass pass(frames(window), kPlenty);
    pass.take(packets);
    std::map<std::uint64_t, std::size_t> last;
    std::size_t echoes = 0;
    for (std::size_t i = 0; i < packets.records().size(); ++i) {
        const capture::Record& record = packets.records()[i];
        const auto found = last.find(content_of(record));
        const bool echo =
            found != last.end() && record.time - packets.records()[found->second].time < window;
        ASSERT_EQ(pass.kept[i], !echo) << "packet " << i + 1;
        if (echo) {
            const capture::Record& original = packets.records()[found->second];
            ASSERT_LT(echoes, pass.pairs.size());
            EXPECT_EQ(pass.pairs[echoes].number, i + 1);
            EXPECT_EQ(pass.pairs[echoes].original, found->second + 1);
            EXPECT_EQ(pass.pairs[echoes].age,
                      static_cast<std::int64_t>(record.time - original.time));
            EXPECT_EQ(pass.pairs[echoes].file, record.interface == 0 ? 0u : 1u);
            EXPECT_EQ(pass.pairs[echoes].original_file, original.interface == 0 ? 0u : 1u);
            ++echoes;
        } else {
            last[content_of(record)] = i;
        }
    }
    EXPECT_EQ(echoes, pass.pairs.size());
    EXPECT_EQ(pass.count(Reason::kEcho), echoes);
    EXPECT_EQ(pass.count(Reason::kNew), packets.records().size() - echoes);
    EXPECT_GT(echoes, 5000u);
}

// Check that packets inside the window of their reference are dropped, and that those two windows
// after it, or without one, are kept. Before packet `exact_before` the window is exact.
void check_verdicts(const Packets& packets, const std::vector<bool>& kept, Nanoseconds window,
                    config::Policy policy, std::uint64_t exact_before) {
    std::map<std::uint64_t, Nanoseconds> references;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const capture::Record& record = packets.records()[i];
        const auto found = references.find(content_of(record));
        const bool known = found != references.end();
        const Nanoseconds age = known ? record.time - found->second : 0;
        if (known && age < window) {
            ASSERT_FALSE(kept[i]) << "packet " << i + 1 << " of age " << age;
        } else if (!known || age >= 2 * window || i + 1 < exact_before) {
            ASSERT_TRUE(kept[i]) << "packet " << i + 1;
        }
        if (kept[i] || policy == config::Policy::kRefresh) {
            references[content_of(record)] = record.time;
        }
    }
}

// The table is full in the middle of the capture: every echo before and after must be found.
TEST(deduplicator, a_filter_that_holds_the_window_takes_over_and_misses_nothing) {
    SCOPED_TRACE(test::seed_note());
    for (const config::Policy policy : {config::Policy::kFixed, config::Policy::kRefresh}) {
        Options options = frames(50 * kMillisecond);
        options.policy = policy;
        const Packets packets = random_packets(100'000, 60'000);
        Pass pass(options, std::uint64_t{1} << 20);
        pass.take(packets);
        const std::uint64_t at = pass.facts().handed_over;
        EXPECT_GT(at, 10'000u);
        EXPECT_LT(at, 60'000u);
        EXPECT_EQ(pass.facts().forgotten, 0u);
        ASSERT_EQ((*pass).notes().size(), 1u);
        EXPECT_EQ((*pass).notes()[0].find("packet " + std::to_string(at) + ": "), 0u);
        EXPECT_GT(pass.facts().planned.value_or(0), 60'000u);
        const std::string planned = format_count(pass.facts().planned.value_or(0));
        EXPECT_NE((*pass).notes()[0].find("; planned for " + planned + " new packets in a window"),
                  std::string::npos);
        check_verdicts(packets, pass.kept, *options.window, policy, at);
        EXPECT_EQ(pass.count(Reason::kDoubt), 0u);
        EXPECT_TRUE(pass.pairs.front().known);
        EXPECT_FALSE(pass.pairs.back().known);
    }
}

// Table and filter each get nearly three quarters of the memory. The list of what the table knew
// takes the rest, 16 bytes for each packet.
TEST(deduplicator, table_and_filter_share_the_memory) {
    constexpr std::uint64_t kMemory = std::uint64_t{4} << 20;
    const Packets packets = random_packets(200'000, 1);
    Options options = frames(50 * kMillisecond);
    Pass pass(options, kMemory);
    pass.take(packets);
    EXPECT_EQ(pass.facts().handed_over, 0u);
    options.window = 200 * kMillisecond;
    Pass full(options, kMemory);
    full.take(packets);
    const std::uint64_t at = full.facts().handed_over;
    ASSERT_GT(at, 0u);
    const auto live = static_cast<std::uint64_t>(
        std::count(full.kept.begin(), full.kept.begin() + static_cast<std::ptrdiff_t>(at), true));
    EXPECT_LE(live * 60, kMemory);
    EXPECT_GE(live * 64, kMemory - kMemory / 64);
    const auto plan = FilterDecider::plan(
        options,
        std::array{config::Engine::kLine, config::Engine::kFingerprint, config::Engine::kApbbf},
        kMemory - live * 16);
    ASSERT_TRUE(plan);
    EXPECT_NEAR(static_cast<double>(full.facts().planned.value_or(0)), plan->keys_per_second * 0.2,
                plan->keys_per_second * 0.2 / 100);
}

// Every dropped packet is an echo, and no echo younger than the shortest window is kept.
TEST(deduplicator, more_than_planned_shrinks_the_window) {
    SCOPED_TRACE(test::seed_note());
    const Packets packets = random_packets(300'000, 100'000);
    Options options = frames(300 * kMillisecond);
    Pass pass(options, 300'000);
    pass.take(packets);
    ASSERT_GT(pass.facts().handed_over, 0u);
    EXPECT_LT(pass.facts().planned.value_or(0), 100'000u);
    EXPECT_LT(pass.count(Reason::kDoubt), 100u);
    const auto window = pass.facts().window;
    ASSERT_TRUE(window);
    EXPECT_GT(window->early_turns, 5u);
    EXPECT_GT(window->shortest, 15 * kMillisecond);
    EXPECT_LT(window->shortest, 100 * kMillisecond);
    EXPECT_GT(window->shortest_at, 0u);
    EXPECT_LT(window->shortest_at, 300 * kMillisecond);
    std::map<std::uint64_t, Nanoseconds> kept;
    for (std::size_t i = 0; i < pass.kept.size(); ++i) {
        const capture::Record& record = packets.records()[i];
        const auto [place, fresh] = kept.try_emplace(content_of(record), record.time);
        ASSERT_TRUE(pass.kept[i] || !fresh) << "packet " << i + 1;
        if (!fresh && pass.kept[i]) {
            ASSERT_GE(record.time - place->second, window->shortest) << "packet " << i + 1;
            place->second = record.time;
        }
    }
}

// Return a packet each microsecond. One in five repeats the packet `age` microseconds earlier.
Packets repeated_packets(unsigned n, unsigned age) {
    Packets packets;
    for (unsigned i = 0; i < n; ++i) {
        const bool echo = i >= age && i % 5 == 4 && (i - age) % 5 != 4;
        packets.add(i * kMicrosecond, echo ? i - age : i);
    }
    return packets;
}

constexpr std::uint64_t kLittle = std::uint64_t{1} << 20;
constexpr Nanoseconds kFarTooLong = 10 * kSecond;

// Neither table nor filter can hold the window, but the table finds every echo.
TEST(deduplicator, young_echoes_need_no_filter) {
    const Packets packets = repeated_packets(100'000, 1001);
    Pass pass(frames(kFarTooLong), kLittle);
    pass.take(packets);
    EXPECT_EQ(pass.facts().handed_over, 0u);
    EXPECT_EQ(pass.facts().engine, "exact");
    EXPECT_GT(pass.facts().forgotten, 10'000u);
    EXPECT_LT(pass.facts().window->shortest, 30 * kMillisecond);
    EXPECT_GT(pass.facts().window->shortest, 15 * kMillisecond);
    EXPECT_EQ(pass.count(Reason::kEcho), 99'000u / 5);
    for (const EchoPair& pair : pass.pairs) {
        ASSERT_TRUE(pair.known);
        ASSERT_EQ(pair.age, 1'001'000);
    }
}

// The table cannot find these echoes, because it has always forgotten their originals.
TEST(deduplicator, echoes_older_than_the_table_reaches_bring_a_filter) {
    const Packets packets = repeated_packets(150'000, 40'001);
    Pass pass(frames(kFarTooLong), kLittle);
    pass.take(packets);
    const std::uint64_t at = pass.facts().handed_over;
    EXPECT_GT(at, 40'000u);
    EXPECT_LT(at, 60'000u);
    EXPECT_GT(pass.facts().forgotten, 10'000u);
    EXPECT_LT(pass.facts().window->shortest, 30 * kMillisecond);
    EXPECT_GT(pass.facts().window->achieved, 40'001 * kMicrosecond);
    std::set<std::uint64_t> seen;
    for (std::size_t i = 0; i < pass.kept.size(); ++i) {
        const bool fresh = seen.insert(content_of(packets.records()[i])).second;
        ASSERT_TRUE(pass.kept[i] || !fresh) << "packet " << i + 1;
        ASSERT_TRUE(!pass.kept[i] || fresh || i < at + 40'001) << "packet " << i + 1;
    }
    // The filter does not know what the table has forgotten either.
    Pass shorter(frames(kFarTooLong), kLittle);
    shorter.take(repeated_packets(static_cast<unsigned>(at) + 2000, 40'001));
    EXPECT_EQ(shorter.facts().handed_over, at);
    EXPECT_LT(shorter.facts().window->achieved, 35 * kMillisecond);
}

// Times count from the first packet. The window is the configured one while nothing is forgotten.
TEST(deduplicator, the_window_kept_is_known) {
    Packets packets;
    for (unsigned i = 0; i < 20'000; ++i) {
        packets.add(kSecond + i * kMicrosecond, i);
    }
    Options options = frames(10 * kMillisecond);
    Pass roomy(options, kPlenty);
    roomy.take(packets);
    ASSERT_TRUE(roomy.facts().window);
    EXPECT_EQ(roomy.facts().window->achieved, 10 * kMillisecond);
    EXPECT_EQ(roomy.facts().window->shortest, 10 * kMillisecond);
    options.engine = config::Engine::kExact;
    Pass small(options, 220'000);
    small.take(packets);
    const auto window = small.facts().window;
    ASSERT_TRUE(window);
    const std::uint64_t entries = filter::ReferenceParams::entries_in(220'000);
    EXPECT_EQ(window->shortest, entries * kMicrosecond);
    EXPECT_EQ(window->shortest_at, entries * kMicrosecond);
    EXPECT_EQ(window->achieved, entries * kMicrosecond);
    EXPECT_EQ(window->early_turns, 0u);
}

TEST(deduplicator, without_a_filter_the_oldest_are_forgotten_and_counted) {
    const Packets packets = random_packets(30'000, 30'000);
    for (const bool counted : {false, true}) {
        Options options = frames(filter::kInfiniteWindow);
        if (counted) {
            options.window.reset();
            options.count = 1'000'000;
        }
        Pass pass(options, 400'000);
        pass.take(packets);
        EXPECT_EQ(pass.facts().handed_over, 0u);
        EXPECT_GT(pass.facts().forgotten, 1000u);
        EXPECT_EQ(pass.facts().engine, "exact");
    }
}

TEST(deduplicator, editcap_needs_memory_for_a_million_packets) {
    Options options = frames(kSecond);
    options.editcap = true;
    const auto made = Deduplicator::make(options, kPlenty);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Errc::kConfig);
    EXPECT_EQ(made.error().context.find("--memory"), 0u);
}

TEST(deduplicator, reasons_add_up_and_know_bytes) {
    Options options;
    options.repeats = packet::Repeats::kDrop;
    options.key = packet::KeyMode::kPacket;
    Packets packets;
    packets.add(0, 1);     // cut short
    packets.add(0, 1, 2);  // cut short, another link type
    Pass pass(options, kPlenty);
    pass.take(packets);
    EXPECT_EQ(pass.count(Reason::kMalformed), 2u);
    EXPECT_EQ(pass.count(Reason::kNew), 0u);
    EXPECT_EQ((*pass).counts().reasons()[static_cast<std::size_t>(Reason::kMalformed)].bytes, 16u);
    EXPECT_EQ(pass.kept, (std::vector<bool>{true, true}));
}

}  // namespace
}  // namespace unecho::dedup
