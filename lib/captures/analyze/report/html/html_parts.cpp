// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/html/html_parts.h"

#include <algorithm>

#include "base/assert.h"
#include "captures/analyze/report/html/html_text.h"

namespace unecho::analyze {

std::string fill(std::string_view pattern, std::initializer_list<std::string> values) {
    std::string out;
    for (const std::string& value : values) {
        const std::size_t at = pattern.find("{}");
        UNECHO_ASSERT(at != std::string_view::npos);
        out.append(pattern.substr(0, at)).append(value);
        pattern.remove_prefix(at + 2);
    }
    UNECHO_ASSERT(pattern.find("{}") == std::string_view::npos);
    return out.append(pattern);
}

std::string figure(std::string_view name, std::uint64_t value, const std::string& text) {
    return fill("<data data-is=\"{}\" value=\"{}\">{}</data>",
                {std::string(name), std::to_string(value), text});
}

std::string figure(std::string_view name, std::uint64_t value) {
    return figure(name, value, count_text(value));
}

std::string section(std::string_view id, std::string_view title, const std::string& content) {
    return fill(
        "<section id=\"{}\" aria-labelledby=\"{}-h\">\n<h2 id=\"{}-h\">{}</h2>\n{}</section>\n",
        {std::string(id), std::string(id), std::string(id), escape(title), content});
}

std::string paragraph(const std::string& content) {
    return content.empty() ? "" : "<p>" + content + "</p>\n";
}

std::string fact(std::string_view name, const std::string& value) {
    return fill("<div><dt>{}</dt><dd>{}</dd></div>\n", {escape(name), value});
}

std::string meter(double first, double second) {
    const auto part = [](double share, const char* tone) {
        const double shown = std::clamp(share, 0.0, 1.0) * 100;
        return shown <= 0 ? std::string()
                          : fill("<i style=\"width:{}%{}\"></i>",
                                 {coordinate(std::max(shown, 0.5)), tone});
    };
    return "<span class=\"meter\">" + part(first, "") + part(second, ";--tone:var(--lost)") +
           "</span>";
}

std::string table(std::initializer_list<std::string_view> names, const std::string& rows) {
    std::string head;
    for (const std::string_view name : names) {
        head +=
            fill("<th scope=\"col\"{}>{}</th>", {head.empty() ? "" : " class=\"n\"", escape(name)});
    }
    return "<div class=\"scroll\"><table>\n<thead><tr>" + head + "</tr></thead>\n<tbody>\n" + rows +
           "</tbody></table></div>\n";
}

std::string row(std::initializer_list<std::string> cells) {
    std::string out = "<tr>";
    for (const std::string& cell : cells) {
        out += out.size() == 4 ? "<th scope=\"row\">" + cell + "</th>"
                               : "<td class=\"n\">" + cell + "</td>";
    }
    return out + "</tr>\n";
}

std::string others(std::size_t count, std::string_view with_what) {
    return count == 0 ? ""
                      : fill("<p class=\"small\">And {} with {}.</p>\n",
                             {count_text(count, "other"), escape(with_what)});
}

std::string both(const Report& report) {
    const std::uint64_t copies = std::min(report.copied.packets, report.echoes.packets);
    const std::uint64_t again = report.echoes.packets - copies;
    return again == 0
               ? ""
               : fill(
                     "<p class=\"small\">Echoes are both here: {} and {} that {} sent again.</p>\n",
                     {count_text(copies) + (copies == 1 ? " copy" : " copies"),
                      count_text(again, "packet"), again == 1 ? "was" : "were"});
}

}  // namespace unecho::analyze
