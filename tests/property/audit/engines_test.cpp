// SPDX-License-Identifier: BSD-3-Clause
// The proof of the audit. Each engine runs correctly, and with three deliberate flaws, each of
// which a sample of the keys reveals. A correct filter shows no miss, and its true number of false
// drops.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dedup/engines/audit_report.h"
#include "filters/audit/audit.h"
#include "support/bounds.h"
#include "support/every_engine.h"
#include "support/planned_engine.h"
#include "support/seed.h"

namespace unecho::test {
namespace {

using config::Engine;
using config::OnFull;
using engines::AuditVerdict;
using filter::Answer;
using filter::Audit;
using filter::AuditParams;
using filter::Verdict;

constexpr Nanoseconds kWindow = 5 * kMillisecond;
constexpr double kRate = 400'000;  // packets a second that are no copies
constexpr double kBound = 1e-3;
constexpr unsigned kPackets = 150'000;
constexpr unsigned kSampledBits = 3;

struct Packet {
    Nanoseconds time;
    Digest digest;

    bool operator>(const Packet& other) const { return time > other.time; }
};

// Number of packets of each test; UNECHO_AUDIT_PACKETS overrides it. 10^9 take minutes an engine.
std::uint64_t packets() {
    const char* const given = std::getenv("UNECHO_AUDIT_PACKETS");
    return given == nullptr ? kPackets : std::strtoull(given, nullptr, 10);
}

// Random packets, each with a number of copies: half young, half of any age up to 4/3 of the
// window.
class Traffic {
  public:
    explicit Traffic(unsigned copies) : copies_(copies), random_(seed()) {}

    Packet next() {
        while (waiting_.empty() || waiting_.top().time > next_) {
            if (due_) {
                due_ = false;
                return {next_, add_copies()};
            }
            now_ += gap_(random_);
            next_ = static_cast<Nanoseconds>(now_);
            due_ = true;
        }
        const Packet copy = waiting_.top();
        waiting_.pop();
        return copy;
    }

  private:
    static constexpr double kMedian = 100'000;
    static constexpr double kSigma = 1.2;

    Digest add_copies() {
        const Digest digest = random_();
        for (unsigned i = 0; i < copies_; ++i) {
            const double age = random_() % 2 == 0 ? young_(random_) : any_(random_);
            waiting_.push({next_ + static_cast<Nanoseconds>(age), digest});
        }
        return digest;
    }

    unsigned copies_;
    std::mt19937_64 random_;
    std::exponential_distribution<double> gap_{kRate / kSecond};
    std::lognormal_distribution<double> young_{std::log(kMedian), kSigma};
    std::uniform_real_distribution<double> any_{0, 4.0 / 3 * kWindow};
    std::priority_queue<Packet, std::vector<Packet>, std::greater<>> waiting_;
    double now_ = kSecond;
    Nanoseconds next_ = 0;
    bool due_ = false;
};

// An audit of a filter that claims to keep kWindow.
class Auditor {
  public:
    Auditor(unsigned bits, unsigned first, Nanoseconds slack)
        : params_(*AuditParams::make({.memory = std::uint64_t{64} << 20,
                                      .window = kWindow,
                                      .slack = slack,
                                      .first = first,
                                      .bits = bits,
                                      .begins_whole = true,
                                      .secret = remix(seed(), 9)})),
          memory_(Audit::bytes(params_)),
          audit_(params_, memory_.span()) {}

    // Return the verdict, or nothing if the packet is outside the sample.
    std::optional<Verdict> observe(const Packet& packet, Answer answer,
                                   const filter::AuditState& state) {
        if (audit_.sample().of({&packet.digest, 1}) == 0) {
            return std::nullopt;
        }
        audit_.begin_burst(state);
        return audit_.observe({packet.digest, {}, {}}, {packet.time, answer}, {}).verdict;
    }

    [[nodiscard]] const filter::AuditCounters& counters() const { return audit_.counters(); }
    [[nodiscard]] engines::AuditReport report() const {
        engines::AuditFacts facts;
        facts.counters = audit_.counters();
        facts.ages = audit_.ages();
        facts.window = kWindow;
        facts.bound = kBound;
        facts.elapsed = kSecond;
        return engines::audit_report(facts);
    }

