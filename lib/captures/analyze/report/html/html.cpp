// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/html/html.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/option_names.h"
#include "captures/analyze/report/html/html_parts.h"
#include "captures/analyze/report/html/html_sections.h"
#include "captures/analyze/report/html/html_style.h"
#include "captures/analyze/report/html/html_text.h"
#include "captures/standard_streams.h"

namespace unecho::analyze {
namespace {

std::string title_of(const Report& report) {
    if (report.files.empty()) {
        return "Echoes";
    }
    const std::string first =
        "Echoes in " + escape(capture::input_display_name(report.files.front().path));
    return report.files.size() == 1
               ? first
               : first + " and " + count_text(report.files.size() - 1) + " more";
}

// Place sections in pairs on wide pages. With an odd number, one has a row of its own: the chart
// over time, which gains most, if it would be on the left anyway; else the last.
std::string side_by_side(const std::vector<std::string>& sections, const std::string& wide) {
    std::vector<std::string> shown;
    std::copy_if(sections.begin(), sections.end(), std::back_inserter(shown),
                 [](const std::string& each) { return !each.empty(); });
    std::string out;
    for (std::size_t i = 0; i < shown.size();) {
        const bool odd = (shown.size() - i) % 2 != 0;
        if (i + 1 == shown.size() || (odd && shown[i] == wide)) {
            out += shown[i];
            i += 1;
        } else {
            out += "<div class=\"pair\">\n" + shown[i] + shown[i + 1] + "</div>\n";
            i += 2;
        }
    }
    return out;
}

std::string body_of(const Report& report) {
    const std::string time = time_section(report);
    const std::string ages = ages_section(report) + windows_section(report);
    return answer_section(report) + facts_section(report) +
           (ages.empty() ? "" : "<div class=\"pair charts\">\n" + ages + "</div>\n") +
           side_by_side(
               {causes_section(report), tunnels_section(report), places_section(report),
                protocols_section(report), time, talkers_section(report), modes_section(report)},
               time) +
           what_if_section(report) + advice_section(report) + warnings_section(report);
}

std::string footer() {
    return "<footer><p>Made by unecho " UNECHO_VERSION " with <code>unecho analyze " +
           option::kHtml + "</code>; <code>" + option::kJson +
           "</code> gives the same figures as data. This page is complete: it loads "
           "nothing.</p></footer>\n";
}

}  // namespace

std::string to_html(const Report& report) {
    return fill(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"generator\" content=\"unecho " UNECHO_VERSION
        "\">\n"
        "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n{}"
        "<script>{}</script>\n</body>\n</html>\n",
        {title_of(report), style_sheet(), body_of(report), footer(), std::string(copy_script())});
}

}  // namespace unecho::analyze
