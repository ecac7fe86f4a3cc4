// SPDX-License-Identifier: BSD-3-Clause
// Which packets of a capture are kept: the verdicts on digested bursts, counted by reason. Begins
// exactly; when the packets of a window no longer fit into the memory, a filter takes over in the
// middle of the capture, told of every packet in the window; or the oldest are forgotten, where the
// window does not fit into a filter either and nearly all echoes are far younger.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/dedup/deciders/decider.h"
#include "captures/dedup/deciders/exact_decider.h"
#include "captures/dedup/deciders/filter_decider.h"
#include "captures/dedup/deciders/repeat_decider.h"
#include "captures/dedup/digester.h"
#include "captures/dedup/options.h"
#include "captures/dedup/results/audit_runner.h"
#include "captures/dedup/results/echo_age_sampler.h"
#include "captures/dedup/results/reason_counts.h"

namespace unecho::offline {

// An echo, with packet numbers of the input, as Wireshark shows them; of several those of the
// merged input, of which packets alone are counted. What is left out before counts too.
struct EchoPair {
    std::size_t record = 0;  // of its batch
    std::uint64_t number = 0;
    std::uint32_t file = 0;
    bool known = false;  // the rest is: a filter knows of no original
    std::uint32_t original_file = 0;
    std::uint64_t original = 0;
    std::int64_t age = 0;
};

struct Verdicts {
    std::vector<std::uint64_t> keep;   // bit i of the batch's record i, 64 to a word
    std::vector<EchoPair> pairs = {};  // of the echoes, where they were asked for
    // As keep, of a shard's own records, of which alone there are verdicts; empty: all.
    std::vector<std::uint64_t> mine = {};
};

class Deduplicator {
  public:
    // memory: for what it remembers of packets. most_packets: that there can be, if that is known.
    // Errc::kConfig, kNoMemory.
    // taps: of the inputs, as far as they are known.
    static Result<std::unique_ptr<Deduplicator>> make(
        const Options& options, std::uint64_t memory,
        std::optional<std::uint64_t> most_packets = std::nullopt, std::size_t taps = 1);

    // The bursts of a batch of so many packets. Errc::kNoMemory: a filter was to take over, and the
    // machine has not got the memory that the exact table had; or a shard's table is full.
    Status decide(std::vector<DigestedBurst>& bursts, std::size_t packets, bool with_pairs,
                  Verdicts& verdicts);

    // What a first reading learns, and a second one goes on with; empty: nothing.
    [[nodiscard]] Evidence evidence() const {
        return repeats_ == nullptr ? Evidence() : repeats_->evidence();
    }
    void learn(const Evidence& evidence) {
        if (repeats_ != nullptr && !evidence.empty()) {
            repeats_->learn(evidence);
        }
    }
    // Absent: repeats are not kept.
    [[nodiscard]] std::optional<filter::RepeatCounters> repeats() const {
        return repeats_ == nullptr ? std::nullopt : std::optional(repeats_->counters());
    }
    // Copies among packets without an ID; names: of the inputs.
    [[nodiscard]] std::vector<engines::PortPairCount> answers(
        const std::vector<std::string>& names) const {
        return repeats_ == nullptr ? std::vector<engines::PortPairCount>()
                                   : crossings_between(repeats_->answers(), names);
    }

    [[nodiscard]] const ReasonCounts& counts() const { return counts_; }
    // Of all that decided; times of the window since the first packet.
    [[nodiscard]] DeciderFacts facts() const;
    // names: of the inputs. Absent: not asked for.
    [[nodiscard]] std::optional<engines::AuditReport> audit(
        Nanoseconds elapsed, const std::vector<std::string>& names) const;
    // What should be known of the result, a line each.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  private:
    // As long as a filter may take over from the exact table when that is full.
    struct ExactPhase {
        std::uint64_t memory;  // for all that decides
        ExactDecider* table;   // which decides
        EchoAgeSampler ages;
        std::uint64_t next_look = 0;        // packet up to which the oldest are forgotten meanwhile
        std::optional<double> filter_rate;  // new packets per second that a filter would hold
    };
    // What the table had to say when a filter took over.
    struct ExactPhaseResult {
        DeciderFacts facts;
        std::uint64_t end;  // packet from which the filter decides
        Nanoseconds at;     // time of that packet's burst
    };

    explicit Deduplicator(const Options& options) : options_(options) {}

    Status decide(DigestedBurst& digested, Originals& originals);
    void look(const DigestedBurst& digested);
    Status choose_decider(std::uint64_t memory, std::optional<std::uint64_t> most_packets);
    Status begin_with_table(std::uint64_t memory);
    Status on_full(const DigestedBurst& digested);
    Status switch_to_filter(const DigestedBurst& digested, std::uint64_t live,
                            engines::FilterPlan plan);

    Options options_;
    std::unique_ptr<Decider> decider_;
    std::unique_ptr<RepeatDecider> repeats_;        // null: repeats are dropped
    const ExactDecider* shard_table_ = nullptr;     // of a shard: the decider, which may not forget
    std::unique_ptr<AuditRunner> audit_runner_;     // null: not audited
    std::optional<ExactPhase> exact_phase_;         // absent: decider_ stays
    std::optional<ExactPhaseResult> exact_result_;  // a filter took over
    std::optional<Nanoseconds> begin_;              // time of the first packet
    Nanoseconds now_ = 0;                           // of the last
    ReasonCounts counts_;
    std::vector<std::string> notes_;
};

}  // namespace unecho::offline
