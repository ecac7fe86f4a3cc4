// SPDX-License-Identifier: BSD-3-Clause
// The stages of a burst between receiving and transmitting, each a function over Burst. They know
// frames, digests and filters; ports, queues and rings are the worker's (worker.h).
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/burst.h"
#include "dataplane/engine.h"
#include "dataplane/judge.h"
#include "filter/tap_report.h"
#include "hash/secret.h"

namespace unecho::dataplane {

// Longest frame of several mbuf segments that is looked at: beyond any IP packet with its tags.
inline constexpr std::uint32_t kScratchBytes = 128 * 1024;

// One filter on one worker, with what decides with it.
struct Lane {
    const EngineOps* ops = nullptr;
    void* filter = nullptr;
    filter::Ageing* ageing = nullptr;  // the filter's own
    packet::KeyMode key = packet::KeyMode::kPacket;
    packet::NonIp non_ip = packet::NonIp::kPass;
    unsigned first = 1;
    Judge* judge = nullptr;  // null: every match is an echo
    Nanoseconds window = ~Nanoseconds{0};
    Nanoseconds remembered = 0;  // window and slack
};

// frames, lengths, chained, bytes: where each packet's bytes lie. Packets of one segment are not
// copied.
void view(Burst& burst) noexcept;

// digests, keys, too_long. scratch holds kScratchBytes.
void digest(Burst& burst, packet::KeyMode mode, const hash::Secret& secret,
            std::span<std::uint8_t> scratch, packet::NonIp non_ip = packet::NonIp::kPass) noexcept;

// Tells a report of the flows, which stage digest found, each on the tap that its port is. timed:
// each packet at its own time.
void report_flows(const Burst& burst, filter::TapReport& report,
                  std::span<const filter::SetOfTwo> tap_of, bool timed) noexcept;

// echoes and doubts, at one moment for all.
void decide(Burst& burst, const Lane& lane, filter::Moment moment) noexcept;

// The same, each packet at its own time.
void decide_timed(Burst& burst, const Lane& lane) noexcept;

// The contiguous bytes of a packet: its own memory, or a copy in scratch if it is chained (length 0
// if that is too small).
packet::Frame contiguous(const rte_mbuf& mbuf, std::span<std::uint8_t> scratch) noexcept;

}  // namespace unecho::dataplane
