// SPDX-License-Identifier: BSD-3-Clause
// `unecho pcap`: captures in, a capture without echoes out.
#pragma once

#include <functional>

#include "base/result.h"
#include "capture/source.h"
#include "offline/files.h"
#include "offline/options.h"
#include "offline/summary.h"

namespace unecho::offline {

// Called now and then.
using OnProgress = std::function<void(const capture::Source::Progress&)>;

// ahead: reading and digesting run ahead on a thread. The answer is the same. Errc::kConfig: what
// is asked for is not allowed, files that would overwrite one another too.
Result<Summary> run(const Files& files, const Options& options, bool ahead,
                    const OnProgress& on_progress);

}  // namespace unecho::offline
