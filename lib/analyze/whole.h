// SPDX-License-Identifier: BSD-3-Clause
// All that a report is made of: what was read, and what was counted of it, by one process or by
// several of which each counted a part. Reports hold it in their JSON, so that they merge.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analyze/findings.h"
#include "analyze/report.h"
#include "base/result.h"
#include "base/shard.h"

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
struct Asked {
    packet::KeyMode key = packet::KeyMode::kPacket;
    packet::NonIp non_ip = packet::NonIp::kPass;
    std::vector<std::string> tunnels;
    packet::Tenant tenant = packet::Tenant::kIgnore;
    std::optional<std::uint32_t> key_bytes;
    std::optional<Nanoseconds> window;
    engines::Policy policy = engines::Policy::kFixed;
    std::uint64_t first = 1;
    std::uint64_t forgotten = 0;

    [[nodiscard]] static Asked of(const WhatIf& described);
    [[nodiscard]] WhatIf described() const;

    template <typename Io>
    void state(Io& io) {
        io(key, non_ip, tunnels, tenant, key_bytes, window, policy, first, forgotten);
    }
};

struct Whole {
    std::vector<CaptureInfo> captures;  // the one that began first is the first
    Views views;
    std::vector<std::uint16_t> vxlan_ports;
    std::optional<Asked> asked;

    template <typename Io>
    void state(Io& io) {
        io.name("captures", captures);
        io.name("views", views);
        io.name("vxlan_ports", vxlan_ports);
        io.name("asked", asked);
    }
};

// Judged, named and with a recommendation.
[[nodiscard]] Report report_of(std::shared_ptr<const Whole> whole);

// What a report's JSON holds of it, in one line, and back. Errc::kInvalidArgument: another version,
// or damaged.
std::string to_json_text(const Whole& whole);
Result<Whole> whole_from(const nlohmann::ordered_json& report);

struct Part {
    std::string name;  // of its file, for what is said of it
    Whole whole;
};

// Of all of them, in whatever order. Errc::kInvalidArgument: they do not go together; which, why.
Result<Whole> merge(std::vector<Part> parts);

}  // namespace unecho::analyze
