// SPDX-License-Identifier: BSD-3-Clause
// volume [--packets N] [--seed N] [--rows A,B,...] [--json FILE]
// Sends packets through an appliance in this process, and counts violations of its promises:
//  - Packets not accounted for: every round compares the peer's account (peer.h), the workers'
//    counters and the reports, packet by packet and buffer by buffer.
//  - Misses: copies younger than the achieved window that were forwarded, except as doubt. Keys are
//    counters, and a copy repeats a key of a round whose time is known, so nothing is looked up.
//  - False drops: new packets dropped, compared with the sum of the chances that the filter itself
//    states. Such a chance is that of a random key, where it is not above max_false_drop.
// Time is simulated; worker, rings, filters and timers are the product's. Exits with status 1 and
// one line at the first error.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>
#include <rte_mempool.h>

#include "box.h"
#include "checks.h"
#include "counting.h"
#include "dedup/pipeline/reasons.h"
#include "peer.h"
#include "support/bounds.h"

namespace unecho::test {
namespace {

using pipeline::Reason;

constexpr unsigned kRound = 128;
constexpr Nanoseconds kWindow = 4 * kMillisecond;
constexpr double kRate = 10e6;  // planned packets per second

constexpr Counting kCounting{"volume", "packets", 2e7};

// The conditions of a row. `load` is the rate of new packets in units of the planned rate.
struct Row {
    const char* name;
    const char* bound;
    double load = 1;
    unsigned copies = 20;  // in percent
    unsigned weight = 1;   // share of all packets
    unsigned workers = 1;
    bool diverts = false;
    bool ahead = false;    // plan the filter as if it did not fit into the core's cache
    bool late = false;     // turns are late by up to a generation, sometimes by more than a window
    unsigned refused = 0;  // one transmit in so many; 0: none
};
constexpr Row kRows[] = {
    {.name = "default", .bound = "1e-6", .weight = 5},
    {.name = "ahead", .bound = "1e-6", .weight = 2, .ahead = true},
    {.name = "above", .bound = "1e-6", .load = 3, .copies = 30, .weight = 2},
    {.name = "steered", .bound = "1e-6", .workers = 2},
    {.name = "diverted", .bound = "1e-6", .workers = 3, .diverts = true, .refused = 50},
    {.name = "late", .bound = "1e-6", .load = 0.9, .copies = 30, .late = true},
    {.name = "refused", .bound = "1e-6", .refused = 20},
    {.name = "two-lines", .bound = "1e-3", .copies = 30, .weight = 2},
    {.name = "two-lines-above", .bound = "1e-3", .load = 10, .copies = 30},
    {.name = "one-line", .bound = "1e-2", .copies = 30, .weight = 2},
    {.name = "apbbf", .bound = "1e-6", .weight = 1},
};

struct Counted {
    std::uint64_t packets = 0;
    std::uint64_t forwarded = 0;
    std::uint64_t diverted = 0;
    std::uint64_t echoes_dropped = 0;
    std::uint64_t lost = 0;
    std::uint64_t musts = 0;   // copies younger than the achieved window
    std::uint64_t oldest = 0;  // of these, in the last tenth of it
    std::uint64_t doubts = 0;  // of these
    std::uint64_t all_doubts = 0;
    std::uint64_t unsure =
        0;  // copies of packets that were dropped or lost: nothing is promised of them
    std::uint64_t news = 0;
    std::uint64_t false_drops = 0;
    double expected = 0;  // sum of the filter's own chances
    double allowed = 0;   // by max_false_drop
    std::uint64_t turns = 0;
    std::uint64_t early_turns = 0;
    std::uint64_t samples = 0;  // of reports
    std::uint64_t looks = 0;    // inspections of all buffers
    Nanoseconds shortest = kWindow;
};

unsigned ports_of(const Row& row) {
    return row.diverts ? Peer::kPorts : Peer::kPorts - 1;
}

std::string text_of(const Row& row) {
    std::string out;
    const char* const names[] = {"a", "b", "tool", "spare"};
    for (unsigned i = 0; i < ports_of(row); ++i) {
        out += "[[port]]\nname = \"" + std::string(names[i]) + "\"\ndevice = \"net_null" +
               std::to_string(i) + "\"\n";
    }
    const bool apbbf = std::string_view(row.name) == "apbbf";
    out += "[[filter]]\nname = \"f\"\nengine = \"" + std::string(apbbf ? "apbbf" : "line") +
           "\"\nwindow = \"" + std::to_string(kWindow) + "ns\"\nrate = \"" +
           std::to_string(static_cast<std::uint64_t>(kRate)) +
           "pps\"\nmax_false_drop = " + row.bound + "\n";
    out += "[[route]]\nname = \"r\"\nfrom = [\"a\", \"b\"]\nto = \"tool\"\nfilter = \"f\"\n";
    out += row.diverts ? "on_echo = \"spare\"\n" : "";
    out += "[workers]\nlcores = [0";
    for (unsigned w = 1; w < row.workers; ++w) {
        out += ", " + std::to_string(w);
    }
    return out + "]\n[run]\nname = \"volume\"\n";
}

BoxSpec spec_of(const Row& row, const Peer& peer, std::uint64_t seed) {
    BoxSpec spec;
    spec.text = text_of(row);
    spec.ports = peer.ports();
    spec.ports.resize(ports_of(row));
    spec.tx_queues = 1;
    spec.core_cache = row.ahead ? 1 : std::uint64_t{1} << 30;
    spec.seed = seed;
    return spec;
}

std::array<std::uint64_t, pipeline::kReasons> reasons_of(Box& box) {
    std::array<std::uint64_t, pipeline::kReasons> out{};
    for (std::size_t w = 0; w < box.workers(); ++w) {
        for (unsigned i = 0; i < out.size(); ++i) {
            out[i] += box.worker(w).counters().routes[0][i].packets;
        }
    }
    return out;
}

// The packets of one row.
class Volume {
  public:
    Volume(const Row& row, Peer& peer, std::uint64_t seed, std::uint64_t& done)
        : row_(row),
          done_(done),
          peer_(peer),
          box_(spec_of(row, peer, seed)),
          chance_(seed * 1024 + 1),
          bound_(static_cast<float>(std::strtod(row.bound, nullptr))),
          copies_below_(0x10000U * row.copies / 100),
          gap_(kRound * (1 - row.copies / 100.0) * kSecond / (kRate * row.load)) {
        peer_.begin(box_.now(), seed);
        peer_.refuse_one_in(row.refused);
        begun_ = static_cast<double>(box_.now());
        next_turn_ = box_.turns().due();
        at_start_ = peer.handed().packets;
        sent_at_start_ = peer.sent().packets;
    }

