// SPDX-License-Identifier: BSD-3-Clause
#include "captures/live/live_source.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/core.h>
#include <pcap/pcap.h>
#include <poll.h>

#include "base/option_names.h"
#include "base/utf8.h"
#include "captures/live/live_interfaces.h"
#include "captures/memory_budget.h"
#include "captures/warning_list.h"

namespace unecho::capture {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBlockMilliseconds = 40;  // after which the kernel closes a block
constexpr int kReadMilliseconds = 10;
constexpr int kLookMilliseconds = 50;             // between checks whether to end
constexpr std::chrono::milliseconds kQuiet{200};  // then give an empty batch: time passes
constexpr std::uint32_t kLongest = 262144;
constexpr std::size_t kMaxLive = 64;  // interfaces
constexpr std::uint64_t kBuffer = std::uint64_t{32} << 20;
constexpr std::uint64_t kAllBuffers = std::uint64_t{256} << 20;

struct Close {
    void operator()(pcap_t* handle) const { pcap_close(handle); }
};
using Handle = std::unique_ptr<pcap_t, Close>;

struct OpenInterface {
    Handle handle;
    std::string name;
    int descriptor = -1;
    std::uint64_t read = 0;
    bool gone = false;
};

class LiveSource final : public Source {
  public:
    LiveSource(const LiveOptions& options, std::vector<OpenInterface> taps,
               InterfaceList interfaces, std::shared_ptr<LiveStats> report, LiveStatsRequest asked)
        : options_(options),
          asked_(std::move(asked)),
          taps_(std::move(taps)),
          interfaces_(std::move(interfaces)),
          report_(std::move(report)),
          merge_(taps_.size()),
          begin_(Clock::now()) {}

    Result<bool> next(Batch& batch) override;
    [[nodiscard]] InterfaceView interfaces() const override { return interfaces_.view(); }
    [[nodiscard]] FileFormat format() const override { return FileFormat::kNanosecondPcap; }
    [[nodiscard]] Progress progress() const override { return {taken_bytes_, 0}; }
    [[nodiscard]] std::vector<Warning> warnings() const override { return warnings_; }

  private:
    // User data of libpcap's callback.
    struct Reading {
        LiveSource* live;
        OpenInterface* tap;
        std::uint32_t index;
        Clock::time_point now;
        std::uint64_t bytes = 0;
    };

    static void on_packet(u_char* user, const pcap_pkthdr* header, const u_char* data);
    void add(Reading& reading, const pcap_pkthdr& header, const u_char* data);
    // Return true if the capture shall end. Packets already read are still delivered.
    [[nodiscard]] bool should_stop() const;
    void wait() const;
    void read(std::uint32_t index);
    void release(Batch& batch);
    [[nodiscard]] LiveStats counted() const;
    void report_if_requested();
    void finish();

