// SPDX-License-Identifier: BSD-3-Clause
// turns [--turns N] [--seed N] [--rows A,B,...] [--json FILE]
// Counts turns of generations through the product's timer, worker and zeroer, on simulated time.
// Filters are small, packets few, and some turns late. After each turn it checks:
//  - One turn was published, and in less than a window no more turns than a window has.
//  - Keys forgotten by the turn were inserted at least a window ago, or at least the reported one
//    if a generation ended early. Without an early end the whole window is kept.
//  - A segment that comes into use is zero, and no segment is in two places.
//  - A key of the oldest remembered generation is found. One inserted longer ago than window and
//    slack is not, except by accidents, which max_false_drop bounds.
//  - Packets and their buffers are accounted for (peer.h).
// Exits with status 1 and one line at the first error.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
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

constexpr Nanoseconds kWindow = 600 * kMicrosecond;
constexpr unsigned kRate = 50'000;  // planned packets per second

constexpr Counting kCounting{"turns", "turns", 1e6};

struct Row {
    const char* name;
    const char* engine;
    const char* bound;
    unsigned weight = 1;
    unsigned puts = 1;  // new keys a turn; more than planned end generations early
};
constexpr Row kRows[] = {
    {.name = "line", .engine = "line", .bound = "1e-3", .weight = 3},
    {.name = "line-default", .engine = "line", .bound = "1e-6", .weight = 2},
    {.name = "line-above", .engine = "line", .bound = "1e-3", .puts = 40},
    {.name = "apbbf", .engine = "apbbf", .bound = "1e-3", .weight = 3},
    {.name = "apbbf-above", .engine = "apbbf", .bound = "1e-3", .puts = 40},
    {.name = "apbf", .engine = "apbf", .bound = "1e-3", .weight = 2},
    {.name = "shbf", .engine = "shbf", .bound = "1e-3"},
};

struct Counted {
    std::uint64_t turns = 0;      // of the worker's generations
    std::uint64_t published = 0;  // by the timer
    std::uint64_t early = 0;
    std::uint64_t late = 0;      // published late by at least a tenth of a generation
    std::uint64_t segments = 0;  // that came into use, and were zero
    std::uint64_t packets = 0;
    std::uint64_t must = 0;     // copies that must be known
    std::uint64_t doubts = 0;   // of these
    std::uint64_t expired = 0;  // copies that must be forgotten
    std::uint64_t news = 0;     // including the expired ones
    std::uint64_t false_drops = 0;
    Nanoseconds shortest = kWindow;
};

std::string text_of(const Row& row) {
    std::string out;
    for (const char* const name : {"a", "b", "tool"}) {
        out +=
            "[[port]]\nname = \"" + std::string(name) + "\"\ndevice = \"net_null" + name + "\"\n";
    }
    return out + "[[filter]]\nname = \"f\"\nengine = \"" + row.engine + "\"\nwindow = \"" +
           std::to_string(kWindow) + "ns\"\nrate = \"" + std::to_string(kRate) +
           "pps\"\nmax_false_drop = " + row.bound +
           "\n[[route]]\nname = \"r\"\nfrom = [\"a\", \"b\"]\nto = \"tool\"\nfilter = \"f\"\n"
           "[workers]\nlcores = [0]\n[run]\nname = \"turns\"\n";
}

BoxSpec spec_of(const Row& row, const Peer& peer, std::uint64_t seed) {
    BoxSpec spec;
    spec.text = text_of(row);
    spec.ports = peer.ports();
    spec.ports.resize(3);
    spec.core_cache = std::uint64_t{1} << 30;
    spec.seed = seed;
    return spec;
}

class Turns {
  public:
    Turns(const Row& row, Peer& peer, std::uint64_t seed, std::uint64_t& turned)
        : row_(row),
          turned_(turned),
          peer_(peer),
          box_(spec_of(row, peer, seed)),
          context_(box_.context(0)),
          segments_(context_.ops->segments(context_.filter)),
          chance_(seed),
          length_(box_.filter_plan().clock.length),
          through_(context_.ageing->retained_generations()),
          forgotten_(static_cast<unsigned>((context_.remembered + length_ - 1) / length_ + 1)) {
        require(through_ * length_ >= kWindow, "a window is longer than its generations");
        require(forgotten_ < kKept / 2, "more generations than are remembered here");
        peer_.begin(box_.now(), seed);
    }

    Counted run(std::uint64_t turns) {
        while (context_.ageing->generation() < turns) {
            publish();
            adopt();
            ask();
        }
        peer_.look_at_all();
        out_.turns = context_.ageing->generation();
        out_.early = context_.ageing->early_turns();
        out_.published = published_;
        box_.stop();
        return out_;
    }

  private:
    static constexpr unsigned kKept = 2048;  // generations whose keys are kept
    static constexpr unsigned kMaxRetainedGenerations = 128;

    struct Generation {
        std::uint64_t number = ~std::uint64_t{0};
        std::uint64_t key = 0;  // inserted in it; 0: none, or already used as an expired key
        // The last insertion up to this generation, on the worker's time, was between these times.
        Nanoseconds put_from = 0;
        Nanoseconds put_until = 0;
    };
    Generation& generation(std::uint64_t number) { return generations_[number % kKept]; }

