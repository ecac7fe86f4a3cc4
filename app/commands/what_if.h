// SPDX-License-Identifier: BSD-3-Clause
// `unecho analyze --window --key ...`: show what that configuration would do here, with the
// decisions of `unecho pcap`.
#pragma once

#include <cstdint>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "captures/analyze/recommend/what_if.h"
#include "captures/dedup/options.h"
#include "filters/hash/secret.h"
#include "options/window_options.h"

namespace unecho::app {

void add_what_if_options(CLI::App& command, WindowOptions& options, RepeatOptions& repeats);

// Return the options as for `unecho pcap --engine exact`, with the same checks.
Result<dedup::Options> read_what_if(const WindowOptions& given, const RepeatOptions& repeats);

// memory: bytes for remembered packets. taps: number of inputs. The remover learns during its
// single pass which populations are mirrored twice; `unecho pcap` reads twice for that.
// Errc::kConfig, kNoMemory.
Result<std::unique_ptr<analyze::PacketRemover>> make_pcap_remover(const dedup::Options& options,
                                                                  std::uint64_t memory,
                                                                  const hash::Secret& secret,
                                                                  std::size_t taps);

}  // namespace unecho::app