    Counted run(std::uint64_t packets) {
        while (out_.packets < packets) {
            round();
        }
        peer_.look_at_all();
        box_.stop();
        sample_at_rest();
        for (std::size_t w = 0; w < box_.workers(); ++w) {
            out_.turns += box_.context(w).ageing->generation();
        }
        out_.early_turns = box_.early_turns();
        out_.allowed = bound_ * static_cast<double>(out_.news);
        return out_;
    }

  private:
    static constexpr std::uint32_t kRounds = 1 << 14;  // remembered
    struct Past {
        std::uint64_t first_key = 0;
        std::uint32_t keys = 0;
        Nanoseconds from = 0;
    };

    Past& past(std::uint32_t round) { return past_[round % kRounds]; }

    void round() {
        begun_ += gap_;
        box_.now() = std::max(box_.now(), static_cast<Nanoseconds>(begun_));
        turn();
        bring();
        const std::size_t sampled = rounds_ % box_.workers();
        add_chance(sampled);
        const bool asks = rounds_ % 64 == 0;
        if (asks) {
            box_.reader().request_snapshots();
        }
        past(rounds_).from = box_.now();
        const Nanoseconds begun = box_.now();
        work();
        const Nanoseconds took = box_.now() - begun;
        add_chance(sampled);
        judge(begun, took);
        peer_.settle();
        if (asks) {
            sample();
        }
        if (rounds_ % 8 == 0) {
            require_equal(rte_mempool_avail_count(pool()), buffers(),
                          "packet buffers that are back");
        }
        if (rounds_ % 65536 == 0) {
            peer_.look_at_all();
            ++out_.looks;
        }
        ++rounds_;
    }

