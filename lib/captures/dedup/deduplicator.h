// SPDX-License-Identifier: BSD-3-Clause
// The verdicts on digested bursts, counted by reason: which packets of a capture are kept. An exact
// table begins. When the packets of a window no longer fit into memory, a filter takes over in the
// middle of the capture, and gets every packet of the window. Instead, the table forgets its oldest
// packets if the window does not fit into a filter either and nearly all echoes are far younger.
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

namespace unecho::dedup {

// An echo and its original, by their numbers in the input, as Wireshark shows them; with several
// inputs, in the merged input, which counts packets only. Packets outside a selection count too.
struct EchoPair {
    std::size_t record = 0;  // index in its batch
    std::uint64_t number = 0;
    std::uint32_t file = 0;
    bool known = false;  // false: a filter decided, which knows no original
    std::uint32_t original_file = 0;
    std::uint64_t original = 0;
    std::int64_t age = 0;
};

struct Verdicts {
    std::vector<std::uint64_t> keep;   // bit i is the batch's record i, 64 to a word
    std::vector<EchoPair> pairs = {};  // of the echoes, if requested
    // Mask of a shard's own records, which alone have verdicts; empty: all.
    std::vector<std::uint64_t> mine = {};
};

class Deduplicator {
  public:
    // memory: for all that is remembered of packets. most_packets: bound of their number, if known.
    // taps: of the inputs, as far as known. Errc::kConfig, kNoMemory.
    static Result<std::unique_ptr<Deduplicator>> make(
        const Options& options, std::uint64_t memory,
        std::optional<std::uint64_t> most_packets = std::nullopt, std::size_t taps = 1);

    // Decide the bursts of a batch of so many packets. Errc::kNoMemory: a filter was to take over,
    // and the system refused the memory that the exact table had; or a shard's table is full.
    Status decide(std::vector<DigestedBurst>& bursts, std::size_t packets, bool with_pairs,
                  Verdicts& verdicts);

    // The evidence that a first reading gathers and a second one learns; empty: none.
    [[nodiscard]] Evidence evidence() const {
        return repeats_ == nullptr ? Evidence() : repeats_->evidence();
    }
    void learn(const Evidence& evidence) {
        if (repeats_ != nullptr && !evidence.empty()) {
            repeats_->learn(evidence);
        }
    }
    // Absent: repeats are dropped.
    [[nodiscard]] std::optional<filter::RepeatCounters> repeats() const {
        return repeats_ == nullptr ? std::nullopt : std::optional(repeats_->counters());
    }
    // Copies among packets without an ID, by pair of inputs. names: of the inputs.
    [[nodiscard]] std::vector<engines::PortPairCount> answers(
        const std::vector<std::string>& names) const {
        return repeats_ == nullptr ? std::vector<engines::PortPairCount>()
                                   : crossings_between(repeats_->answers(), names);
    }

    [[nodiscard]] const ReasonCounts& counts() const { return counts_; }
    // Facts of all deciders so far, with times since the first packet.
    [[nodiscard]] DeciderFacts facts() const;
    // names: of the inputs. Absent: not requested.
    [[nodiscard]] std::optional<engines::AuditReport> audit(
        Nanoseconds elapsed, const std::vector<std::string>& names) const;
    // Notes on the result, a line each.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  private:
    // State while a filter may take over from a full exact table.
    struct ExactPhase {
        std::uint64_t memory;  // for all deciders
        ExactDecider* table;   // the current decider
        EchoAgeSampler ages;
        std::uint64_t next_look = 0;        // up to this packet, the oldest are forgotten
        std::optional<double> filter_rate;  // new packets per second that a filter would hold
    };
    // Facts of the exact table when a filter took over.
    struct ExactPhaseResult {
        DeciderFacts facts;
        std::uint64_t end;  // first packet that the filter decides
        Nanoseconds at;     // time of the last packet before it
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
    const ExactDecider* shard_table_ = nullptr;     // a shard's decider, which must not forget
    std::unique_ptr<AuditRunner> audit_runner_;     // null: no audit
    std::optional<ExactPhase> exact_phase_;         // absent: decider_ stays
    std::optional<ExactPhaseResult> exact_result_;  // set when a filter took over
    std::optional<Nanoseconds> begin_;              // time of the first packet
    Nanoseconds now_ = 0;                           // time of the last
    ReasonCounts counts_;
    std::vector<std::string> notes_;
};

}  // namespace unecho::dedup
