// SPDX-License-Identifier: BSD-3-Clause
// A filter under measurement. It is sized as the appliance sizes it, for as many keys as fit into
// the wanted memory, and filled to its steady state. Between measured windows its generations turn
// and its segments are zeroed, as the control thread does it beside a worker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "appliance/dataplane/shared.h"
#include "appliance/timers/segment_zeroer.h"
#include "appliance/topology/worker_filter.h"
#include "base/result.h"
#include "traffic.h"

namespace unecho::bench {

using engines::Engine;

// An engine to measure, for a bound on false drops, which line filters enforce for each packet; or
// the line filter with so many lines a key, at the bound for which these are meant. "looking" is
// plain traffic with tunnels to be opened.
struct Contender {
    const char* name;
    Engine engine;
    double max_false_drop;
    unsigned lines = 0;
    bool looks_into_tunnels = false;  // all encapsulations
    Tunnel tunnel = Tunnel::kNone;    // around each of its packets
    packet::Repeats repeats = packet::Repeats::kDrop;
    bool without_id = false;  // its packets are not identified
};

inline constexpr Contender kContenders[]{
    {"line-m1", Engine::kLine, 1e-2, 1},
    {"line-m2", Engine::kLine, 1e-3, 2},
    {"line-m3", Engine::kLine, 1e-6, 3},
    {"fingerprint-16", Engine::kFingerprint, 1e-3},
    {"fingerprint-26", Engine::kFingerprint, 1e-6},
    {"apbbf", Engine::kApbbf, 1e-6},
    {"apbf", Engine::kApbf, 1e-6},
    {"exact", Engine::kExact, 1e-6},
    {"fingerprint-26-kept", Engine::kFingerprint, 1e-6, 0, false, Tunnel::kNone,
     packet::Repeats::kKeep},
    {"fingerprint-26-no-id", Engine::kFingerprint, 1e-6, 0, false, Tunnel::kNone,
     packet::Repeats::kKeep, true},
    {"line-m3-kept", Engine::kLine, 1e-6, 3, false, Tunnel::kNone, packet::Repeats::kKeep},
    {"line-m3-no-id", Engine::kLine, 1e-6, 3, false, Tunnel::kNone, packet::Repeats::kKeep, true},
    {"line-m2-looking", Engine::kLine, 1e-3, 2, true},
    {"line-m2-vxlan", Engine::kLine, 1e-3, 2, true, Tunnel::kVxlan},
    {"line-m2-gtp-u", Engine::kLine, 1e-3, 2, true, Tunnel::kGtpU},
};

class Subject {
  public:
    // Make a subject with at most, and nearly, `bytes` of memory.
    static Result<std::unique_ptr<Subject>> make(const Contender& contender, std::uint64_t bytes,
                                                 bool has_hugepages);

    // Insert the keys of a whole window and its slack; they differ from those of any packet.
    void fill();

    // Bring a table that fits into the caches shared with other rows back into them.
    void touch() const;

    // Do what is due: a generation for each g inserted keys, and zeroed segments.
    void keep_house();

    [[nodiscard]] const pipeline::FilterContext& context() const { return context_; }
    [[nodiscard]] dataplane::WorkerFilterShared& filter_shared_of_worker() {
        return instance_->shared();
    }
    [[nodiscard]] const dataplane::FilterShared& filter_shared() const { return shared_; }
    [[nodiscard]] std::uint64_t turns() const;
    [[nodiscard]] bool by_generation() const { return plan_.engine().by_generation; }
    [[nodiscard]] const filter::FilterCounters& counters() const {
        return context_.ops->counters(context_.filter);
    }

    [[nodiscard]] Tunnel tunnel() const { return tunnel_; }
    [[nodiscard]] bool without_id() const { return without_id_; }
    // Return the bound, a probability.
    [[nodiscard]] double most_false_drops() const { return most_false_drops_; }
    [[nodiscard]] std::uint64_t bytes() const { return instance_->instance().memory().size(); }
    [[nodiscard]] bool on_hugepages() const { return instance_->page_bytes() > 4096; }
    [[nodiscard]] const engines::FilterPlan& plan() const { return plan_; }

  private:
    Subject(const Contender& contender, engines::FilterPlan plan,
            std::unique_ptr<appliance::WorkerFilter> instance);

    void zero_retired();

    double most_false_drops_;
    Tunnel tunnel_;
    bool without_id_;
    engines::FilterPlan plan_;
    std::unique_ptr<appliance::WorkerFilter> instance_;
    pipeline::FilterContext context_;
    dataplane::FilterShared shared_;
    appliance::SegmentZeroer zeroer_;
    std::uint64_t turned_at_ = 0;  // insertions when the present generation began
};

}  // namespace unecho::bench
