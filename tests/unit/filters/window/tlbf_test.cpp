// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/tlbf.h"

#include <array>
#include <map>
#include <sstream>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "support/instance.h"
#include "support/vectors.h"

namespace unecho::filter::tlbf_test {
namespace {

constexpr Nanoseconds kWindow = 1000 * kSecond;

TlbfSpec roomy(unsigned k, unsigned l, std::uint64_t capacity) {
    return {.k = k, .l = l, .window = kWindow, .capacity = capacity, .arena_bytes = 1 << 22};
}

struct Instance : test::FilterInstance<Tlbf> {
    using FilterInstance::FilterInstance;
    void at(Nanoseconds now) { filter.advance({.now = now}); }
};

std::string message(TlbfSpec spec) {
    return test::message<TlbfParams>(spec);
}

// --- equations ---------------------------------------------------------------------------------

std::vector<std::uint64_t> numbers(const std::string& text) {
    std::vector<std::uint64_t> out;
    std::istringstream in(text);
    for (std::string number; std::getline(in, number, ';');) {
        out.push_back(std::stoull(number));
    }
    return out;
}

std::vector<growth::Load> loads(const std::string& capacities, const std::string& inserted) {
    const auto c = numbers(capacities);
    const auto n = numbers(inserted);
    std::vector<growth::Load> out;
    for (std::size_t i = 0; i < c.size(); ++i) {
        out.push_back({c[i], n[i]});
    }
    return out;
}

TEST(tlbf_growth, shift_comes_when_equations_4_and_5_say) {
    unsigned rows = 0;
    for (const test::Row& row : test::vectors("timelimited_shift")) {
        const auto slices = loads(row.text("c_i"), row.text("n_i"));
        const unsigned k = row.whole("k");
        const auto left = numbers(row.text("u_i"));
        const auto bits = numbers(row.text("m_i"));
        ASSERT_EQ(slices.size(), k);
        for (unsigned i = 0; i < k; ++i) {
            EXPECT_EQ(growth::capacity_of(bits[i]), slices[i].capacity);
            EXPECT_EQ(growth::insertions_left(slices[i], i, k), left[i]) << row.text("case");
        }
        EXPECT_EQ(growth::until_shift(slices), row.whole("U")) << row.text("case");
        ++rows;
    }
    EXPECT_GE(rows, 10u);
}

TEST(tlbf_growth, new_slices_are_those_of_equations_6_to_8) {
    unsigned rows = 0;
    for (const test::Row& row : test::vectors("timelimited_new_slice")) {
        const unsigned k = row.whole("k");
        const auto window = static_cast<Nanoseconds>(row.real("T") * 1e9);
        const auto elapsed = static_cast<Nanoseconds>(row.real("dt") * 1e9);
        const std::uint64_t target =
            growth::target_generation(row.whole("g"), window, row.whole("l"), elapsed);
        EXPECT_EQ(target, row.whole("target_g"));
        const std::uint64_t capacity =
            growth::new_slice_capacity(loads(row.text("c_j"), row.text("n_j")), target);
        EXPECT_EQ(capacity, row.whole("c_0"));
        EXPECT_EQ(growth::bits_for(capacity, k), row.whole("m_0")) << row.text("case");
        ++rows;
    }
    EXPECT_GE(rows, 10u);
}

TEST(tlbf_growth, extremes_neither_wrap_nor_divide_by_zero) {
    EXPECT_EQ(growth::target_generation(1, 1, 1, 0), 1u);
    EXPECT_EQ(growth::target_generation(0, 1000, 4, 10), 1u);
    EXPECT_EQ(growth::target_generation(~std::uint64_t{0}, kWindow, 1, 1), std::uint64_t{1} << 50);
    EXPECT_EQ(growth::insertions_left({5, 7}, 0, 3), 0u);  // overfilled
    EXPECT_EQ(growth::new_slice_capacity({}, 7), 7u);      // k = 1
    // An overfilled slice ahead accepts nothing until it leaves, so a new slice need not accept it
    // either.
    const std::array<growth::Load, 2> overfilled{{{100, 0}, {5, 7}}};
    EXPECT_EQ(growth::new_slice_capacity(overfilled, 7), 14u);
    EXPECT_EQ(growth::bits_for(1, 4), 8u);
}

// --- parameters --------------------------------------------------------------------------------

TEST(tlbf_params, limits_are_named) {
    EXPECT_EQ(message(roomy(4, 3, 100)), "valid");
    EXPECT_EQ(message(roomy(0, 3, 100)), "tlbf: k = 0; allowed: 1 to 127");
    EXPECT_EQ(message(roomy(3, 0, 100)), "tlbf: l = 0; allowed: 1 to 127");
    EXPECT_EQ(message(roomy(64, 65, 100)), "tlbf: k + l = 129; allowed: at most 128");
    EXPECT_EQ(message(roomy(3, 3, 0)), "tlbf: capacity = 0; allowed: 1 to 2^40");
    TlbfSpec spec = roomy(4, 3, 100);
    spec.max_slices = 6;
    EXPECT_EQ(message(spec), "tlbf: max_slices = 6; allowed: 7 (k + l) to 128");
    spec.max_slices = 129;
    EXPECT_EQ(message(spec), "tlbf: max_slices = 129; allowed: 7 (k + l) to 128");
    spec = roomy(4, 3, 100);
    spec.window = 2;
    EXPECT_EQ(message(spec), "tlbf: window = 2 ns; allowed: l = 3 ns to 2^62 ns");
    spec.window = 3;
    EXPECT_EQ(message(spec), "valid");
    spec.window = kMaxTlbfWindow;
    EXPECT_EQ(message(spec), "valid");
    spec.window = kMaxTlbfWindow + 1;
    EXPECT_EQ(message(spec), "tlbf: window = 4611686018427387905 ns; allowed: l = 3 ns to 2^62 ns");
    spec = roomy(4, 3, 100);
    spec.arena_bytes = 100;
    EXPECT_EQ(message(spec), "tlbf: arena_bytes = 100; allowed: multiples of 64 up to 2^46");
    spec.arena_bytes = kMaxFilterBytes;
    EXPECT_EQ(message(spec), "valid");
    spec.arena_bytes = kMaxFilterBytes + 64;
    EXPECT_EQ(message(spec),
              "tlbf: arena_bytes = 70368744177728; allowed: multiples of 64 up to 2^46");
    spec.arena_bytes = 64 * 5;
    EXPECT_EQ(
        message(spec),
        "tlbf: arena_bytes = 320; allowed: at least 384, for 4 slices of 64 bytes and two more");
    spec.arena_bytes = 64 * 6;
    EXPECT_EQ(message(spec), "valid");
    spec.shift_on_time = false;
    EXPECT_EQ(
        message(spec),
        "tlbf: arena_bytes = 384; allowed: at least 576, for 7 slices of 64 bytes and two more");
}

// --- behaviour ---------------------------------------------------------------------------------

// No insertion happened in it, so nothing is shifted and live slices stay.
TEST(tlbf, a_generation_without_insertions_makes_no_slice) {
    Instance i(roomy(4, 5, 1000));
    i.at(1);
    i.filter.insert(42);
    i.at(1 + kWindow / 5);
    EXPECT_EQ(i.filter.counters().shifts, 1u);
    EXPECT_EQ(i.filter.slices(), 5u);
    for (unsigned generation = 2; generation <= 4; ++generation) {
        i.at(1 + generation * kWindow / 5);
        EXPECT_EQ(i.filter.counters().shifts, 1u);
        EXPECT_EQ(i.filter.slices(), 5u);
        EXPECT_TRUE(i.filter.query(42));
    }
    // The next insertion's generation begins at the end of the last silent one.
    i.at(1 + 9 * kWindow / 10);
    i.filter.insert(43);
    i.at(kWindow);
    EXPECT_EQ(i.filter.counters().shifts, 1u);
    i.at(1 + kWindow);
    EXPECT_EQ(i.filter.counters().shifts, 2u);
}

// One slice for each insertion in the smallest arena: every shift finds room for the next.
TEST(tlbf, one_slice_of_one_line_works_at_any_rate) {
    for (const Nanoseconds step : {Nanoseconds{0}, kWindow / 1000, kWindow / 2, kWindow}) {
        TlbfSpec spec = roomy(1, 1, 1);
        spec.arena_bytes = 64 * 3;
        Instance i(spec);
        for (unsigned x = 0; x < 2000; ++x) {
            i.at(x * step);
            i.filter.insert(x);
            ASSERT_TRUE(i.filter.query(x)) << x;
            ASSERT_GE(i.filter.slices(), 1u);
            ASSERT_LE(i.filter.slice(0).inserted, growth::capacity_of(i.filter.slice(0).bits));
        }
    }
}

// With a slice for each insertion, number and size of slices follow the paper, row by row.
TEST(tlbf, constant_rate_runs_as_in_the_reference) {
    using Run = std::tuple<std::string, unsigned, unsigned, unsigned>;
    std::map<Run, std::map<unsigned, test::Row>> runs;
    for (const test::Row& row : test::vectors("timelimited_run")) {
        const Run run{row.text("start"), row.whole("k"), row.whole("l"),
                      row.whole("initial_capacity")};
        runs[run].insert_or_assign(row.whole("inserts_so_far"), row);
    }
    ASSERT_GE(runs.size(), 9u);
    for (const auto& [run, rows] : runs) {
        const auto& [start, k, l, capacity] = run;
        TlbfSpec spec = roomy(k, l, capacity);
        spec.shift_on_time = false;
        Instance i(spec);
        for (unsigned x = 0; x <= rows.rbegin()->first; ++x) {
            i.at((x + 1) * kSecond);
            const std::uint64_t shifts = i.filter.counters().shifts;
            i.filter.insert(x);
            const auto row = rows.find(x);
            if (row == rows.end()) {
                continue;
            }
            std::uint64_t bits = 0;
            for (unsigned slice = 0; slice < i.filter.slices(); ++slice) {
                bits += i.filter.slice(slice).bits;
            }
            const std::string where =
                start + " k " + std::to_string(k) + " at " + std::to_string(x);
            ASSERT_GT(i.filter.counters().shifts, shifts) << where;
            ASSERT_EQ(i.filter.slices(), row->second.whole("slices")) << where;
            ASSERT_EQ(i.filter.slice(0).bits, row->second.whole("m_0")) << where;
            ASSERT_EQ(bits, row->second.whole("memory")) << where;
        }
        EXPECT_EQ(i.filter.counters().evicted_early, 0u);
    }
}

// More than planned: first slices grow. A full arena then shortens the window and reports it. No
// slice is ever filled beyond its capacity.
TEST(tlbf, full_arena_gives_up_the_oldest_and_counts) {
    TlbfSpec spec = roomy(4, 5, 1000);
    spec.arena_bytes = 64 * 1024;
    Instance i(spec);
    for (unsigned x = 0; x < 200'000; ++x) {
        i.at(Nanoseconds{x} * kSecond / 100);
        i.filter.insert(x);
        for (unsigned slice = 0; slice < i.filter.slices(); ++slice) {
            const auto [bits, inserted, words] = i.filter.slice(slice);
            ASSERT_LE(inserted, growth::capacity_of(bits)) << x;
        }
    }
    EXPECT_GT(i.filter.counters().arena_full, 0u);
    EXPECT_GT(i.filter.counters().evicted_early, 0u);
    EXPECT_TRUE(i.filter.query(200'000 - 1));
    EXPECT_FALSE(i.filter.query(100'000));  // 1000 s old, given up
}

TEST(tlbf, slices_return_to_k_plus_l_after_a_burst) {
    Instance i(roomy(5, 4, 100));
    unsigned most = 0;
    for (unsigned x = 0; x < 20'000; ++x) {
        i.at(Nanoseconds{x} * kSecond / 100);
        i.filter.insert(x);
        most = std::max(most, i.filter.slices());
    }
    EXPECT_GT(most, 9u);
    EXPECT_EQ(i.filter.counters().evicted_early, 0u);
    for (unsigned x = 0; x < 5'000; ++x) {
        i.at(200 * kSecond + Nanoseconds{x} * kSecond);
        i.filter.insert(1'000'000 + x);
    }
    EXPECT_LE(i.filter.slices(), 5u + 4 + 1);
    EXPECT_GE(i.filter.slices(), 5u + 4 - 1);
}

TEST(tlbf, max_slices_limits_what_is_alive) {
    TlbfSpec spec = roomy(4, 5, 100);
    spec.max_slices = 9;
    Instance i(spec);
    for (unsigned x = 0; x < 20'000; ++x) {
        i.at(Nanoseconds{x} * kSecond / 100);
        i.filter.insert(x);
        ASSERT_LE(i.filter.slices(), 9u);
    }
    EXPECT_GT(i.filter.counters().evicted_early, 0u);
}

TEST(tlbf, steady_rate_needs_no_clearing_on_the_packet_path) {
    TlbfSpec spec = roomy(7, 5, 1000);
    spec.arena_bytes = 32 * 1024;
    Instance i(spec);
    for (unsigned x = 0; x < 50'000; ++x) {
        i.at(Nanoseconds{x} * kSecond);
        i.filter.insert(x);
    }
    EXPECT_GT(i.filter.counters().shifts, 200u);
    EXPECT_EQ(i.filter.counters().inline_clears, 0u);
    EXPECT_EQ(i.filter.counters().arena_full, 0u);
}

}  // namespace
}  // namespace unecho::filter::tlbf_test