    // Do what is due, as the control thread does, but late by chance.
    void turn() {
        if (box_.now() < next_turn_) {
            return;
        }
        box_.tick();
        while (box_.turns().zero()) {
        }
        next_turn_ = box_.turns().due();
        if (row_.late && chance_.once_in(4)) {
            next_turn_ +=
                chance_.once_in(1000) ? chance_.below(3 * kWindow) : chance_.below(kWindow / 6);
        }
    }

    // Bring new packets and copies: half of any round of the window, half as old as allowed.
    void bring() {
        const std::span<Handed> packets = peer_.next_round(kRound);
        const Nanoseconds kept = box_.achieved();
        while (oldest_ < rounds_ && box_.now() + kGuard - past(oldest_).from >= kept) {
            ++oldest_;
        }
        require(rounds_ - oldest_ < kRounds, "more rounds in a window than are remembered");
        Past& now = past(rounds_);
        now = {next_key_, 0, 0};
        std::uint64_t random = 0;
        for (unsigned i = 0; i < packets.size(); ++i, random >>= 16) {
            Handed& packet = packets[i];
            random = i % 4 == 0 ? chance_.next() : random;
            packet.copy = (random & 0xFFFF) < copies_below_ && next_key_ > 1;
            packet.round = packet.copy ? round_to_copy() : rounds_;
            const Past& from = past(packet.round);
            if (packet.copy && from.keys == 0) {
                packet.copy = false;
                packet.round = rounds_;
            }
            if (packet.copy) {
                packet.key = from.first_key + chance_.below(from.keys);
            } else {
                packet.key = next_key_++;
                ++now.keys;
            }
        }
        peer_.offer(row_.workers > 1);
    }

    std::uint32_t round_to_copy() {
        const std::uint32_t there = rounds_ - oldest_;
        const std::uint64_t way = chance_.below(16);
        if (there == 0 || way == 0) {
            return rounds_;
        }
        return oldest_ +
               static_cast<std::uint32_t>(chance_.below(way < 8 ? std::min(there, 16U) : there));
    }

    // Poll all workers until every packet of the round is settled.
    void work() {
        constexpr unsigned kMost = 64;
        for (unsigned i = 0;; ++i) {
            require(i < kMost, "packets stay between workers");
            for (std::size_t w = 0; w < box_.workers(); ++w) {
                box_.worker(w).poll_once();
            }
            peer_.check();
            if (peer_.waiting() != 0) {
                continue;
            }
            std::uint64_t in = 0;
            std::uint64_t out = 0;
            for (std::size_t w = 0; w < box_.workers(); ++w) {
                in += box_.worker(w).counters().handed_in;
                out += box_.worker(w).counters().handed_out;
            }
            if (in == out) {
                return;
            }
        }
    }

    // Add half of the chance that a random key now matches. Called before and after the round, it
    // gives the mean chance that a new packet is dropped in it.
    void add_chance(std::size_t worker) {
        const pipeline::FilterContext& context = box_.context(worker);
        const float chance = context.ops->chance(context.filter, chance_.next());
        chances_ += chance <= bound_ ? chance / 2 : 0;
    }

