// SPDX-License-Identifier: BSD-3-Clause
// Packets of network interfaces by libpcap, with the kernel's timestamps. The source ends on
// request, and gives an empty batch now and then while no packets come. Several interfaces are
// merged by time in bounded memory (reorder_buffer.h). The rest waits in the kernel, which counts
// drops.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/live/reorder_buffer.h"
#include "captures/source.h"

namespace unecho::capture {

struct LiveOptions {
    std::vector<std::string> interfaces;
    std::string filter;             // an expression of pcap-filter(7); empty: all packets
    std::uint32_t snap_length = 0;  // 0: whole packets
    bool promiscuous = true;
    // The kernel's buffer for each interface, in blocks of 256 KiB that it closes every 40 ms. 0:
    // 32 MiB, but 256 MiB at most for all. That lasts for seconds in which nothing reads, as when a
    // pipe's reader starts. libpcap's own default is 2 MiB.
    std::uint64_t buffer_bytes = 0;
    std::uint64_t packets = 0;                // end after so many; 0: any number
    Nanoseconds duration = 0;                 // end after so long; 0: never
    const std::atomic<bool>* stop = nullptr;  // end when this is set
    std::function<void()> on_begin;           // the first next() calls it, with all open
};

// Counts of one interface.
struct LiveInterfaceStats {
    std::string interface;
    std::uint64_t read = 0;
    std::uint64_t kernel_dropped = 0;     // because its buffer was full
    std::uint64_t interface_dropped = 0;  // as the driver counts
};
using LiveStats = std::vector<LiveInterfaceStats>;
// A request for counts while capturing. Whenever *asked has changed, next() calls tell, on its own
// thread.
struct LiveStatsRequest {
    const std::atomic<unsigned>* asked = nullptr;
    std::function<void(const LiveStats&)> tell;
};

// report: filled when next() returns false. Errc::kNotFound, kPermission, kConfig (the filter),
// kUnsupported (no timestamps in nanoseconds), kIo.
Result<std::unique_ptr<Source>> open_live(const LiveOptions& options,
                                          std::shared_ptr<LiveStats> report,
                                          LiveStatsRequest asked = {});

}  // namespace unecho::capture
