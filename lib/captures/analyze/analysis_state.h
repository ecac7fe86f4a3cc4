// SPDX-License-Identifier: BSD-3-Clause
// All that a report is made of: what was read, and what was counted of it, by one process or by
// several of which each counted a part. Reports hold it in their JSON, so that they merge.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/shard.h"
#include "captures/analyze/collect/findings.h"
#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Inputs that were read together, by one process or by each of the shards.
struct CaptureInfo {
    struct Input {
        std::string path;
        bool plain = false;  // FileInfo's

        template <typename Io>
        void state(Io& io) {
            io(path, plain);
        }
    };
    struct Source {
        std::string name;  // its own; empty: it has none
        std::uint32_t file = 0;
        std::uint16_t link_type = 0;

        template <typename Io>
        void state(Io& io) {
            io(name, file, link_type);
        }
    };
    struct Warning {
        std::string file;
        std::uint64_t number = 0;
        std::uint64_t times = 1;
        std::string text;

        template <typename Io>
        void state(Io& io) {
            io(file, number, times, text);
        }
    };

    ReadCounts read;
    Nanoseconds first = 0;
    Nanoseconds latest = 0;
    Nanoseconds elapsed = 0;
    std::uint32_t shards = 1;
    std::vector<std::uint32_t> parts{1};  // which of them are in it, rising
    std::uint32_t secret = 0;             // a mark of that by which shards were told
    std::vector<Input> inputs;
    std::vector<Source> interfaces;  // up to the last that is counted alone
    std::uint64_t other_interfaces = 0;
    std::vector<Warning> warnings;
    bool incomplete = false;

    [[nodiscard]] std::vector<std::uint32_t> missing() const;

    template <typename Io>
    void state(Io& io) {
        io.name("read", read);
        io.name("first", first);
        io.name("latest", latest);
        io.name("elapsed", elapsed);
        io.name("shards", shards);
        io.name("parts", parts);
        io.name("secret", secret);
        io.name("inputs", inputs);
        io.name("interfaces", interfaces);
        io.name("other_interfaces", other_interfaces);
        io.name("warnings", warnings);
        io.name("incomplete", incomplete);
    }
};

// A configuration that was asked about; what of it is the same in all parts, and what is a sum.
struct WhatIfQuestion {
    packet::KeyMode key = packet::KeyMode::kPacket;
    packet::NonIp non_ip = packet::NonIp::kPass;
    std::vector<std::string> tunnels;
    packet::Tenant tenant = packet::Tenant::kIgnore;
    std::optional<std::uint32_t> key_bytes;
    std::optional<Nanoseconds> window;
    engines::Policy policy = engines::Policy::kFixed;
    packet::Repeats repeats = packet::Repeats::kKeep;
    std::uint64_t first = 1;
    std::uint64_t forgotten = 0;

    [[nodiscard]] static WhatIfQuestion of(const WhatIf& described);
    [[nodiscard]] WhatIf described() const;

    template <typename Io>
    void state(Io& io) {
        io(key, non_ip, tunnels, tenant, key_bytes, window, policy, repeats, first, forgotten);
    }
};

struct AnalysisState {
    std::vector<CaptureInfo> captures;  // the one that began first is the first
    Views views;
    std::vector<std::uint16_t> vxlan_ports;
    std::optional<WhatIfQuestion> asked;

    template <typename Io>
    void state(Io& io) {
        io.name("captures", captures);
        io.name("views", views);
        io.name("vxlan_ports", vxlan_ports);
        io.name("asked", asked);
    }
};

// Judged, named and with a recommendation.
[[nodiscard]] Report make_report(std::shared_ptr<const AnalysisState> whole);

// What a report's JSON holds of it, in one line, and back from the whole report.
// Errc::kInvalidArgument: another version, or damaged. Errc::kNoMemory: it takes more than memory.
std::string to_json_text(const AnalysisState& whole);
Result<AnalysisState> parse_analysis_state(std::string_view report, std::uint64_t memory);

// Takes reports together, in whatever order.
class ReportMerger {
  public:
    // memory: for what is merged, the report that is added, and the pages that are made of it.
    explicit ReportMerger(std::uint64_t memory) : memory_(memory) {}

    // name: of the report's file, for what is said of it. Errc::kInvalidArgument: it is no report,
    // or does not go together with another one; which, why. Errc::kNoMemory: it takes too much.
    Status add(const std::string& name, std::string_view report);
    // How long a report may be.
    [[nodiscard]] std::uint64_t room();
    // After the first one was added.
    [[nodiscard]] AnalysisState take() { return std::move(*whole_); }

  private:
    struct Added {
        std::string name;
        std::vector<CaptureInfo> captures;
    };
    [[nodiscard]] Status check_captures(const std::string& name, const AnalysisState& more) const;

    std::uint64_t memory_;
    std::vector<Added> added_;
    std::optional<AnalysisState> whole_;
};

}  // namespace unecho::analyze