  private:
    AuditParams params_;
    FilterMemory memory_;
    Audit audit_;
};

enum class Flaw { kNone, kBitsLost, kForgetsEarly, kTooSmall };

EnginePlan plan_of(Engine engine, Flaw flaw) {
    EnginePlan plan;
    plan.engine = engine;
    plan.targets = {kWindow, 1.5 * kRate, kBound};  // some copies are not echoes
    plan.first = engine == Engine::kShbfX ? 2U : 1U;
    plan.on_full = engine == Engine::kTlbf ? OnFull::kGrow : OnFull::kShrink;
    if (flaw == Flaw::kForgetsEarly) {
        plan.targets.window = 3 * kWindow / 4;
    } else if (flaw == Flaw::kTooSmall) {
        plan.targets.keys_per_second /= 10;
        plan.on_full = OnFull::kDoubt;  // nothing applies the rule here, so the filter overfills
    }
    plan.targets.keys_per_second *= plan.first;
    return plan;
}

// Sizing never chooses so few fingerprint lines that this traffic would overflow them.
engines::Geometry geometry_of(const EnginePlan& plan, Flaw flaw) {
    engines::Geometry geometry = PlannedEngine::geometry_of(plan);
    if (auto* const lines = std::get_if<sizing::FingerprintGeometry>(&geometry);
        lines != nullptr && flaw == Flaw::kTooSmall) {
        lines->lines = 10;
    }
    return geometry;
}

class Tested {
  public:
    Tested(Engine engine, Flaw flaw)
        : flaw_(flaw),
          engine_(plan_of(engine, flaw), geometry_of(plan_of(engine, flaw), flaw)),
          full_(0, engine_.plan().first, engine_.prediction().slack),
          sampled_(kSampledBits, engine_.plan().first, engine_.prediction().slack) {}

    void run() {
        Traffic traffic(engine_.plan().first);
        const std::uint64_t all = packets();
        for (std::uint64_t n = 0; n < all && !testing::Test::HasFailure(); ++n) {
            if (flaw_ == Flaw::kBitsLost && n % 100 == 0) {
                lose_bits();
            }
            observe(traffic.next());
        }
    }

    [[nodiscard]] const filter::AuditCounters& all() const { return full_.counters(); }
    [[nodiscard]] const filter::AuditCounters& sample() const { return sampled_.counters(); }
    [[nodiscard]] engines::AuditReport report() const { return sampled_.report(); }

  private:
    void observe(const Packet& packet) {
        const filter::Answers answers = engine_.observe({&packet.digest, 1}, &packet.time);
        const Answer answer = answers.echoes != 0   ? Answer::kEcho
                              : answers.doubts != 0 ? Answer::kDoubt
                                                    : Answer::kNew;
        filter::AuditState state;
        state.first = state.last = packet.time;
        state.window = engine_.window(packet.time);
        state.counters = engine_.ops().counters(engine_.address());
        if (flaw_ == Flaw::kForgetsEarly) {
            state.window.achieved = kWindow;  // the flaw: it claims the whole window
        }
        const auto judged = full_.observe(packet, answer, state);
        const auto sampled = sampled_.observe(packet, answer, state);
        ASSERT_TRUE(judged);
        ASSERT_TRUE(!sampled || *sampled == *judged);
    }

    // Zero a random cache line of bits. In the exact table, zero the digest of one entry instead,
    // because its links must stay valid.
    void lose_bits() {
        const std::span<std::byte> memory = engine_.memory();
        if (const auto* exact = std::get_if<sizing::ExactGeometry>(&engine_.geometry())) {
            const std::size_t heads = filter::align_to_line(2 * exact->entries * 4);
            const std::size_t entry = 1 + random_() % exact->entries;
            std::memset(memory.data() + heads + entry * filter::Exact::kEntryBytes, 0,
                        sizeof(Digest));
            return;
        }
        // Skip the filter's own state before and after the bits. A ring of segments is not skipped:
        // it is so small that hardly any random line falls into it.
        const auto engine = engine_.plan().engine;
        const std::size_t begin = engine == Engine::kLine ? filter::LineFilter::table_bytes()
                                  : engine == Engine::kFingerprint
                                      ? filter::FingerprintFilter::table_bytes()
                                  : engine == Engine::kTlbf ? sizing::kTlbfStateBytes
                                  : engine == Engine::kBtbf ? filter::kCacheLine
                                                            : 0;
        const std::size_t end = engine == Engine::kBtbf ? filter::kCacheLine : 0;
        const std::size_t lines = (memory.size() - begin - end) / filter::kCacheLine;
        std::memset(memory.data() + begin + random_() % lines * filter::kCacheLine, 0,
                    filter::kCacheLine);
    }

