// SPDX-License-Identifier: BSD-3-Clause
// What sites share of the flows they have seen: a Redis Cluster, asked by a thread of its own. The
// leaves of the tree (paper "distributed", section 2) are the filters of appliances; what one of
// them has not seen in its window it asks here, and goes on: no packet waits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "root/counters.h"
#include "root/endpoint.h"
#include "root/feed.h"
#include "root/layout.h"

namespace unecho::root {

struct AskerSpec {
    std::vector<Endpoint> nodes;  // any of the cluster; the others are found
    std::optional<std::string> user;
    std::optional<std::string> password;
    Nanoseconds timeout = 100 * kMillisecond;  // of an answer
    bool tells = true;                         // else what is known is counted alone
};

class Root {
  public:
    // Errc::kUnsupported where unecho was built without hiredis, which speaks Redis' protocol.
    static Status available();

    // feeds outlive it. patience: to wait for all masters before; absent: they are found while
    // packets flow. Errc::kConfig if one refuses, Errc::kIo if one does not answer.
    static Result<std::unique_ptr<Root>> start(Layout layout, AskerSpec spec,
                                               std::vector<Feed*> feeds,
                                               std::optional<Nanoseconds> patience);
    virtual ~Root() = default;
    Root(const Root&) = delete;
    Root& operator=(const Root&) = delete;
    Root(Root&&) = delete;
    Root& operator=(Root&&) = delete;

    // Both from any thread.
    [[nodiscard]] virtual Counters counters() const = 0;
    // What is to be told, since it was asked last.
    [[nodiscard]] virtual std::vector<LogLine> take_lines() = 0;

  protected:
    Root() = default;
};

}  // namespace unecho::root