    LiveOptions options_;
    LiveStatsRequest asked_;
    unsigned told_ = 0;  // last value of *asked_.asked
    std::vector<OpenInterface> taps_;
    InterfaceList interfaces_;
    std::shared_ptr<LiveStats> report_;
    ReorderBuffer merge_;
    Clock::time_point begin_;
    std::uint64_t taken_bytes_ = 0;
    std::uint64_t taken_ = 0;
    bool ended_ = false;
    bool finished_ = false;
    std::vector<Warning> warnings_;
};

void LiveSource::on_packet(u_char* user, const pcap_pkthdr* header, const u_char* data) {
    auto& reading = *reinterpret_cast<Reading*>(user);
    reading.live->add(reading, *header, data);
}

void LiveSource::add(Reading& reading, const pcap_pkthdr& header, const u_char* data) {
    // With nanoseconds requested, tv_usec holds nanoseconds.
    const Nanoseconds time = static_cast<Nanoseconds>(header.ts.tv_sec) * kSecond +
                             static_cast<Nanoseconds>(header.ts.tv_usec);
    merge_.add({.time = time,
                .data = data,
                .length = header.caplen,
                .wire_length = header.len,
                .interface = reading.index},
               reading.now);
    reading.tap->read++;
    reading.bytes += header.caplen;
    if (reading.bytes >= 4 * std::uint64_t{kMaxPiece}) {
        pcap_breakloop(reading.tap->handle.get());
    }
}

bool LiveSource::should_stop() const {
    return (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) ||
           (options_.duration != 0 &&
            Clock::now() - begin_ >= std::chrono::nanoseconds(options_.duration)) ||
           std::all_of(taps_.begin(), taps_.end(),
                       [](const OpenInterface& tap) { return tap.gone; });
}

void LiveSource::wait() const {
    std::array<pollfd, kMaxLive> polled{};
    nfds_t count = 0;
    for (const OpenInterface& tap : taps_) {
        if (!tap.gone) {
            polled[count++] = {.fd = tap.descriptor, .events = POLLIN, .revents = 0};
        }
    }
    ::poll(polled.data(), count, merge_.empty() ? kLookMilliseconds : kReadMilliseconds);
}

void LiveSource::read(std::uint32_t index) {
    OpenInterface& tap = taps_[index];
    if (tap.gone) {
        return;
    }
    Reading reading{this, &tap, index, Clock::now()};
    const int got = pcap_dispatch(tap.handle.get(), static_cast<int>(kMaxBatch), on_packet,
                                  reinterpret_cast<u_char*>(&reading));
    if (got < 0 && got != PCAP_ERROR_BREAK) {
        tap.gone = true;
        merge_.end(index);
        warnings_.push_back(
            {.file = index,
             .number = tap.read,
             .text = "nothing more is captured here: " + escaped(pcap_geterr(tap.handle.get())),
             .incomplete = true});
    }
}

void LiveSource::release(Batch& batch) {
    const std::uint64_t most = options_.packets == 0 ? kMaxBatch : options_.packets - taken_;
    taken_ += merge_.release(batch, Clock::now(), ended_, most);
    for (const Record& record : batch.records) {
        taken_bytes_ += record.length;
    }
}

Result<bool> LiveSource::next(Batch& batch) {
    batch.clear();
    if (options_.on_begin) {
        std::exchange(options_.on_begin, nullptr)();
    }
    const Clock::time_point quiet_from = Clock::now();
    while (batch.records.empty() && !finished_ && Clock::now() - quiet_from < kQuiet) {
        report_if_requested();
        const bool enough = options_.packets != 0 && taken_ >= options_.packets;
        if (enough || (ended_ && merge_.empty())) {
            finish();
            break;
        }
        if (!ended_ && !merge_.is_full()) {
            ended_ = should_stop();
            for (std::uint32_t i = 0; i < taps_.size(); ++i) {
                read(i);
            }
        }
        release(batch);
        if (batch.records.empty() && !ended_) {
            wait();
        }
    }
    return !finished_;
}

LiveStats LiveSource::counted() const {
    LiveStats out;
    for (const OpenInterface& tap : taps_) {
        pcap_stat stat{};
        if (pcap_stats(tap.handle.get(), &stat) != 0) {
            stat = {};
        }
        out.push_back({tap.name, tap.read, stat.ps_drop, stat.ps_ifdrop});
    }
    return out;
}

void LiveSource::report_if_requested() {
    if (asked_.asked == nullptr) {
        return;
    }
    if (const unsigned asked = asked_.asked->load(std::memory_order_relaxed); asked != told_) {
        told_ = asked;
        asked_.tell(counted());
    }
}

void LiveSource::finish() {
    finished_ = true;
    *report_ = counted();
    for (std::uint32_t i = 0; i < taps_.size(); ++i) {
        const std::uint64_t dropped = (*report_)[i].kernel_dropped;
        if (dropped != 0) {
            warnings_.push_back(
                {.file = i,
                 .number = 0,
                 .text = fmt::format(
                     "{} packets were dropped by the kernel, whose buffer was full; give more {}",
                     dropped, option::kBuffer)});
        }
    }
    if (merge_.late() != 0) {
        warnings_.push_back({.file = 0,
                             .number = 0,
                             .text = std::to_string(merge_.late()) +
                                     " packets came too late to be in order with those of other "
                                     "interfaces"});
    }
}

tl::unexpected<Error> open_error(const std::string& name, int status, pcap_t* handle) {
    const std::string why = escaped(pcap_geterr(handle));
    switch (status) {
        case PCAP_ERROR_NO_SUCH_DEVICE:
            return fail(
                Errc::kNotFound,
                fmt::format("{}: no such interface; unecho capture {} lists those that are there",
                            name, option::kList));
        case PCAP_ERROR_PERM_DENIED:
        case PCAP_ERROR_PROMISC_PERM_DENIED:
            return fail(Errc::kPermission,
                        name +
                            ": no permission to capture; it takes root, or the capability "
                            "CAP_NET_RAW: setcap cap_net_raw+ep on the program");
        case PCAP_ERROR_IFACE_NOT_UP:
            return fail(Errc::kIo, fmt::format("{}: the interface is down; ip link set {} up first",
                                               name, name));
        default:
            return fail(Errc::kIo, fmt::format("{}: cannot be captured from: {}", name,
                                               why.empty() ? pcap_statustostr(status) : why));
    }
}

Status set_filter(const OpenInterface& tap, const std::string& expression) {
    if (expression.empty()) {
        return {};
    }
    bpf_program code{};
    pcap_t* const handle = tap.handle.get();
    if (pcap_compile(handle, &code, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
        return fail(Errc::kConfig,
                    fmt::format("{}: {} (on {}); allowed: as in pcap-filter(7)", option::kFilter,
                                escaped(pcap_geterr(handle)), tap.name));
    }
    const bool set = pcap_setfilter(handle, &code) == 0;
    pcap_freecode(&code);
    return set ? Status()
               : fail(Errc::kIo, fmt::format("{}: the filter was refused: {}", tap.name,
                                             escaped(pcap_geterr(handle))));
}

Result<OpenInterface> open_tap(const LiveOptions& options, const std::string& given) {
    OpenInterface tap;
    tap.name = escaped(given);
    std::array<char, PCAP_ERRBUF_SIZE> why{};
    tap.handle.reset(pcap_create(given.c_str(), why.data()));
    pcap_t* const handle = tap.handle.get();
    if (handle == nullptr) {
        return fail(Errc::kIo,
                    fmt::format("{}: cannot be captured from: {}", tap.name, escaped(why.data())));
    }
    pcap_set_snaplen(handle,
                     static_cast<int>(options.snap_length == 0 ? kLongest : options.snap_length));
    pcap_set_promisc(handle, options.promiscuous && given != kAnyInterface ? 1 : 0);
    pcap_set_timeout(handle, kBlockMilliseconds);
    const std::uint64_t each = std::min(kBuffer, kAllBuffers / options.interfaces.size());
    pcap_set_buffer_size(handle,
                         static_cast<int>(options.buffer_bytes == 0 ? each : options.buffer_bytes));
    if (pcap_set_tstamp_precision(handle, PCAP_TSTAMP_PRECISION_NANO) != 0) {
        return fail(Errc::kUnsupported, tap.name + ": has no timestamps in nanoseconds");
    }
    if (const int status = pcap_activate(handle); status < 0) {
        return open_error(tap.name, status, handle);
    }
    if (given == kAnyInterface) {
        pcap_set_datalink(handle, DLT_LINUX_SLL2);  // states each packet's interface
    }
    UNECHO_TRY(set_filter(tap, options.filter));
    if (pcap_setnonblock(handle, 1, why.data()) != 0) {
        return fail(Errc::kIo,
                    fmt::format("{}: cannot be read from: {}", tap.name, escaped(why.data())));
    }
    tap.descriptor = pcap_get_selectable_fd(handle);
    return tap;
}

// Return the link type's number in files, known to libpcap for dumps only: the DLT, but for raw IP.
std::uint16_t link_type_of(pcap_t* handle) {
    constexpr std::uint16_t kRawLink = 101;
    const int dlt = pcap_datalink(handle);
    return dlt == DLT_RAW ? kRawLink : static_cast<std::uint16_t>(dlt);
}

}  // namespace

Result<std::unique_ptr<Source>> open_live(const LiveOptions& options,
                                          std::shared_ptr<LiveStats> report,
                                          LiveStatsRequest asked) {
    if (options.interfaces.empty() || options.interfaces.size() > kMaxLive) {
        return fail(Errc::kConfig,
                    fmt::format("{}: {} interfaces; allowed: 1 to {}", option::kInterface,
                                options.interfaces.size(), kMaxLive));
    }
    std::vector<OpenInterface> taps;
    InterfaceList interfaces;
    for (const std::string& name : options.interfaces) {
        auto tap = open_tap(options, name);
        UNECHO_TRY(tap);
        Interface one;
        one.link_type = link_type_of(tap->handle.get());
        one.snap_length = static_cast<std::uint32_t>(pcap_snapshot(tap->handle.get()));
        one.tick = 1;
        one.file = static_cast<std::uint32_t>(taps.size());
        one.name = tap->name;
        interfaces.push_back(std::move(one));
        taps.push_back(*std::move(tap));
    }
    return std::make_unique<LiveSource>(options, std::move(taps), std::move(interfaces),
                                        std::move(report), std::move(asked));
}

}  // namespace unecho::capture