    Flaw flaw_;
    PlannedEngine engine_;
    Auditor full_;
    Auditor sampled_;
    std::mt19937_64 random_{seed()};
};

class AuditOf : public testing::TestWithParam<Engine> {};

TEST_P(AuditOf, a_right_filter_finds_no_miss_and_its_false_drops) {
    SCOPED_TRACE(seed_note());
    Tested tested(GetParam(), Flaw::kNone);
    tested.run();
    const filter::AuditCounters& all = tested.all();
    const filter::AuditCounters& sample = tested.sample();
    EXPECT_EQ(all.misses + filter::explained_misses(all), 0U);
    EXPECT_EQ(sample.misses + filter::explained_misses(sample), 0U);
    EXPECT_EQ(tested.report().misses_verdict, AuditVerdict::kHeld);
    EXPECT_EQ(filter::accounted(sample), sample.sampled);
    EXPECT_EQ(all.sampled, all.sampled - all.unsettled - all.not_held);
    const auto count = static_cast<double>(filter::new_packets(all));
    EXPECT_LE(static_cast<double>(all.false_drops), binomial_bounds(count, kBound).high);
    // The sample contains its expected share of packets and of false drops.
    const double share = std::ldexp(1.0, -static_cast<int>(kSampledBits));
    const Counts packets = binomial_bounds(count, share);
    EXPECT_GE(static_cast<double>(filter::new_packets(sample)), packets.low);
    EXPECT_LE(static_cast<double>(filter::new_packets(sample)), packets.high);
    const Counts drops = binomial_bounds(static_cast<double>(all.false_drops), share);
    EXPECT_GE(static_cast<double>(sample.false_drops), drops.low);
    EXPECT_LE(static_cast<double>(sample.false_drops), drops.high);
    EXPECT_NE(tested.report().false_drops_verdict, AuditVerdict::kBroken);
    RecordProperty("false_drops", std::to_string(all.false_drops));
}

TEST_P(AuditOf, a_filter_that_loses_bits_finds_misses) {
    SCOPED_TRACE(seed_note());
    Tested tested(GetParam(), Flaw::kBitsLost);
    tested.run();
    EXPECT_GT(tested.sample().misses, 0U);
    EXPECT_EQ(tested.report().misses_verdict, AuditVerdict::kBroken);
}

TEST_P(AuditOf, a_filter_that_forgets_too_early_finds_misses) {
    SCOPED_TRACE(seed_note());
    Tested tested(GetParam(), Flaw::kForgetsEarly);
    tested.run();
    EXPECT_GT(tested.sample().misses, 0U);
    EXPECT_EQ(tested.report().misses_verdict, AuditVerdict::kBroken);
}

// Engines that keep times, and fingerprint lines, report what they evicted, so misses are
// explained. The other engines overfill, so false drops exceed the bound.
TEST_P(AuditOf, a_filter_for_a_tenth_of_the_traffic_is_told) {
    SCOPED_TRACE(seed_note());
    Tested tested(GetParam(), Flaw::kTooSmall);
    tested.run();
    EXPECT_EQ(tested.sample().misses, 0U);
    if (!engines::info_of(GetParam()).by_generation || GetParam() == Engine::kFingerprint) {
        EXPECT_GT(tested.sample().misses_evicted + tested.sample().misses_arena_full, 0U);
        EXPECT_FALSE(tested.report().advice.empty());
    } else {
        EXPECT_EQ(tested.report().false_drops_verdict, AuditVerdict::kBroken);
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, AuditOf, testing::ValuesIn(every_engine()), case_name);

}  // namespace
}  // namespace unecho::test
