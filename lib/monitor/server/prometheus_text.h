// SPDX-License-Identifier: BSD-3-Clause
// Prometheus' text format, 0.0.4: families with their HELP and TYPE, each once, all samples of one
// behind each other.
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

    // value: as it is to stand there. The first call of a family says what it is.
    void add(const std::string& family, Type type, std::string_view help, const Labels& labels,
             std::string_view value);
    // A cumulative histogram: (upper bound as text, how many up to there), ending with "+Inf". sum:
    // of what was measured; "" where it is not known.
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

// "1.5" of 1,500,000,000: exact.
[[nodiscard]] std::string seconds_text(std::uint64_t nanoseconds);
[[nodiscard]] std::string number_text(double value);

}  // namespace unecho::monitor
