// SPDX-License-Identifier: BSD-3-Clause
#include "commands/what_if.h"

#include <string>
#include <utility>
#include <vector>

#include "captures/dedup/deduplicator.h"
#include "captures/dedup/digester.h"
#include "config/schema.h"

namespace unecho::app {
namespace {

class PcapRemover final : public analyze::PacketRemover {
  public:
    PcapRemover(const dedup::Options& options, const hash::Secret& secret, std::size_t taps,
                std::unique_ptr<dedup::Deduplicator> deduplicator)
        : options_(options),
          digester_(dedup::key_of(options, taps), secret, options.clock(), 0, false, {},
                    options.groups),
          deduplicator_(std::move(deduplicator)) {}

    Status decide(const capture::Batch& batch, const capture::InterfaceView& interfaces,
                  std::vector<std::size_t>& removed) override {
        digester_.digest(batch.records, interfaces, bursts_);
        if (const Status decided =
                deduplicator_->decide(bursts_, batch.records.size(), true, verdicts_);
            !decided) {
            return decided;
        }
        removed.clear();
        for (const dedup::EchoPair& echo : verdicts_.pairs) {
            removed.push_back(echo.record);
        }
        return {};
    }

    [[nodiscard]] analyze::WhatIfQuestion described() const override {
        analyze::WhatIfQuestion out;
        out.key = options_.key_mode();
        out.non_ip = options_.non_ip_or_pass();
        for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
            if (options_.tunnels.has(info.encapsulation)) {
                out.tunnels.emplace_back(info.name);
            }
        }
        out.tenant = options_.tenant.value_or(packet::default_tenant(out.key));
        out.tags = options_.tags.value_or(packet::Tags::kIgnore);
        out.key_bytes = options_.key_bytes;
        if (options_.window_time() != filter::kInfiniteWindow) {
            out.window = options_.window_time();
        }
        out.policy = options_.policy_or_fixed();
        out.repeats = options_.keeps_repeats() ? packet::Repeats::kKeep : packet::Repeats::kDrop;
        out.first = options_.first.value_or(1);
        out.forgotten = deduplicator_->facts().forgotten;
        return out;
    }

  private:
    dedup::Options options_;
    dedup::Digester digester_;
    std::unique_ptr<dedup::Deduplicator> deduplicator_;
    std::vector<dedup::DigestedBurst> bursts_;
    dedup::Verdicts verdicts_;
};

}  // namespace

void add_what_if_options(CLI::App& command, WindowOptions& options, RepeatOptions& repeats) {
    add_window_options(
        command, options,
        {.key = "Show what a configuration would do here whose key is",
         .non_ip = "The same, comparing frames without an IP packet",
         .tunnels = "The same, looking into these encapsulations",
         .tags = "The same, comparing VLANs and MPLS labels (compare), or by where they say that a "
                 "packet was seen (point)",
         .window = "The same with this window",
         .policy = "The same with this policy",
         .first = "The same with so many packets of a flow that pass in each window"});
    add_repeat_options(command, repeats);
}

Result<dedup::Options> read_what_if(const WindowOptions& given, const RepeatOptions& repeats) {
    dedup::Options out;
    out.engine = config::Engine::kExact;
    OptionReader read;
    read_window_options(read, given, out);
    read_repeat_options(read, repeats, out);
    const Status status = read.status() ? dedup::check(out) : read.status();
    return status ? Result<dedup::Options>(out) : tl::unexpected(status.error());
}

Result<std::unique_ptr<analyze::PacketRemover>> make_pcap_remover(const dedup::Options& options,
                                                                  std::uint64_t memory,
                                                                  const hash::Secret& secret,
                                                                  std::size_t taps) {
    auto deduplicator = dedup::Deduplicator::make(options, memory, std::nullopt, taps);
    UNECHO_TRY(deduplicator);
    return std::make_unique<PcapRemover>(options, secret, taps, std::move(*deduplicator));
}

}  // namespace unecho::app
