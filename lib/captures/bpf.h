// SPDX-License-Identifier: BSD-3-Clause
// An expression of pcap-filter(7), compiled by libpcap for one link type. Private to captures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "captures/record.h"

namespace unecho::capture {

class Bpf {
  public:
    // Errc::kConfig, with libpcap's message: the expression is not valid for the link type.
    static Result<Bpf> compile(const std::string& expression, std::uint16_t link_type);

    [[nodiscard]] bool matches(const Record& record) const;

  private:
    struct Program;  // keeps libpcap out of the header
    explicit Bpf(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

    std::shared_ptr<const Program> program_;
};

}  // namespace unecho::capture