    // Check the decision on each packet, and what the workers counted.
    void judge(Nanoseconds begun, Nanoseconds took) {
        const Nanoseconds end = begun + took;
        const Nanoseconds kept = box_.achieved();
        out_.shortest = std::min(out_.shortest, kept);
        std::uint64_t gone = 0;
        std::uint64_t lost = 0;
        std::uint64_t to_tool = 0;
        std::uint64_t to_spare = 0;
        std::uint64_t passed = 0;  // copies that must be known
        std::uint64_t news = 0;
        for (const Handed& packet : peer_.round()) {
            const bool was_lost = packet.gone() && packet.refused != Handed::kNowhere;
            const bool known = packet.gone() ? !was_lost || packet.refused == Peer::kSpare
                                             : packet.out == Peer::kSpare;
            lost += was_lost ? 1 : 0;
            gone += packet.gone() && !was_lost ? 1 : 0;
            to_tool += packet.out == Peer::kTool ? 1 : 0;
            to_spare += packet.out == Peer::kSpare ? 1 : 0;
            if (!packet.copy) {
                ++news;
                if (known) {
                    note_false_drop(packet.key);
                }
                continue;
            }
            const Nanoseconds age = end - past(packet.round).from;
            if (age + took >= kept) {
                continue;
            }
            if (!known && (was_lost || dropped_.count(packet.key) != 0)) {
                ++out_.unsure;
                continue;
            }
            ++out_.musts;
            out_.oldest += age >= kept / 10 * 9 ? 1 : 0;
            passed += known ? 0 : 1;
        }
        out_.packets += kRound;
        done_ += kRound;
        out_.forwarded += to_tool;
        out_.diverted += to_spare;
        out_.echoes_dropped += gone;
        out_.lost += lost;
        out_.news += news;
        out_.expected += chances_ * static_cast<double>(news);
        chances_ = 0;
        const auto reasons = reasons_of(box_);
        const auto counted = [&](Reason reason) {
            const auto i = static_cast<unsigned>(reason);
            return reasons[i] - reasons_[i];
        };
        const std::uint64_t doubts = counted(Reason::kDoubt);
        require_equal(counted(Reason::kEcho), gone, "packets counted as echoes, of those dropped");
        require_equal(counted(Reason::kTxLost), lost, "packets counted as lost");
        require_equal(counted(Reason::kEchoDiverted), to_spare, "packets counted as diverted");
        require_equal(counted(Reason::kNew) + doubts, to_tool, "packets counted as new or doubt");
        std::uint64_t all = 0;
        for (unsigned i = 0; i < reasons.size(); ++i) {
            all += reasons[i] - reasons_[i];
        }
        require_equal(all, kRound, "packets with a reason");
        reasons_ = reasons;
        out_.all_doubts += doubts;
        if (passed > doubts) {
            wrong(std::to_string(passed - doubts) + " missed inside the achieved window of " +
                  std::to_string(kept) + " ns");
        }
        out_.doubts += passed;
    }

    void note_false_drop(std::uint64_t key) {
        ++out_.false_drops;
        if (dropped_.size() > 100'000) {
            for (auto it = dropped_.begin(); it != dropped_.end();) {
                it = *it < past(oldest_).first_key ? dropped_.erase(it) : std::next(it);
            }
        }
        dropped_.insert(key);
    }

    // Check two reports: one whose workers were queried before the round, so that each replied amid
    // it, and one of workers at rest.
    void sample() {
        const std::uint64_t handed = peer_.handed().packets - at_start_;
        const std::uint64_t sent = peer_.sent().packets - sent_at_start_;
        const appliance::DispositionCounts amid = answer();
        require(amid.received <= handed && amid.received + kRound >= handed,
                "a report's received are not those handed in");
        require(amid.forwarded + amid.diverted <= sent &&
                    amid.forwarded + amid.diverted + kRound >= sent,
                "a report's forwarded are not those that came out");
        box_.reader().request_snapshots();
        for (std::size_t w = 0; w < box_.workers(); ++w) {
            box_.worker(w).poll_once();
        }
        const appliance::DispositionCounts rest = answer();
        require_equal(rest.received, handed, "a report's received");
        require_equal(rest.forwarded + rest.diverted, sent, "a report's forwarded and diverted");
        require_equal(rest.in_flight, 0, "a report's in flight");
    }

    appliance::DispositionCounts answer() {
        ++out_.samples;
        const auto fates = box_.reader().answered(box_.plan());
        require(fates.has_value(), "workers did not answer a report");
        require_equal(fates->forwarded + fates->diverted + fates->dropped + fates->in_flight,
                      fates->received, "a report's fates, of its received");
        return *fates;
    }

    void sample_at_rest() {
        const appliance::DispositionCounts totals = box_.reader().read(box_.plan()).totals;
        require_equal(totals.received, out_.packets, "received when all is over");
        require_equal(totals.forwarded, out_.forwarded, "forwarded when all is over");
        require_equal(totals.diverted, out_.diverted, "diverted when all is over");
        require_equal(totals.dropped, out_.echoes_dropped + out_.lost, "dropped when all is over");
        require_equal(totals.in_flight, 0, "in flight when all is over");
    }

    [[nodiscard]] rte_mempool* pool() const { return peer_.pool(); }
    [[nodiscard]] unsigned buffers() const { return peer_.buffers(); }

