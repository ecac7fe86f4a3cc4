// SPDX-License-Identifier: BSD-3-Clause
// Packets of network interfaces as they come, by libpcap, with the kernel's timestamps: a source
// that ends when it is told to, and gives an empty batch now and then where no packet comes.
// Several interfaces are merged by time (reorder_buffer.h), in memory that is bounded; what does
// not fit waits in the kernel, which counts what it drops.
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
    std::string filter;             // of pcap-filter(7); empty: all packets
    std::uint32_t snap_length = 0;  // 0: packets as they are
    bool promiscuous = true;
    // The kernel's, for each interface, in blocks of 256 KiB that it closes every 40 ms; 0: 32 MiB,
    // or 256 MiB divided by their number. That is seconds in which nobody reads, as a pipe's reader
    // that starts. libpcap's own default is 2 MiB.
    std::uint64_t buffer_bytes = 0;
    std::uint64_t packets = 0;                // it ends behind so many; 0: any number
    Nanoseconds duration = 0;                 // it ends after so long; 0: never
    const std::atomic<bool>* stop = nullptr;  // it ends when this is set
    std::function<void()> on_begin;           // all is opened: called by the first next()
};

// Of an interface.
struct LiveInterfaceStats {
    std::string interface;
    std::uint64_t read = 0;
    std::uint64_t kernel_dropped = 0;     // its buffer was full
    std::uint64_t interface_dropped = 0;  // as the driver counts
};
using LiveStats = std::vector<LiveInterfaceStats>;
// Counts meanwhile: told each time that the number is another one, by who calls next().
struct LiveStatsRequest {
    const std::atomic<unsigned>* asked = nullptr;
    std::function<void(const LiveStats&)> tell;
};

// report: filled when next() answers false. Errc::kNotFound, kPermission, kConfig (the filter),
// kIo.
Result<std::unique_ptr<Source>> open_live(const LiveOptions& options,
                                          std::shared_ptr<LiveStats> report,
                                          LiveStatsRequest asked = {});

}  // namespace unecho::capture
