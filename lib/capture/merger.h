// SPDX-License-Identifier: BSD-3-Clause
// Several sources as one, by time; the order is that of open_captures() (reader.h). Its batches
// hold the memory of several inputs' batches, nothing is copied. Where one input fails the others
// are read no further: what they had read is given, then the error.
#pragma once

#include <memory>
#include <vector>

#include "base/packet_clock.h"
#include "capture/source.h"

namespace unecho::capture {

// Warnings and interfaces name the input by its place in the list. jump: of MergeClock.
std::unique_ptr<Source> merge(std::vector<std::unique_ptr<Source>> sources,
                              Nanoseconds jump = kNoEpochs);

}  // namespace unecho::capture
