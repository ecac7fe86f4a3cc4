// SPDX-License-Identifier: BSD-3-Clause
// `unecho analyze --window --key ...`: what that configuration would do here, decided as
// `unecho pcap` decides.
#pragma once

#include <cstdint>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "captures/analyze/recommend/what_if.h"
#include "captures/dedup/options.h"
#include "filters/hash/secret.h"
#include "window_options.h"

namespace unecho::app {

void add_what_if_options(CLI::App& command, WindowOptions& options, RepeatOptions& repeats);

// Those of `unecho pcap --engine exact`, checked as there.
Result<offline::Options> read_what_if(const WindowOptions& given, const RepeatOptions& repeats);

// memory: for what it remembers of packets. taps: of the inputs. It learns which populations are
// seen twice as it goes, where `unecho pcap` reads its inputs twice. Errc::kConfig, kNoMemory.
Result<std::unique_ptr<analyze::PacketRemover>> make_pcap_remover(const offline::Options& options,
                                                                  std::uint64_t memory,
                                                                  const hash::Secret& secret,
                                                                  std::size_t taps);

}  // namespace unecho::app
