// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/html.h"

#include "analyze/html_parts.h"
#include "analyze/html_sections.h"
#include "analyze/html_style.h"
#include "analyze/html_text.h"

namespace unecho::analyze {
namespace {

std::string title_of(const Report& report) {
    if (report.files.empty()) {
        return "Echoes";
    }
    const std::string first = "Echoes in " + escape(report.files.front().path);
    return report.files.size() == 1
               ? first
               : first + " and " + count_text(report.files.size() - 1) + " more";
}

std::string side_by_side(std::string_view css_class, const std::string& left,
                         const std::string& right) {
    return left.empty() || right.empty()
               ? left + right
               : fill("<div class=\"{}\">\n{}{}</div>\n", {std::string(css_class), left, right});
}

std::string footer() {
    return "<footer><p>Made by unecho " UNECHO_VERSION
           " with <code>unecho analyze --html</code>; <code>--json</code> gives the same figures "
           "as "
           "data. This page is complete: it loads nothing.</p></footer>\n";
}

}  // namespace

std::string to_html(const Report& report) {
    const std::string body =
        answer_section(report) + facts_section(report) +
        side_by_side("pair charts", ages_section(report), windows_section(report)) +
        causes_section(report) +
        side_by_side("pair", places_section(report), protocols_section(report)) +
        time_section(report) +
        side_by_side("pair", talkers_section(report), modes_section(report)) +
        advice_section(report) + warnings_section(report);
    return fill(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"generator\" content=\"unecho " UNECHO_VERSION
        "\">\n"
        "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n{}"
        "<script>{}</script>\n</body>\n</html>\n",
        {title_of(report), style_sheet(), body, footer(), std::string(copy_script())});
}

}  // namespace unecho::analyze