    // The timer wakes when it is due or later, and the worker polls meanwhile.
    void publish() {
        const Nanoseconds due = box_.turns().due();
        Nanoseconds late = chance_.below(length_ / 50);
        const std::uint64_t way = chance_.below(1024);
        if (way < 64) {
            late = chance_.below(2 * length_);
        } else if (way == 64) {
            late = chance_.below(3 * kWindow);
        }
        out_.late += late >= length_ / 10 ? 1 : 0;
        while (box_.now() + kWindow / 2 < due + late) {
            box_.now() += kWindow / 2;
            box_.worker(0).poll_once();
        }
        box_.now() = std::max(box_.now(), due + late);
        const Nanoseconds before = box_.now();
        box_.tick();
        const std::uint64_t turns = box_.filter_shared().turns.load(std::memory_order_relaxed);
        require_equal(turns, ++published_, "turns that are published");
        if (turns > through_) {
            require(before - published_at_[(turns - through_) % kMaxRetainedGenerations] >= kWindow,
                    "more turns are published than a window has, in less than a window");
        }
        published_at_[turns % kMaxRetainedGenerations] = box_.now();
        // The zeroer keeps up, or falls behind for some turns.
        if (idle_turns_ != 0) {
            --idle_turns_;
            return;
        }
        idle_turns_ = chance_.once_in(64) ? chance_.below(20) : 0;
        while (box_.turns().zero()) {
        }
    }

    // Poll without packets, so that the worker takes over the turn.
    void adopt() {
        const std::uint64_t was = context_.ageing->generation();
        box_.worker(0).poll_once();
        const std::uint64_t now = context_.ageing->generation();
        check_turns(was, now);
        if (segments_ != nullptr && now != was) {
            check_segments(now - was);
        }
    }

    void check_turns(std::uint64_t was, std::uint64_t now) {
        turned_ += now - was;
        require(now <= published_ + context_.ageing->early_turns(),
                "a worker has more turns than were published");
        const Nanoseconds time = context_.ageing->time();
        const filter::WindowState window =
            context_.ops->window(context_.filter, *context_.ageing, time);
        for (std::uint64_t number = was + 1; number <= now; ++number) {
            Generation& next = generation(number);
            const Generation& last = generation(number - 1);
            next = {number, 0, last.put_from, last.put_until};
        }
        out_.shortest = std::min(out_.shortest, window.achieved);
        if (now > through_) {
            const Generation& lost = generation(now - through_ - 1);
            require(window.achieved <= time - lost.put_from,
                    "a window is kept that is longer than what is known");
            require(window.early_turns != 0 || time - lost.put_until >= kWindow,
                    "what was put less than a window ago is forgotten");
        }
        require(window.early_turns != 0 || window.achieved == kWindow,
                "less than a window is kept, and nothing ended early");
    }

    void check_segments(std::uint64_t shifts) {
        const filter::RingGeometry& ring = segments_->geometry();
        const auto fresh = std::min<std::uint64_t>(shifts, ring.k);
        for (unsigned slot = 0; slot < fresh; ++slot) {
            const std::byte* const bytes = segments_->segment(slot);
            require(bytes != nullptr, "a slot that is written has no segment");
            std::uint64_t bits = 0;
            for (std::uint64_t i = 0; i < ring.segment_bytes; i += sizeof bits) {
                std::uint64_t word = 0;
                std::memcpy(&word, bytes + i, sizeof word);
                bits |= word;
            }
            require(bits == 0, "a segment comes into use with old bits");
            ++out_.segments;
        }
        std::array<std::uint64_t, filter::kMaxSegments / 64 + 1> seen{};
        const std::byte* const base = segments_->segment_memory(0).data();
        for (unsigned slot = 0; slot < ring.slots(); ++slot) {
            const std::byte* const bytes = segments_->segment(slot);
            if (bytes == nullptr) {
                continue;
            }
            const auto id = static_cast<unsigned>((bytes - base) /
                                                  static_cast<std::ptrdiff_t>(ring.segment_bytes));
            const std::uint64_t bit = std::uint64_t{1} << id % 64;
            require((seen[id / 64] & bit) == 0, "a segment is in two slots");
            seen[id / 64] |= bit;
        }
    }

