// SPDX-License-Identifier: BSD-3-Clause
#include "sample_report.h"

#include <algorithm>
#include <cmath>

namespace unecho::analyze {
namespace {

constexpr std::string_view kToml = R"([[port]]
name = "tap0"                 # before the router
device = "0000:01:00.0"

[[filter]]
name = "echoes"
key = "packet"                # copies differ in TTL and MACs
window = "5ms"                # 99.6% of the echoes are younger
rate = "250kpps"              # twice the busiest stretch
max_false_drop = 1e-6

[[route]]
from = ["tap0", "tap1"]
to = "out"
filter = "echoes"
)";

// Return a lognormal distribution of echoes around a median, down to one echo.
std::uint64_t expected(double age, double median, double spread, double all) {
    const double z = std::log(age / median) / spread;
    return static_cast<std::uint64_t>(all * std::exp(-z * z / 2));
}

Ages sample_ages() {
    Ages ages;
    for (int quarter = 24; quarter < 72; ++quarter) {  // 64 us to 0.26 s
        AgeBin bin;
        bin.low = static_cast<Nanoseconds>(1000 * std::exp2(quarter / 4.0));
        bin.high = static_cast<Nanoseconds>(1000 * std::exp2((quarter + 1) / 4.0));
        const auto low = static_cast<double>(bin.low);
        bin.echoes = expected(low, 4e5, 0.6, 3100) + expected(low, 9e7, 0.35, 36);
        bin.causes[static_cast<std::size_t>(Cause::kRouted)] = bin.echoes;
        ages.bins.push_back(bin);
    }
    ages.youngest = 65'000;
    ages.oldest = 250'000'000;
    ages.p50 = 412'000;
    ages.p90 = 988'000;
    ages.p99 = 2'440'000;
    ages.p999 = 105'000'000;
    return ages;
}

std::uint64_t sum_of(const Ages& ages, Nanoseconds window) {
    std::uint64_t sum = 0;
    for (const AgeBin& bin : ages.bins) {
        sum += bin.low < window ? bin.echoes : 0;
    }
    return sum;
}

Count sized(std::uint64_t packets, std::uint64_t bytes_each) {
    return {packets, packets * bytes_each};
}

// Mark all echoes as copies.
template <typename Part>
Part copied(Part part) {
    part.copied = part.echoes;
    return part;
}

std::vector<WindowRow> sample_windows(const Ages& ages) {
    std::vector<WindowRow> rows;
    for (Nanoseconds decade = 100; decade <= 1000 * kSecond; decade *= 10) {
        for (const Nanoseconds factor : {1, 2, 5}) {
            const Nanoseconds window = factor * decade;
            if (window <= 1000 * kSecond) {
                const std::uint64_t echoes = sum_of(ages, window);
                const Count fixed = sized(echoes - echoes / 40, 610);
                rows.push_back({window, fixed, sized(echoes, 610), fixed, sized(echoes, 610)});
            }
        }
    }
    const std::uint64_t all = sum_of(ages, 1000 * kSecond);
    rows.push_back(
        {std::nullopt, sized(all, 610), sized(all, 610), sized(all, 610), sized(all, 610)});
    return rows;
}

void add_sources(Report& report) {
    const std::uint64_t half = report.total.packets / 2;
    const std::uint64_t echoes = report.echoes.packets;
    report.files = {copied(FileInfo{"tap0.pcapng", sized(half, 640), sized(echoes / 10, 610), {}}),
                    copied(FileInfo{"tap1.pcapng",
                                    sized(report.total.packets - half, 640),
                                    sized(echoes - echoes / 10, 610),
                                    {}})};
    for (std::uint32_t i = 0; i < 2; ++i) {
        const FileInfo& file = report.files[i];
        report.interfaces.push_back(
            {"tap" + std::to_string(i), i, 1, "Ethernet", file.total, file.echoes, file.copied});
    }
    report.crossings = {{0, 0, sized(echoes / 50, 610)},
                        {0, 1, sized(echoes - echoes / 10, 610)},
                        {1, 0, sized(echoes / 10 - echoes / 50, 610)}};
    report.warnings = {{"tap1.pcapng", 48'112, 3, "time steps back by 1.2 ms"},
                       {"tap0.pcapng", 0, 1, "the file ends within a packet"}};
}

void add_causes(Report& report) {
    const std::uint64_t echoes = report.echoes.packets;
    for (std::size_t i = 0; i < kCauses; ++i) {
        report.causes.push_back({static_cast<Cause>(i), {}, {}});
    }
    const auto set = [&](Cause cause, std::uint64_t packets) {
        CauseCount& one = report.causes[static_cast<std::size_t>(cause)];
        one.echoes = one.copied = sized(packets, 610);
    };
    set(Cause::kRetagged, echoes / 6);
    set(Cause::kRemarked, echoes / 300);
    set(Cause::kIdentical, echoes / 50);
    set(Cause::kRouted, echoes - echoes / 6 - echoes / 300 - echoes / 50);
    for (std::size_t i = 0; i < kDifferences; ++i) {
        report.differences.push_back(
            copied(DifferenceCount{static_cast<Difference>(i), i < 2 ? echoes * 8 / 10 : 0, 0}));
    }
    report.look_alikes.segments = sized(311, 1514);
    report.look_alikes.compared = 41'000;
}

void add_protocols(Report& report) {
    const std::uint64_t echoes = report.echoes.packets;
    const auto add = [&](const char* name, const Count& total, const Count& some) {
        report.protocols.push_back({name, total, some, some, 0});
    };
    add("IPv4 TCP", sized(68'000, 700), sized(echoes * 3 / 4, 650));
    add("IPv4 UDP", sized(17'500, 420), sized(echoes / 5, 420));
    add("IPv6 UDP", sized(4'300, 310), sized(echoes / 20, 310));
    add("IPv4 ICMP", sized(900, 98), {});
    add("not IP", report.non_ip, {});
    report.talkers = {{"10.20.30.40:443", "192.0.2.17:51544", echoes / 4, 0, 9'112'000},
                      {"192.0.2.17:51544", "10.20.30.40:443", echoes / 7, 0, 812'400},
                      {"[2001:db8:85a3:1234:5678:8a2e:370:7334]:4433",
                       "[2001:db8:0:42:9c3e:1:aa07:17]:61004", echoes / 20, 12, 402'100},
                      {"10.20.30.41:53", "192.0.2.9:40112", echoes / 90, 12, 31'000}};
}

void add_time(Report& report) {
    report.first_time = 1'763'736'003 * kSecond;
    report.time_bin = 100 * kMillisecond;
    const std::size_t bins = 120;
    for (std::size_t i = 0; i < bins; ++i) {
        const double wave = 1 + 0.4 * std::sin(static_cast<double>(i) / 9) +
                            0.1 * std::sin(static_cast<double>(i * i));
        const auto packets = static_cast<std::uint64_t>(760 * wave);
        const auto echoes = static_cast<std::uint64_t>(i < 20 ? 0 : 260 * wave * wave);
        report.time.push_back({i * report.time_bin, sized(packets, 640), sized(echoes, 610)});
    }
    report.duration = bins * report.time_bin - 17 * kMillisecond;
    report.last_time = report.first_time + report.duration;
}

void add_modes(Report& report) {
    const Nanoseconds window = report.recommendation.window;
    const std::uint64_t echoes = report.recommendation.removed.packets;
    for (std::size_t i = 0; i < report.modes.size(); ++i) {
        report.modes[i].key = static_cast<packet::KeyMode>(i);
        report.modes[i].recommended.window = window;
    }
    const auto row = [&](packet::KeyMode key) -> ModeRow& {
        return report.modes[static_cast<std::size_t>(key)].recommended;
    };
    row(packet::KeyMode::kPacket).dropped = sized(echoes, 610);
    row(packet::KeyMode::kFlow).dropped = sized(71'300, 630);
    row(packet::KeyMode::kFlow).lost = sized(71'300 - echoes, 640);
    row(packet::KeyMode::kFlowBidir).dropped = sized(78'900, 630);
    row(packet::KeyMode::kFlowBidir).lost = sized(78'900 - echoes, 640);
    row(packet::KeyMode::kFrame).dropped = sized(echoes / 50, 610);
    row(packet::KeyMode::kFrame).missed = sized(echoes - echoes / 50, 610);
}

void add_advice(Report& report) {
    Recommendation& advice = report.recommendation;
    advice.window = 5 * kMillisecond;
    advice.rate = 250'000;
    advice.removed = sized(sum_of(report.ages, advice.window), 610);
    advice.covered = share(advice.removed.packets, report.echoes.packets);
    advice.memory = 262'144;
    advice.engine_chosen = "line";
    advice.key_reason =
        "Copies differ in TTL and MAC addresses, which key packet does not compare.";
    advice.window_reason =
        "99.6% of the echoes are younger than 5 ms; the next ones come after 40 ms.";
    advice.rate_reason = "Twice the new packets of the busiest 100 ms, with room to grow.";
    advice.policy_reason = "fixed and refresh drop the same packets here.";
    advice.sure_reason = "Copies up to 250 ms old, and what was sent again from 999 ms on.";
    advice.taps_reason = "Most echoes cross from tap0 to tap1: both must feed the same filter.";
    advice.toml = kToml;
}

// The configuration in question removes too much, and misses a few copies.
void add_what_if(Report& report) {
    const auto counted = [](std::uint64_t packets) { return sized(packets, 610); };
    const std::uint64_t all = report.copied.packets;
    WhatIf it;
    it.non_ip = packet::NonIp::kFrame;
    it.window = 20 * kMillisecond;
    it.policy = engines::Policy::kRefresh;
    it.asked = {counted(all - 200 + 31 + 5), counted(all - 200), counted(200), counted(31),
                counted(5)};
    it.recommended = {report.recommendation.removed,
                      report.recommendation.removed,
                      counted(all - report.recommendation.removed.packets),
                      {},
                      {}};
    it.tunnels = {"vxlan"};
    it.key_bytes = 96;
    it.forgotten = 77;
    it.verdict = "It takes out 36 packets that are no copies. It leaves 200 copied packets in.";
    report.what_if = it;
}

void add_tunnels(Report& report) {
    TunnelReport tunnels;
    tunnels.opened = sized(30'400, 640);
    tunnels.fragments = 3;
    tunnels.malformed = 2;
    tunnels.other = 411;
    tunnels.encapsulations = {{"vxlan", sized(30'000, 640)}, {"gre", sized(700, 640)}};
    tunnels.stacks = {{{"vxlan"}, sized(29'700, 640)},
                      {{"gre"}, sized(400, 640)},
                      {{"gre", "vxlan"}, sized(300, 640)}};
    tunnels.tenants = {{"VNI", 100, 21'000, 0, 12'000'000}, {"VNI", 5000, 9'000, 7, 6'000'000}};
    for (const TunnelRelationInfo& info : kMeetingTable) {
        tunnels.meetings[static_cast<std::size_t>(info.meeting)].meeting = info.meeting;
    }
    tunnels.meetings[0].copied = tunnels.needing = tunnels.across_tenants = sized(20'000, 610);
    report.tunnels = tunnels;
    report.loops = {
        {"02:00:00:00:00:01", "02:00:00:00:00:02", sized(1'700, 610), 40, 2, 3 * kMillisecond}};
    report.cut = sized(812, 1514);
    report.key_bytes = {{64, sized(812, 1514), sized(3, 1514)},
                        {96, sized(812, 1514), {}},
                        {128, sized(810, 1514), {}},
                        {256, {}, {}}};
    Recommendation& advice = report.recommendation;
    advice.tunnels = {"vxlan"};
    advice.tunnels_reason = "20,000 packets are copies that only the packet inside tells.";
    advice.tenant_reason = "20,000 packets are copies of one of no tenant.";
    advice.key_bytes = 96;
    advice.key_bytes_reason = "812 packets are copies of one that was captured longer.";
}

}  // namespace

Report sample_report() {
    Report report;
    report.ages = sample_ages();
    report.total = sized(91'500, 640);
    report.captured = report.total.bytes;
    report.echoes = sized(sum_of(report.ages, 1000 * kSecond), 610);
    report.copied = report.echoes;
    report.sent_again = sized(41, 74);
    report.kinds_sent_again = {
        {"IPv4 VRRP", sized(30, 60), kSecond, 999 * kMillisecond, kSecond, true},
        {"ARP", sized(11, 112), 3 * kSecond, kSecond, 90 * kSecond, false}};
    report.youngest_sent_again = 999 * kMillisecond;
    report.non_ip = sized(796, 60);
    report.non_ip_types = {{"0x0806", "ARP", 700}, {"0x88e5", "MACsec", 96}};
    report.malformed = sized(4, 60);
    report.not_compared = {{"nat", NotComparedEffect::kStays, 2'000,
                            "2,000 of 90,000 IPv4 packets came before with other addresses."}};
    report.keyed = {report.total.packets - 800, report.total.bytes - 48'000};
    report.keys = report.keyed.packets - report.echoes.packets;
    report.key_times = {report.keys - report.echoes.packets + 12, report.echoes.packets - 24, 12};
    report.windows = sample_windows(report.ages);
    add_sources(report);
    add_causes(report);
    add_protocols(report);
    add_time(report);
    add_advice(report);
    add_what_if(report);
    add_modes(report);
    add_tunnels(report);
    report.clock_shifts = {{0, 1, 812, 399 * kMillisecond}};
    report.blind_after = 600 * kSecond;
    report.memory_bytes = 3'145'728;
    return report;
}

Report empty_report() {
    Report report;
    report.files = {{"empty.pcap", {}, {}, {}}};
    report.recommendation.needed = false;
    return report;
}

Report single_packet_report() {
    Report report;
    report.files = {{"one.pcap", {1, 98}, {}, {}}};
    report.interfaces = {{"one.pcap", 0, 1, "Ethernet", {1, 98}, {}, {}}};
    report.total = report.keyed = {1, 98};
    report.keys = 1;
    report.key_times[0] = 1;
    report.first_time = report.last_time = 1'763'736'003 * kSecond;
    report.protocols = {{"IPv4 UDP", {1, 98}, {}, {}, 0}};
    report.time = {{0, {1, 98}, {}}};
    report.windows = {{kMillisecond, {}, {}, {}, {}}, {std::nullopt, {}, {}, {}, {}}};
    for (std::size_t i = 0; i < report.modes.size(); ++i) {
        report.modes[i].key = static_cast<packet::KeyMode>(i);
    }
    report.recommendation.needed = false;
    return report;
}

Report no_echo_report() {
    Report report = sample_report();
    report.warnings.clear();
    report.not_compared.clear();
    report.blind_after.reset();
    report.echoes = report.copied = report.sent_again = {};
    report.kinds_sent_again.clear();
    report.youngest_sent_again.reset();
    report.keys = report.keyed.packets;
    report.key_times = {report.keys};
    report.key_bytes.clear();
    report.loops.clear();
    report.ages = {};
    report.crossings.clear();
    report.talkers.clear();
    report.look_alikes.segments = {};
    report.what_if->asked = report.what_if->recommended = {};
    report.recommendation = {};
    report.recommendation.needed = false;
    report.recommendation.window_reason = "No packet came twice: any window removes nothing.";
    const auto clear = [](auto& each) {
        each.echoes = {};
        if constexpr (requires { each.copied; }) {
            each.copied = {};
        }
    };
    std::for_each(report.files.begin(), report.files.end(), clear);
    std::for_each(report.interfaces.begin(), report.interfaces.end(), clear);
    std::for_each(report.causes.begin(), report.causes.end(), clear);
    std::for_each(report.differences.begin(), report.differences.end(), clear);
    std::for_each(report.protocols.begin(), report.protocols.end(), clear);
    std::for_each(report.time.begin(), report.time.end(), clear);
    for (WindowRow& row : report.windows) {
        row.fixed = row.refresh = row.fixed_copied = row.refresh_copied = {};
    }
    for (Mode& mode : report.modes) {
        mode.recommended = {kMillisecond, {}, {}, {}};
    }
    return report;
}

Report same_time_report() {
    Report report = single_packet_report();
    report.files[0].path = "twice.pcap";
    report.total = report.keyed = {4, 392};
    report.echoes = report.copied = {3, 294};
    report.key_times = {0, 0, 0, 1};
    AgeBin bin{0, 1, 3, {}};
    bin.causes[static_cast<std::size_t>(Cause::kIdentical)] = 3;
    report.ages.bins = {bin};
    report.causes = {{Cause::kIdentical, {3, 294}, {3, 294}}};
    report.crossings = {{0, 0, {3, 294}}};
    report.talkers = {{"10.0.0.1", "10.0.0.2", 3, 0, 294}};
    const Count all{3, 294};
    report.windows = {{100, all, all, all, all}, {std::nullopt, all, all, all, all}};
    report.recommendation.needed = true;
    report.recommendation.window = 100;
    report.recommendation.removed = {3, 294};
    report.recommendation.window_reason = "All echoes have the time of their packets.";
    return report;
}

Report vast_report() {
    Report report = sample_report();
    const std::uint64_t many = 987'654'321'012;
    report.total = sized(many, 900);
    report.keyed = report.total;
    report.echoes = report.copied = sized(many / 3, 900);
    report.key_times.fill(many / 30);
    report.interfaces.clear();
    for (std::uint32_t i = 0; i < 20; ++i) {
        report.interfaces.push_back({"aggregation-switch-" + std::to_string(i) + "/HundredGigE0/0",
                                     0, 1, "Ethernet", sized(many / 20, 900), sized(many / 60, 900),
                                     sized(many / 60, 900)});
        report.crossings.push_back({i, (i + 1) % 20, sized(many / 60, 900)});
    }
    report.ages.bins.clear();
    for (Nanoseconds low = 0, high = 1; low < 500 * kSecond; low = high, high *= 2) {
        report.ages.bins.push_back({low, high, many / 100, {}});
    }
    report.ages.youngest = 0;
    report.ages.oldest = 490 * kSecond;
    for (std::size_t i = 0; i < report.windows.size(); ++i) {
        const Count dropped = sized(many / 100 * (i + 1), 900);
        report.windows[i] = {report.windows[i].window, dropped, dropped, dropped, dropped};
    }
    report.time_bin = 86'400 * kSecond;
    for (std::size_t i = 0; i < report.time.size(); ++i) {
        report.time[i] = {i * report.time_bin, sized(many / 120, 900), sized(many / 360, 900)};
    }
    report.duration = 120 * report.time_bin;
    report.last_time = report.first_time + report.duration;
    for (Mode& mode : report.modes) {
        mode.recommended.dropped = mode.recommended.missed = report.echoes;
    }
    report.what_if->asked.removed = report.what_if->asked.copies = report.echoes;
    report.files.assign(
        12, {std::string(150, 'x') + ".pcapng.gz", report.total, report.echoes, report.copied});
    return report;
}

Report hostile_report() {
    const std::string evil = "<script>alert(1)</script>\"'&\x01\xff</title></style><!--";
    Report report = sample_report();
    report.files[0].path = evil;
    for (InterfaceInfo& each : report.interfaces) {
        each.name = each.link_name = evil;
    }
    report.warnings[0] = {evil, 1, 2, evil};
    report.protocols[0].name = report.kinds_sent_again[0].protocol = evil;
    report.talkers[0].source = report.talkers[0].destination = evil;
    report.ages.bins.insert(report.ages.bins.begin(), {kMicrosecond, 1200, 1, {}});
    report.ages.bins.push_back({9 * kSecond, 10 * kSecond, 1, {}});
    Recommendation& advice = report.recommendation;
    for (std::string* text :
         {&advice.engine_chosen, &advice.key_reason, &advice.window_reason, &advice.rate_reason,
          &advice.policy_reason, &advice.taps_reason, &advice.sure_reason, &advice.toml,
          &advice.tunnels_reason, &advice.tenant_reason, &advice.key_bytes_reason,
          &report.tunnels->stacks[0].names[0], &report.tunnels->tenants[0].kind,
          &report.loops[0].one}) {
        *text = evil;
    }
    report.what_if->verdict = evil;
    return report;
}

}  // namespace unecho::analyze
