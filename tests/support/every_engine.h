// SPDX-License-Identifier: BSD-3-Clause
// Every engine as a value of a test parameter, and its name as part of the name of a case.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/schema.h"

namespace unecho::test {

inline std::vector<config::Engine> every_engine() {
    std::vector<config::Engine> engines;
    for (std::size_t i = 0; i < config::kEngineNames.size(); ++i) {
        if (const auto engine = static_cast<config::Engine>(i); engine != config::Engine::kAuto) {
            engines.push_back(engine);
        }
    }
    return engines;
}

inline std::string name_of(config::Engine engine) {
    return std::string(config::kEngineNames.at(static_cast<std::size_t>(engine)));
}

// GoogleTest allows no "-" in the name of a case.
inline std::string case_name(const testing::TestParamInfo<config::Engine>& info) {
    std::string name = name_of(info.param);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

}  // namespace unecho::test