    // Margin by which the oldest copies are younger than the window. A round takes less.
    static constexpr Nanoseconds kGuard = 2 * kMicrosecond;

    const Row& row_;
    std::uint64_t& done_;  // packets of all rows
    Peer& peer_;
    Box box_;
    FastChance chance_;
    float bound_;
    std::uint64_t copies_below_;  // compared with 16 random bits
    double gap_;                  // time between rounds
    double begun_ = 0;
    Nanoseconds next_turn_ = 0;
    std::uint32_t rounds_ = 0;
    std::uint32_t oldest_ = 0;
    std::uint64_t next_key_ = 1;
    std::vector<Past> past_ = std::vector<Past>(kRounds);
    std::unordered_set<std::uint64_t> dropped_;  // new packets dropped lately
    std::array<std::uint64_t, pipeline::kReasons> reasons_{};
    std::uint64_t at_start_ = 0;
    std::uint64_t sent_at_start_ = 0;
    double chances_ = 0;
    Counted out_;
};

// --- the result --------------------------------------------------------------------------------

// The filter states an upper bound from its fill. The observed rate may be less, because runs of
// ages overlap, or more, because patterns are equal.
constexpr double kMinOfStated = 0.95;
constexpr double kMaxOfStated = 1.05;

Counts drops_allowed(const Counted& c) {
    const auto n = static_cast<double>(c.news);
    const double low = kMinOfStated * c.expected;
    const double high = std::min(kMaxOfStated * c.expected, c.allowed);
    return {binomial_bounds(n, low / n).low, binomial_bounds(n, high / n).high};
}

void judge_drops(const Row& row, const Counted& c) {
    const Counts allowed = drops_allowed(c);
    const auto seen = static_cast<double>(c.false_drops);
    if (seen < allowed.low || seen > allowed.high) {
        wrong(std::string(row.name) + ": " + std::to_string(c.false_drops) +
              " false drops; by the filter's own chances " + std::to_string(c.expected) +
              " in the mean, " + std::to_string(allowed.low) + " to " +
              std::to_string(allowed.high) + " but for one run in a million");
    }
}

nlohmann::ordered_json json_of(const Row& row, const Counted& c) {
    return {{"row", row.name},
            {"max_false_drop", std::strtod(row.bound, nullptr)},
            {"load", row.load},
            {"workers", row.workers},
            {"packets", c.packets},
            {"unaccounted", 0},
            {"forwarded", c.forwarded},
            {"diverted", c.diverted},
            {"echoes_dropped", c.echoes_dropped},
            {"tx_lost", c.lost},
            {"copies_inside_window", c.musts},
            {"of_its_last_tenth", c.oldest},
            {"missed", 0},
            {"doubts_of_these", c.doubts},
            {"doubts", c.all_doubts},
            {"copies_of_dropped", c.unsure},
            {"new", c.news},
            {"false_drops", c.false_drops},
            {"stated", c.expected},
            {"allowed", c.allowed},
            {"turns", c.turns},
            {"early_turns", c.early_turns},
            {"shortest_window_ns", c.shortest},
            {"reports", c.samples},
            {"looks_at_all_buffers", c.looks}};
}

void print(const Row& row, const Counted& c) {
    const auto n = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
    std::printf(
        "%-16s packets %llu, unaccounted 0; copies inside the window %llu, missed 0, doubts %llu "
        "(others' %llu); "
        "new %llu, dropped %llu, stated %.2f, allowed %.1f; turns %llu (early %llu)\n",
        row.name, n(c.packets), n(c.musts), n(c.doubts), n(c.all_doubts - c.doubts), n(c.news),
        n(c.false_drops), c.expected, c.allowed, n(c.turns), n(c.early_turns));
    std::fflush(stdout);
}

void run(const CountingOptions& options, std::uint64_t& done) {
    run_works<Volume, Row>(kCounting, options, kRows, done,
                           [](const Row& row, const Counted& counted) {
                               print(row, counted);
                               judge_drops(row, counted);
                               return json_of(row, counted);
                           });
}

}  // namespace
}  // namespace unecho::test

int main(int argc, char** argv) {
    return unecho::test::counting_main(argc, argv, unecho::test::kCounting, unecho::test::run);
}
