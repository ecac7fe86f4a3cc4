// SPDX-License-Identifier: BSD-3-Clause
// Prometheus' text format, 0.0.4. Each family has one HELP and TYPE, followed by all its samples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace unecho::monitor {

using Labels = std::vector<std::pair<std::string, std::string>>;

class PrometheusText {
  public:
    enum class Type { kCounter, kGauge, kHistogram };

    // Add a sample with this value, verbatim. The first call for a family sets its type and help.
    void add(const std::string& family, Type type, std::string_view help, const Labels& labels,
             std::string_view value);
    // Add a cumulative histogram: pairs of (upper bound as text, count up to it), ending with
    // "+Inf". sum: of all measured values; "" if unknown.
    using Buckets = std::vector<std::pair<std::string, std::uint64_t>>;
    void add_histogram(const std::string& family, std::string_view help, const Labels& labels,
                       const Buckets& buckets, std::string_view sum = "");

    [[nodiscard]] std::string text() const;

  private:
    struct Family {
        std::string head;
        std::string samples;
    };
    std::string& samples_of(const std::string& family, Type type, std::string_view help);

    std::vector<Family> families_;
    std::unordered_map<std::string, std::size_t> by_name_;
};

// Format exactly, such as "1.5" for 1,500,000,000.
[[nodiscard]] std::string seconds_text(std::uint64_t nanoseconds);
[[nodiscard]] std::string number_text(double value);

}  // namespace unecho::monitor
