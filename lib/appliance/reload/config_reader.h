// SPDX-License-Identifier: BSD-3-Clause
// Reads a configuration on a thread that may hang: a file may lie where reading never ends, such as
// a network mount whose server is gone. Such a thread is abandoned, and ends with the process.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "appliance/reload/reload_plan.h"
#include "base/result.h"
#include "base/units.h"
#include "config/problem.h"

namespace unecho::appliance {

using WantedResult = tl::expected<WantedConfig, std::vector<config::Problem>>;

class ConfigReader {
  public:
    // read owns all that it uses, because it may outlive this object.
    explicit ConfigReader(std::function<WantedResult()> read);
    ~ConfigReader();
    ConfigReader(const ConfigReader&) = delete;
    ConfigReader& operator=(const ConfigReader&) = delete;
    ConfigReader(ConfigReader&&) = delete;
    ConfigReader& operator=(ConfigReader&&) = delete;

    // Call `read` and return its result. Errc::kBusy if it takes longer than patience, or an
    // earlier reading still does; Errc::kIo if no thread can be started; Errc::kNoMemory, without a
    // text, if memory is exhausted. One caller at a time.
    Result<WantedResult> read(Nanoseconds patience);

    // Make read() return at once, also one that waits. From any thread.
    void stop();

  private:
    struct Shared;
    const std::shared_ptr<Shared> shared_;
};

}  // namespace unecho::appliance
