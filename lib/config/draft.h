// SPDX-License-Identifier: BSD-3-Clause
// A configuration in the making: the data read so far, where in the file each key stands, and what
// was found wrong. Private to config: load.cpp fills it, validate.cpp and check_devices.cpp check
// it.
//
// A problem is told once: whoever checks a key that depends on others asks sound() of them first.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"
#include "config/schema.h"

namespace unecho::config {

// A route as written, before its names are looked up.
struct RouteNames {
    std::vector<std::string> from;
    std::string to;
    std::string filter;
    std::string on_echo = "drop";
};

class Draft {
  public:
    Config config;
    std::vector<RouteNames> route_names;  // as many as config.routes

    // The key at path ("filter[0].window") is in the file, on this line.
    void place(const std::string& path, int line);
    [[nodiscard]] bool given(const std::string& path) const;

    // The line of the key, or of the nearest table around it that is in the file.
    [[nodiscard]] int line_of(std::string_view path) const;

    // A problem; a list with a bad element is not sound either.
    void report(const std::string& path, std::string_view message);
    // Says nothing, but what follows from this key is not to be told either.
    void distrust(const std::string& path);
    [[nodiscard]] bool sound(const std::string& path) const;

    // In the order of the file.
    [[nodiscard]] std::vector<Problem> problems() const;

  private:
    std::map<std::string, int, std::less<>> lines_;
    std::set<std::string, std::less<>> unsound_;
    std::vector<Problem> problems_;
};

// "filter[3]"
std::string element(std::string_view list, std::size_t index);
// "filter[3].window"
std::string key_of(std::string_view list, std::size_t index, std::string_view key);

}  // namespace unecho::config
