// SPDX-License-Identifier: BSD-3-Clause
// Reads a configuration on a thread that nobody has to wait for: a file may lie where reading never
// ends, as on a network mount whose server is gone. Such a thread is left alone, and ends with the
// process.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "appliance/reload/reload_plan.h"
#include "base/result.h"
#include "base/units.h"
#include "config/problem.h"

namespace unecho::control {

using WantedResult = tl::expected<WantedConfig, std::vector<config::Problem>>;

class ConfigReader {
  public:
    // read: may outlive this object, so it keeps all that it uses.
    explicit ConfigReader(std::function<WantedResult()> read);
    ~ConfigReader();
    ConfigReader(const ConfigReader&) = delete;
    ConfigReader& operator=(const ConfigReader&) = delete;
    ConfigReader(ConfigReader&&) = delete;
    ConfigReader& operator=(ConfigReader&&) = delete;

    // Return what read() gives from now on. Errc::kBusy: it takes longer, or an earlier reading
    // does; Errc::kIo: no thread can be started; Errc::kNoMemory, without a text: no memory is
    // left. One caller at a time.
    Result<WantedResult> read(Nanoseconds patience);

    // From any thread: read() returns at once, also one that is waiting.
    void stop();

  private:
    struct Shared;
    const std::shared_ptr<Shared> shared_;
};

}  // namespace unecho::control
