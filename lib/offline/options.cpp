// SPDX-License-Identifier: BSD-3-Clause
#include "offline/options.h"

#include <string>

#include "offline/editcap.h"

namespace unecho::offline {
namespace {

using config::Engine;
using packet::KeyMode;

tl::unexpected<Error> bad(const std::string& text) {
    return fail(Errc::kConfig, text);
}

Status check_values(const Options& options) {
    if (options.window == Nanoseconds{0}) {
        return bad("--window: 0; allowed: 1ns or more, or inf");
    }
    if (options.count == std::uint64_t{0}) {
        return bad("--count: 0; allowed: 1 or more packets");
    }
    if (options.first && !config::kFirst.contains(*options.first)) {
        return bad("--first: " + std::to_string(*options.first) + "; allowed: " +
                   std::to_string(config::kFirst.lo) + " to " + std::to_string(config::kFirst.hi));
    }
    const bool flow =
        options.key_mode() == KeyMode::kFlow || options.key_mode() == KeyMode::kFlowBidir;
    if (options.first.value_or(1) > 1 && !flow) {
        return bad("--first counts packets of a flow; it needs --key flow or flow-bidir");
    }
    if (options.non_ip && options.key_mode() == KeyMode::kFrame) {
        return bad("--non-ip: --key frame compares every frame by all of its bytes; leave it out");
    }
    if (options.non_ip_or_pass() == packet::NonIp::kFrame && options.first.value_or(1) > 1) {
        return bad("--non-ip frame compares frames one by one; it needs --first 1");
    }
    if (options.ignored_bytes != 0 && options.key_mode() != KeyMode::kFrame) {
        return bad("--ignore-bytes is for whole frames; it needs --key frame");
    }
    if (options.max_false_drop &&
        !(*options.max_false_drop > 0 && *options.max_false_drop <= config::kMostFalseDrop)) {
        return bad("--max-false-drop: allowed: above 0 up to 0.5, as in 1e-6");
    }
    return {};
}

Status check_editcap(const Options& options) {
    if (options.window.has_value() == options.count.has_value()) {
        return bad("--editcap needs one of --window (editcap -w) and --count (editcap -D)");
    }
    if (options.key_mode() != KeyMode::kFrame) {
        return bad("--editcap compares whole frames; allowed: --key frame");
    }
    if (options.policy || options.first || options.max_false_drop) {
        return bad("--editcap has its own rules; leave out --policy, --first, --max-false-drop");
    }
    if (options.engine != Engine::kAuto && options.engine != Engine::kExact) {
        return bad("--editcap is exact; leave out --engine");
    }
    if (options.count.value_or(1) > kMostEditcapCount) {
        return bad("--count: more than editcap allows; allowed with --editcap: 1 to " +
                   std::to_string(kMostEditcapCount));
    }
    return {};
}

Status check_engine(const Options& options) {
    if (options.engine == Engine::kAuto || options.engine == Engine::kExact) {
        return {};
    }
    const std::string name(config::kEngineNames.at(static_cast<std::size_t>(options.engine)));
    if (options.count) {
        return bad("--count is for engine exact; " + name + " has a window of time");
    }
    if (!config::kWindow.contains(options.window_time())) {
        return bad("--engine " + name + " takes a --window from " +
                   format_duration(config::kWindow.lo) + " to 1h; engine exact takes any");
    }
    if (options.engine == Engine::kShbfX &&
        !config::kFirstCounted.contains(options.first.value_or(1))) {
        return bad("--engine shbf-x counts packets of a flow; allowed: --first from " +
                   std::to_string(config::kFirstCounted.lo) + " to " +
                   std::to_string(config::kFirstCounted.hi));
    }
    return {};
}

}  // namespace

Status check(const Options& options) {
    if (options.editcap) {
        if (const Status status = check_editcap(options); !status) {
            return status;
        }
    }
    if (const Status status = check_values(options); !status) {
        return status;
    }
    return check_engine(options);
}

}  // namespace unecho::offline
