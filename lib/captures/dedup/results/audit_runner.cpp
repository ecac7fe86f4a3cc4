// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/audit_runner.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/option_names.h"
#include "dedup/pipeline/bits.h"
#include "filters/hash/secret.h"

namespace unecho::dedup {

Result<std::unique_ptr<AuditRunner>> AuditRunner::make(const Options& options, std::uint64_t memory,
                                                       Nanoseconds slack) {
    std::uint64_t seed = options.seed.value_or(0);
    if (!options.seed) {
        const auto random = hash::random_secret();
        UNECHO_TRY(random);
        seed = random->ends[0];
    }
    const pipeline::AuditSecret secret = pipeline::audit_secret_from(seed);
    filter::AuditSpec spec;
    spec.memory = memory;
    spec.window = options.window_time();
    spec.slack = slack;
    spec.policy = options.echo_policy();
    spec.first = options.first.value_or(1);
    spec.begins_whole = true;
    spec.secret = secret.sample;
    const auto params = filter::AuditParams::make(spec);
    if (!params) {
        return fail(Errc::kConfig,
                    fmt::format("{}: too little for {} as well", option::kMemory, option::kAudit));
    }
    auto pages = allocate_packet_memory(filter::Audit::bytes(*params));
    UNECHO_TRY(pages);
    return std::unique_ptr<AuditRunner>(
        new AuditRunner(options, secret, std::move(*pages), *params));
}

AuditRunner::AuditRunner(const Options& options, const pipeline::AuditSecret& secret,
                         MappedMemory memory, const filter::AuditParams& params)
    : memory_(std::move(memory)),
      key_(engines::key_of(spec_of(options))),
      secret_(secret),
      audit_(params, memory_.bytes()),
      stage_(audit_, key_, secret_, crossings_),
      slack_(params.spec().slack) {}

std::vector<engines::PortPairCount> crossings_between(const pipeline::PortPairMatrix& counted,
                                                      const std::vector<std::string>& names) {
    std::vector<std::pair<PortIndex, std::string>> ports;
    for (unsigned i = 0; i < std::min<std::size_t>(names.size(), kMaxPorts); ++i) {
        ports.emplace_back(static_cast<PortIndex>(i),
                           i + 1 < kMaxPorts || names.size() == kMaxPorts ? names[i] : "others");
    }
    return engines::port_pair_counts(counted, ports);
}

void AuditRunner::change_slack(Nanoseconds slack, Nanoseconds now) {
    slack_ = slack;
    audit_.change_slack(slack, now);
}

void AuditRunner::look(const pipeline::Burst& burst, filter::AuditState state) {
    const std::uint64_t sampled = stage_.sampled(burst);
    if (sampled == 0) {
        return;
    }
    state.first = burst.times[0];
    state.last = burst.times[burst.count - 1];
    stage_.inspect(burst, sampled, burst.ports, state, true);
}

engines::AuditReport AuditRunner::report(const Options& options, const DeciderFacts& decider,
                                         Nanoseconds elapsed,
                                         const std::vector<std::string>& names) const {
    engines::AuditFacts facts;
    facts.counters = audit_.counters();
    facts.ages = audit_.ages();
    facts.causes = stage_.totals().causes;
    facts.bits = audit_.bits();
    facts.entries = audit_.entries();
    facts.capacity = audit_.params().entries();
    facts.memory_bytes = memory_.bytes().size();
    facts.elapsed = elapsed;
    facts.window = options.window_time();
    facts.slack = slack_;
    facts.flow_key = packet::is_flow(options.key_mode());
    facts.bound = options.false_drop();
    facts.exact = decider.engine == "exact";
    facts.crossings = crossings_between(crossings_, names);
    return engines::audit_report(std::move(facts));
}

}  // namespace unecho::dedup
