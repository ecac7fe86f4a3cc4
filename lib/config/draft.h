// SPDX-License-Identifier: BSD-3-Clause
// A configuration while it is read: the data so far, the line of each key, and the problems found.
// Private to config: load.cpp fills it, validate.cpp and check_devices.cpp check it.
//
// A problem is reported once: a check of a key that depends on others first calls sound() for
// those.
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
    std::vector<std::string> path;
    std::string on_echo = "drop";
};

class Draft {
  public:
    Config config;
    std::vector<RouteNames> route_names;  // parallel to config.routes

    // Note that the key at path ("filter[0].window") is on this line of the file.
    void place(const std::string& path, int line);
    [[nodiscard]] bool given(const std::string& path) const;

    // Return the line of the key, or of the nearest table around it that is in the file.
    [[nodiscard]] int line_of(std::string_view path) const;

    // Report a problem. A list with a bad element is not sound either.
    void report(const std::string& path, std::string_view message);
    // Mark a key as unsound without a report, so that checks which depend on it stay silent.
    void distrust(const std::string& path);
    [[nodiscard]] bool sound(const std::string& path) const;

    // Return the problems in the order of the file.
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