    // Poll with packets: new keys, one that must be known, one that must be forgotten.
    void ask() {
        const std::uint64_t now = context_.ageing->generation();
        Generation* const oldest = now >= through_ ? kept(now - through_) : nullptr;
        const std::uint64_t past =
            forgotten_ + (chance_.once_in(4) ? chance_.below(kKept / 2 - forgotten_) : 0);
        Generation* const expired = now >= past ? kept(now - past) : nullptr;
        const unsigned puts =
            row_.puts == 1 ? 1 : 1 + static_cast<unsigned>(chance_.below(row_.puts));
        const std::span<Handed> packets =
            peer_.next_round((oldest != nullptr ? 1 : 0) + (expired != nullptr ? 1 : 0) + puts);
        std::size_t n = 0;
        if (oldest != nullptr) {
            packets[n].key = oldest->key;
            packets[n++].copy = true;
        }
        if (expired != nullptr) {
            packets[n].key = expired->key;
            packets[n++].copy = true;
            expired->key = 0;
        }
        const std::size_t first = n;
        for (; n < packets.size(); ++n) {
            packets[n].key = next_key_++;
        }
        peer_.offer(false);
        const auto& reasons = box_.worker(0).counters().routes[0];
        const auto doubts = [&] { return reasons[static_cast<unsigned>(Reason::kDoubt)].packets; };
        const std::uint64_t doubts_before = doubts();
        const Nanoseconds begun = box_.now();
        do {
            box_.worker(0).poll_once();
            peer_.check();
        } while (peer_.waiting() != 0);
        // A generation may end early within the round. The first packet is decided before that.
        const std::uint64_t after = context_.ageing->generation();
        if (after != now) {
            check_turns(now, after);
        }
        if (oldest != nullptr) {
            ++out_.must;
            if (!packets[0].gone()) {
                require(doubts() != doubts_before,
                        "a key is missed in the oldest generation that is remembered");
                ++out_.doubts;
                oldest->key = 0;  // it was inserted again
            }
        }
        out_.expired += expired != nullptr ? 1 : 0;
        for (n = oldest != nullptr ? 1 : 0; n < packets.size(); ++n) {
            ++out_.news;
            out_.false_drops += packets[n].gone() ? 1 : 0;
        }
        note_puts(packets.subspan(first), now, after, begun);
        out_.packets += packets.size();
        peer_.settle();
        if (++rounds_ % 64 == 0) {
            require_equal(rte_mempool_avail_count(peer_.pool()), peer_.buffers(),
                          "packet buffers that are back");
        }
    }

    // If generations ended meanwhile, the last new key belongs to the present one. Insertions of
    // the generations before it may have happened at any time since the round began.
    void note_puts(std::span<const Handed> puts, std::uint64_t before, std::uint64_t now,
                   Nanoseconds begun) {
        for (std::uint64_t number = before; number <= now; ++number) {
            generation(number).put_from = begun;
            generation(number).put_until = context_.ageing->time();
            generation(number).key = 0;
        }
        generation(now).key = puts.back().gone() ? 0 : puts.back().key;
    }

    Generation* kept(std::uint64_t number) {
        Generation& one = generation(number);
        return one.number == number && one.key != 0 ? &one : nullptr;
    }

    const Row& row_;
    std::uint64_t& turned_;  // by all rows
    Peer& peer_;
    Box box_;
    const pipeline::FilterContext& context_;
    filter::SegmentRing* segments_;
    FastChance chance_;
    Nanoseconds length_;
    unsigned through_;
    unsigned forgotten_;  // generations after its own in which a key is no longer known
    std::uint64_t published_ = 0;
    std::uint64_t idle_turns_ = 0;
    std::uint64_t next_key_ = 1;
    std::uint64_t rounds_ = 0;
    std::array<Nanoseconds, kMaxRetainedGenerations> published_at_{};
    std::vector<Generation> generations_ = std::vector<Generation>(kKept);
    Counted out_;
};

nlohmann::ordered_json json_of(const Row& row, const Counted& c) {
    return {{"row", row.name},
            {"max_false_drop", std::strtod(row.bound, nullptr)},
            {"turns", c.turns},
            {"violations", 0},
            {"published", c.published},
            {"early", c.early},
            {"late", c.late},
            {"segments_zero", c.segments},
            {"packets", c.packets},
            {"unaccounted", 0},
            {"copies_of_oldest_generation", c.must},
            {"missed", 0},
            {"doubts_of_these", c.doubts},
            {"copies_forgotten", c.expired},
            {"new", c.news},
            {"false_drops", c.false_drops},
            {"allowed", static_cast<double>(c.news) * std::strtod(row.bound, nullptr)},
            {"shortest_window_ns", c.shortest}};
}

void print(const Row& row, const Counted& c) {
    const auto n = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
    std::printf(
        "%-13s turns %llu (published %llu, late %llu, early %llu), violations 0; segments zero "
        "%llu; oldest known %llu, missed 0, doubts %llu; expired %llu; new %llu, dropped %llu\n",
        row.name, n(c.turns), n(c.published), n(c.late), n(c.early), n(c.segments), n(c.must),
        n(c.doubts), n(c.expired), n(c.news), n(c.false_drops));
    std::fflush(stdout);
}

void judge_drops(const Row& row, const Counted& c) {
    const double bound = std::strtod(row.bound, nullptr);
    const Counts allowed = binomial_bounds(static_cast<double>(c.news), bound);
    if (static_cast<double>(c.false_drops) > allowed.high) {
        wrong(std::string(row.name) + ": " + std::to_string(c.false_drops) +
              " packets dropped that were no copies, or forgotten ones; the bound allows " +
              std::to_string(allowed.high));
    }
}

void run(const CountingOptions& options, std::uint64_t& done) {
    run_works<Turns, Row>(kCounting, options, kRows, done,
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
