// SPDX-License-Identifier: BSD-3-Clause
// The workers of a plan, each with all that is its own, and the rings between them. Ports are
// started elsewhere and only named here, so tests wire workers over ports of their own as the
// appliance does.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/setup_memory.h"
#include "control/wiring_setup.h"
#include "control/worker_rings.h"

namespace unecho::control {

class Wiring {
  public:
    static Result<std::unique_ptr<Wiring>> make(const WiringInput& input);
    Wiring(const Wiring&) = delete;
    Wiring& operator=(const Wiring&) = delete;
    Wiring(Wiring&&) = delete;
    Wiring& operator=(Wiring&&) = delete;
    ~Wiring() = default;

    [[nodiscard]] std::size_t workers() const { return parts_.size(); }
    [[nodiscard]] dataplane::Worker& worker(std::size_t i) { return *parts_[i]->worker; }
    [[nodiscard]] dataplane::WorkerShared& shared(std::size_t i) { return parts_[i]->shared; }
    // What workers have adopted, or are to.
    [[nodiscard]] const WiringSetup& present() const { return *present_; }
    [[nodiscard]] const dataplane::WorkerSetup& setup(std::size_t i) const {
        return present_->workers[i];
    }
    // Of a filter with a root.
    [[nodiscard]] const RootLinks& root_links(const std::string& filter) const {
        return roots_.at(filter);
    }
    // For tests; by place.
    [[nodiscard]] WorkerFilter& filter_of(std::size_t worker, std::size_t place) {
        return *present_->filters[place]->workers[worker];
    }
    [[nodiscard]] dataplane::FilterShared& filter_shared(std::size_t place) {
        return present_->filters[place]->shared;
    }
    // What the filters take, by the size of the pages that it lies in; both in bytes.
    [[nodiscard]] std::map<std::uint64_t, std::uint64_t> filter_bytes_by_page() const;

    // Allocates all of another plan, while workers go on with the present one.
    Result<SetupSteps> prepare(const SetupChange& change);
    // Workers are to go on with it. The one before, which is to stay until adopted().
    std::unique_ptr<WiringSetup> publish(std::unique_ptr<WiringSetup> setup);
    // All workers go on with the present one.
    [[nodiscard]] bool adopted() const;
    [[nodiscard]] const WorkerRings& rings() const { return rings_; }

  private:
    // What belongs to one worker; stays where it is.
    struct WorkerParts {
        std::vector<dataplane::HeldBack> held_back;
        std::vector<dataplane::ReadAhead> ahead;
        std::vector<MergeHead> merge_order;
        std::vector<std::uint8_t> scratch;
        pipeline::Crossings crossings{};  // of all audits
        pipeline::Crossings answers{};    // of all union rules
        dataplane::WorkerShared shared;
        std::unique_ptr<dataplane::Worker> worker;
    };
    using AllParts = std::vector<std::unique_ptr<WorkerParts>>;

    explicit Wiring(const WiringInput& input);
    static AllParts make_parts(const WiringInput& input);
    static std::vector<SetupMemory::Worker> places_of(const Plan& plan, const AllParts& parts);
    Status find_mbuf_fields();
    Result<std::unique_ptr<WiringSetup>> make_setup(const SetupChange& change,
                                                    const WiringSetup* from);
    void fill_common(WiringSetup& setup, WorkerIndex worker);
    void fill_sources(WiringSetup& setup, const WiringSetup* from, WorkerIndex worker) const;
    void fill_routes(WiringSetup& setup, const WiringSetup* from, WorkerIndex worker) const;
    void fill_ways(WiringSetup& setup, WorkerIndex worker);
    void fill_lanes(WiringSetup& setup, WorkerIndex worker);
    void fill_roots(WiringSetup& setup, WorkerIndex worker) const;
    void fill_taps(WiringSetup& setup, WorkerIndex worker) const;
    void make_room_to_wait(WiringSetup& setup, WorkerIndex worker);
    static std::unique_ptr<WiringSetup> last_of(const WiringSetup& first);

    const WiringInput input_;
    WorkerRings rings_;
    int timestamp_offset_ = -1;
    int tag_offset_ = -1;
    std::uint64_t tx_retry_cycles_;
    AllParts parts_;
    SetupMemory memory_;
    std::map<std::string, RootLinks> roots_;  // by the filter's name; no reload changes them
    std::unique_ptr<WiringSetup> present_;
};

}  // namespace unecho::control
