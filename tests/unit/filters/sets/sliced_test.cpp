// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/sliced.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "filters/bits.h"
#include "support/slices.h"

namespace unecho::filter::sliced_test {
namespace {

using Instance = test::SlicedInstance<SlicedFilter, SlicedParams>;

SlicedParams params(const SliceGeometry& geometry, FailedCells failed = FailedCells::kSet,
                    unsigned x = 0) {
    return *SlicedParams::make({.geometry = geometry, .failed = failed, .x = x});
}

std::string message(const SlicedSpec& spec) {
    const auto made = SlicedParams::make(spec);
    return made ? "valid" : made.error().context;
}

std::string message(const SliceGeometry& geometry) {
    return message(SlicedSpec{.geometry = geometry});
}

constexpr Slicing kAll[] = {Slicing::kHorizontal, Slicing::kVertical, Slicing::kDicedHv,
                            Slicing::kDicedVh};

SliceGeometry shape(Slicing slicing, unsigned k, std::uint64_t m, unsigned S, unsigned S2) {
    const bool diced = slicing == Slicing::kDicedHv || slicing == Slicing::kDicedVh;
    return {.slicing = slicing, .k = k, .m = m, .S = S, .S2 = diced ? S2 : 1};
}

std::set<unsigned> slices_of(const SliceGeometry& geometry, Digest digest) {
    std::set<unsigned> slices;
    for (const CellPlace& place : SliceMap(geometry).places(digest)) {
        slices.insert(place.slice);
    }
    return slices;
}

TEST(sliced_params, limits_are_named) {
    EXPECT_EQ(message({.k = 1, .m = 1}), "valid");
    EXPECT_EQ(message({.k = 64, .m = 65536, .S = 65536}), "valid");
    EXPECT_EQ(message({.slicing = Slicing::kDicedVh, .k = 4, .m = 600, .S = 3, .S2 = 4}), "valid");
    EXPECT_EQ(message({.slicing = Slicing::kDicedHv, .k = 4, .m = 65536, .S = 256, .S2 = 256}),
              "valid");
    EXPECT_EQ(message({.k = 1, .m = std::uint64_t{1} << 49}), "valid");
    EXPECT_EQ(message({.k = 0, .m = 64}), "sliced: k = 0; allowed: 1 to 64");
    EXPECT_EQ(message({.k = 65, .m = 64}), "sliced: k = 65; allowed: 1 to 64");
    EXPECT_EQ(message({.k = 4, .m = 64, .S = 0}), "sliced: S = 0; allowed: 1 to 65536");
    EXPECT_EQ(message({.k = 4, .m = 64, .S = 65537}), "sliced: S = 65537; allowed: 1 to 65536");
    EXPECT_EQ(message({.k = 4, .m = 64, .S = 2, .S2 = 2}),
              "sliced: S' = 2; allowed: 1 unless diced");
    EXPECT_EQ(message({.slicing = Slicing::kVertical, .k = 4, .m = 64, .S = 2, .S2 = 0}),
              "sliced: S' = 0; allowed: 1 unless diced");
    EXPECT_EQ(message({.slicing = Slicing::kDicedHv, .k = 4, .m = 64, .S = 2, .S2 = 0}),
              "sliced: S = 2, S' = 0; allowed: 1 to 65536 slices in all");
    EXPECT_EQ(message({.slicing = Slicing::kDicedHv, .k = 4, .m = 65792, .S = 256, .S2 = 257}),
              "sliced: S = 256, S' = 257; allowed: 1 to 65536 slices in all");
    EXPECT_EQ(message({.k = 4, .m = 0, .S = 3}),
              "sliced: m = 0; allowed: multiples of S S' = 3 up to 562949953421312");
    EXPECT_EQ(message({.k = 4, .m = 64, .S = 3}),
              "sliced: m = 64; allowed: multiples of S S' = 3 up to 562949953421312");
    EXPECT_EQ(message({.k = 4, .m = (std::uint64_t{1} << 49) + 1}),
              "sliced: m = 562949953421313; allowed: multiples of S S' = 1 up to 562949953421312");
}

TEST(sliced_params, x_belongs_to_the_heuristic) {
    const SliceGeometry geometry{.k = 4, .m = 64};
    const auto with = [&](FailedCells failed, unsigned x) {
        return message(SlicedSpec{.geometry = geometry, .failed = failed, .x = x});
    };
    EXPECT_EQ(with(FailedCells::kAtLeast, 1), "valid");
    EXPECT_EQ(with(FailedCells::kAtLeast, 4), "valid");
    EXPECT_EQ(with(FailedCells::kAtLeast, 0), "sliced: live cells = 0; allowed: 1 to k = 4");
    EXPECT_EQ(with(FailedCells::kAtLeast, 5), "sliced: live cells = 5; allowed: 1 to k = 4");
    EXPECT_EQ(with(FailedCells::kSet, 1),
              "sliced: live cells = 1; allowed: 0 unless failed = at least");
    EXPECT_EQ(with(FailedCells::kUnset, 4),
              "sliced: live cells = 4; allowed: 0 unless failed = at least");
}

TEST(sliced_params, a_slice_has_its_share_of_the_bits) {
    const auto bytes = [](const SliceGeometry& geometry) {
        return SlicedFilter::slice_bytes(params(geometry));
    };
    EXPECT_EQ(bytes({.k = 1, .m = 8}), 1u);
    EXPECT_EQ(bytes({.k = 1, .m = 9}), 2u);
    EXPECT_EQ(bytes({.k = 1, .m = 600, .S = 6}), 13u);
    EXPECT_EQ(bytes({.slicing = Slicing::kDicedHv, .k = 1, .m = 600, .S = 6, .S2 = 5}), 3u);
}

// The outer index belongs to the first cut.
TEST(slice_map, diced_keys_stay_in_one_group_or_in_one_column) {
    const SliceGeometry hv{.slicing = Slicing::kDicedHv, .k = 8, .m = 6000, .S = 4, .S2 = 3};
    const SliceGeometry vh{.slicing = Slicing::kDicedVh, .k = 8, .m = 6000, .S = 4, .S2 = 3};
    std::set<unsigned> groups;
    std::set<unsigned> columns;
    std::set<unsigned> inner;
    std::set<unsigned> outer;
    for (Digest digest = 0; digest < 300; ++digest) {
        const unsigned group = *slices_of(hv, digest).begin() / 3;
        groups.insert(group);
        for (const unsigned slice : slices_of(hv, digest)) {
            ASSERT_EQ(slice / 3, group);
            inner.insert(slice % 3);
        }
        const unsigned column = *slices_of(vh, digest).begin() % 3;
        columns.insert(column);
        for (const unsigned slice : slices_of(vh, digest)) {
            ASSERT_EQ(slice % 3, column);
            outer.insert(slice / 3);
        }
    }
    EXPECT_EQ(groups, (std::set<unsigned>{0, 1, 2, 3}));
    EXPECT_EQ(inner, (std::set<unsigned>{0, 1, 2}));
    EXPECT_EQ(columns, (std::set<unsigned>{0, 1, 2}));
    EXPECT_EQ(outer, (std::set<unsigned>{0, 1, 2, 3}));
}

TEST(slice_map, cells_are_all_used_and_no_more) {
    for (const Slicing slicing : kAll) {
        const SliceGeometry geometry = shape(slicing, 5, 84, 4, 3);
        std::set<std::uint64_t> cells;
        for (Digest digest = 0; digest < 1000; ++digest) {
            for (const CellPlace& place : SliceMap(geometry).places(digest)) {
                ASSERT_LT(place.slice, geometry.slices());
                ASSERT_LT(place.cell, geometry.cells_per_slice());
                cells.insert(place.slice * geometry.cells_per_slice() + place.cell);
            }
        }
        EXPECT_EQ(cells.size(), 84u);
    }
}

TEST(sliced, clear_reaches_failed_slices) {
    Instance i(params({.k = 4, .m = 4000}));
    i.filter.insert(1);
    i.filter.fail(0);
    i.filter.clear();
    i.filter.restore(0);
    EXPECT_FALSE(i.filter.query(1));
}

}  // namespace
}  // namespace unecho::filter::sliced_test
