// SPDX-License-Identifier: BSD-3-Clause
// Everything that a report is made of: which captures were read, and what was counted, by one
// process or by one for each shard. Reports contain it in their JSON, so they can be merged.
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

// A capture: inputs that were read together, by one process or by each of its shards.
struct CaptureInfo {
    struct Input {
        std::string path;
        bool plain = false;  // not compressed, as in FileInfo

        template <typename Io>
        void state(Io& io) {
            io(path, plain);
        }
    };
    struct Source {
        std::string name;  // its own name; empty: it has none
        std::uint32_t file = 0;
        std::uint16_t link_type = 0;

        template <typename Io>
        void state(Io& io) {
            io(name, file, link_type);
        }
    };

    ReadCounts read;
    Nanoseconds first = 0;
    Nanoseconds latest = 0;
    Nanoseconds elapsed = 0;
    std::uint32_t shards = 1;
    std::vector<std::uint32_t> parts{1};  // numbers of the shards that are included, rising
    std::uint32_t secret = 0;  // mark of the secret that assigned packets to shards; 0: one shard
    std::vector<Input> inputs;
    std::vector<Source> interfaces;  // those counted separately; the last may be all others
    std::uint64_t other_interfaces = 0;
    std::vector<Note> warnings;
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

struct AnalysisState {
    std::vector<CaptureInfo> captures;  // ordered by when they began
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

// Return the report: echoes classified, interfaces named, a configuration recommended.
[[nodiscard]] Report make_report(std::shared_ptr<const AnalysisState> whole);

// Return the state as one line of JSON, and read it back from the JSON of a whole report. Errors:
// kInvalidArgument for another version or damage, kNoMemory if it needs more than `memory` bytes.
std::string to_json_text(const AnalysisState& whole);
Result<AnalysisState> parse_analysis_state(std::string_view report, std::uint64_t memory);

// Merges reports, in any order.
class ReportMerger {
  public:
    // memory: bytes for the merged state, the next report, and the pages made from the result.
    explicit ReportMerger(std::uint64_t memory) : memory_(memory) {}

    // Add a report. name: its file. Errc::kInvalidArgument: it is no report, or does not fit an
    // earlier one; the message says why. Errc::kNoMemory: it takes too much.
    Status add(const std::string& name, std::string_view report);
    // Return how many bytes the next report may take.
    [[nodiscard]] std::uint64_t room();
    // Return the merged state. Call after a first successful add().
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
