// SPDX-License-Identifier: BSD-3-Clause
// Fixture for tests that run on every kernel, whichever the processor prefers. Kernels that the
// processor lacks are skipped by name.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/kernels/select.h"

namespace unecho::test {

class OnEveryKernel : public testing::TestWithParam<filter::Isa> {
  protected:
    void SetUp() override {
        if (!filter::available(GetParam())) {
            GTEST_SKIP() << "this processor lacks " << filter::name_of(GetParam());
        }
    }

    // Return the spec of a filter with this kernel.
    template <typename Spec>
    static Spec on_kernel(Spec spec) {
        spec.isa = GetParam();
        return spec;
    }
};

inline const auto kEveryKernel = testing::ValuesIn(filter::kEveryIsa);

// Return the kernels that this processor has, for tests that take turns between them.
inline const std::vector<filter::Isa>& available_isas() {
    static const std::vector<filter::Isa> kFound = [] {
        std::vector<filter::Isa> found;
        std::copy_if(filter::kEveryIsa.begin(), filter::kEveryIsa.end(), std::back_inserter(found),
                     [](filter::Isa isa) { return filter::available(isa); });
        return found;
    }();
    return kFound;
}

inline std::string name_of_kernel(const testing::TestParamInfo<filter::Isa>& info) {
    return std::string(filter::name_of(info.param));
}

}  // namespace unecho::test
