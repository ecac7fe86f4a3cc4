// SPDX-License-Identifier: BSD-3-Clause
#include "config/names.h"

#include <algorithm>
#include <filesystem>

#include "config/message_text.h"

namespace unecho::config {
namespace {

// The names of two ports of 32 characters fit; telemetry cuts texts at 127.
constexpr std::size_t kLongestRouteName = 98;

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The name becomes a directory's, which must be neither hidden nor above its parent.
bool can_begin(std::string_view name) {
    return !name.empty() && is_letter_or_digit(name.front());
}

}  // namespace

std::string name_of_file(std::string_view path) {
    std::string name = std::filesystem::path(path).stem().string();
    const auto begin = std::find_if(name.begin(), name.end(), is_letter_or_digit);
    name.erase(name.begin(), begin);
    std::replace_if(
        name.begin(), name.end(),
        [](char c) { return !is_letter_or_digit(c) && c != '_' && c != '.' && c != '-'; }, '_');
    name.resize(std::min<std::size_t>(name.size(), kNameLength.hi));
    return name.empty() ? "unecho" : name;
}

std::string name_of_route(const std::vector<std::string>& from, const std::string& to) {
    std::string name;
    for (const std::string& port : from) {
        name += (name.empty() ? "" : "+") + port;
    }
    if (name.size() + 1 + to.size() > kLongestRouteName && from.size() > 2) {
        name = from.front() + "+...+" + from.back();
    }
    return name + ">" + to;
}

void check_run_names(Draft& draft) {
    Run& run = draft.config.run;
    if (!draft.given("run.name")) {
        run.name = name_of_file(draft.config.path);
    } else if (draft.sound("run.name") && !can_begin(run.name)) {
        draft.report("run.name", in_quotes(run.name) +
                                     " cannot name a folder of its own; allowed: a name that "
                                     "begins with a letter or a digit");
    }
    const std::vector<std::string>& args = draft.config.eal.args;
    if (run.telemetry_group && draft.sound("run.telemetry_group") &&
        std::find(args.begin(), args.end(), "--no-telemetry") != args.end()) {
        draft.report("run.telemetry_group",
                     R"(has nothing to open: [eal] args has "--no-telemetry"; leave one out)");
    }
}

void name_routes(Draft& draft) {
    for (std::size_t i = 0; i < draft.config.routes.size(); ++i) {
        if (!draft.given(key_of("route", i, "name"))) {
            const RouteNames& names = draft.route_names[i];
            draft.config.routes[i].name = name_of_route(names.from, names.to);
        }
    }
}

}  // namespace unecho::config
