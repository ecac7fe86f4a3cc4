// SPDX-License-Identifier: BSD-3-Clause
// Which packets of a capture are kept: the verdicts on digested bursts, counted by reason. Begins
// exactly; when the packets of a window no longer fit into the memory, a filter takes over in the
// middle of the capture, told of every packet in the window; or the oldest are forgotten, where the
// window does not fit into a filter either and nearly all echoes are far younger.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "offline/decider.h"
#include "offline/digester.h"
#include "offline/echo_ages.h"
#include "offline/exact_decider.h"
#include "offline/filter_decider.h"
#include "offline/non_ip.h"
#include "offline/options.h"
#include "pipeline/reasons.h"

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
    std::vector<std::uint64_t> keep;  // bit i of the batch's record i, 64 to a word
    std::vector<EchoPair> copies;     // where they were asked for
};

using Reasons = std::array<pipeline::PacketBytes, pipeline::kReasons>;

class Deduplicator {
  public:
    // memory: for what it remembers of packets. most_packets: that there can be, if that is known.
    // Errc::kConfig, kNoMemory.
    static Result<std::unique_ptr<Deduplicator>> make(
        const Options& options, std::uint64_t memory,
        std::optional<std::uint64_t> most_packets = std::nullopt);

    // The bursts of a batch of so many packets. Errc::kNoMemory: a filter was to take over, and the
    // machine has not got the memory that the exact table had.
    Status decide(std::vector<DigestedBurst>& bursts, std::size_t packets, bool with_copies,
                  Verdicts& verdicts);

    [[nodiscard]] const Reasons& reasons() const { return reasons_; }
    // Of those counted as non_ip.
    [[nodiscard]] std::vector<NonIpType> non_ip_types() const { return non_ip_.most_first(); }
    [[nodiscard]] std::string engine() const { return decider().engine(); }
    [[nodiscard]] std::string engine_text() const { return decider().text(); }
    // Packet from which a filter decides; 0: none does that did not from the start.
    [[nodiscard]] std::uint64_t handed_over() const { return handed_over_; }
    [[nodiscard]] Nanoseconds slack() const { return decider().slack(); }
    [[nodiscard]] std::uint64_t forgotten() const { return forgotten_ + decider().forgotten(); }
    [[nodiscard]] std::optional<std::uint64_t> planned() const { return decider().planned(); }
    // How much of the window was kept, over all that decided; times since the first packet. Absent:
    // all of it always.
    [[nodiscard]] std::optional<filter::WindowState> window() const;
    // What should be known of the result, a line each.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  private:
    explicit Deduplicator(const Options& options) : options_(options) {}

    [[nodiscard]] Decider& decider() const {
        return exact_ ? static_cast<Decider&>(*exact_) : *other_;
    }
    Status on_full(const DigestedBurst& part);
    Status hand_over(const DigestedBurst& part, std::uint64_t live, engines::FilterPlan plan);
    void count(const pipeline::Burst& burst);
    static void keep_copies(const DigestedBurst& part, const Originals& originals,
                            std::size_t begin, Verdicts& verdicts);

    Options options_;
    std::unique_ptr<ExactDecider> exact_;
    std::unique_ptr<Decider> other_;     // without exact_
    std::uint64_t memory_ = 0;           // in all, where a filter may take over; 0: none may
    std::optional<EchoAges> ages_;       // there
    std::uint64_t next_look_ = 0;        // packet before which its oldest are forgotten
    std::optional<double> filter_rate_;  // new packets per second that a filter would hold
    std::uint64_t handed_over_ = 0;
    std::uint64_t forgotten_ = 0;                // by the table, if a filter took over
    std::optional<filter::WindowState> before_;  // and what it had kept
    Nanoseconds before_at_ = 0;                  // at that time
    std::optional<Nanoseconds> begin_;           // time of the first packet
    Nanoseconds now_ = 0;                        // of the last
    Reasons reasons_{};
    NonIpTypes non_ip_;
    std::vector<std::string> notes_;
};

}  // namespace unecho::offline
