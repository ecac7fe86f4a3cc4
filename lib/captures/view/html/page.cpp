// SPDX-License-Identifier: BSD-3-Clause
#include "captures/view/html/page.h"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "base/option_names.h"
#include "captures/view/html/style.h"
#include "captures/view/html/text.h"

namespace unecho::view {
namespace {

constexpr std::size_t kMaxInputs = 4;  // others unfold

// Escape the name of a figure or column, with a capital.
std::string capitalised(std::string name) {
    if (!name.empty()) {
        name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    }
    return escape(name);
}

std::string details(const std::string& summary, const std::string& content) {
    return fmt::format("<details><summary>{}</summary>{}</details>\n", summary, content);
}

std::string meter(const Bar& bar) {
    const auto part = [](double share, const char* tone) {
        const double shown = std::clamp(share, 0.0, 1.0) * 100;
        return shown <= 0 ? std::string()
                          : fmt::format("<i style=\"width:{}%{}\"></i>",
                                        coordinate(std::max(shown, 0.5)), tone);
    };
    return fmt::format("<span class=\"meter\">{}{}</span>", part(bar.copies, ""),
                       part(bar.others, ";--tone:var(--lost)"));
}

std::string sub(const std::string& text) {
    return text.empty() ? "" : fmt::format("<span class=\"sub\">{}</span>", escape(text));
}

std::string html_of(const Cell& cell) {
    const std::string text = cell.name.empty()
                                 ? escape(cell.text)
                                 : fmt::format("<data data-is=\"{}\" value=\"{}\">{}</data>",
                                               cell.name, cell.value, escape(cell.text));
    return cell.harm ? fmt::format("<span class=\"lost-text\">{}</span>", text) : text;
}

// The first cell of a row is its heading, with the note and the bar below it.
std::string table_rows(const Table& table) {
    std::string out;
    for (const Row& row : table.rows) {
        const bool drawn = row.bar.copies + row.bar.others > 0 && table.chart == Chart::kNone;
        out += fmt::format("<tr><th scope=\"row\">{}{}{}</th>", html_of(row.cells.front()),
                           sub(row.note), drawn ? meter(row.bar) : "");
        for (std::size_t i = 1; i < row.cells.size(); ++i) {
            out += fmt::format("<td{}>{}</td>",
                               table.columns[i].starts_with('>') ? " class=\"n\"" : "",
                               html_of(row.cells[i]));
        }
        out += "</tr>\n";
    }
    return out;
}

std::string rest_of(const std::string& rest) {
    return rest.empty() ? "" : fmt::format("<p class=\"small\">{}.</p>\n", capitalised(rest));
}

// Writes the blocks of a section.
class HtmlBlocks {
  public:
    explicit HtmlBlocks(const DrawChart& draw) : draw_(draw) {}

    std::string operator()(const Paragraph& paragraph) const {
        switch (paragraph.tone) {
            case Tone::kPlain:
                return fmt::format("<p>{}</p>\n", escape(paragraph.text));
            case Tone::kLead:
                return fmt::format("<p class=\"lead\">{}</p>\n", escape(paragraph.text));
            case Tone::kWarning:
                return fmt::format("<p class=\"warning\">{}</p>\n", escape(paragraph.text));
            case Tone::kSmall:
                break;
        }
        return fmt::format("<p class=\"small\">{}</p>\n", escape(paragraph.text));
    }

    std::string operator()(const Facts& facts) const {
        std::string out;
        for (const Fact& each : facts.facts) {
            const std::string value = html_of(each.value);
            switch (facts.look) {
                case Facts::Look::kTiles:
                    out += fmt::format(
                        "<div><dt>{}</dt><dd><div class=\"big\">{}</div>"
                        "<div class=\"small\">{}</div></dd></div>\n",
                        capitalised(each.name), value, escape(each.detail));
                    break;
                case Facts::Look::kList:
                    out += fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n",
                                       capitalised(each.name), value, sub(each.detail));
                    break;
                case Facts::Look::kReasons:
                    out += fmt::format("<dt>{}<span class=\"sub\">{}</span></dt><dd>{}</dd>\n",
                                       escape(each.name), value, escape(each.detail));
            }
        }
        return fmt::format("<dl class=\"{}\">\n{}</dl>\n",
                           facts.look == Facts::Look::kTiles  ? "answer"
                           : facts.look == Facts::Look::kList ? "facts"
                                                              : "reasons",
                           out);
    }

    std::string operator()(const Table& table) const {
        std::string head;
        for (const std::string& column : table.columns) {
            const bool number = column.starts_with('>');
            head += fmt::format("<th scope=\"col\"{}>{}</th>",
                                number && !head.empty() ? " class=\"n\"" : "",
                                capitalised(column.substr(number ? 1 : 0)));
        }
        const std::string drawn = fmt::format(
            "<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n"
            "<tbody>\n{}</tbody></table></div>\n{}",
            head, table_rows(table), rest_of(table.rest));
        if (table.chart != Chart::kNone || table.folded) {
            return (table.chart == Chart::kNone ? "" : draw_(table)) +
                   details(escape(table.title), drawn);
        }
        return (table.title.empty() ? "" : "<h3>" + escape(table.title) + "</h3>\n") + drawn;
    }

    std::string operator()(const Code& code) const {
        return (code.title.empty() ? "" : "<p class=\"lead\">" + escape(code.title) + ":</p>\n") +
               fmt::format(
                   "<div class=\"code\"><button type=\"button\" data-copy=\"{}\" hidden>Copy"
                   "</button><pre id=\"{}\" tabindex=\"0\"><code>{}</code></pre></div>\n",
                   code.id, code.id, escape(code.text));
    }

    std::string operator()(const List& list) const {
        std::string out;
        for (const std::string& item : list.items) {
            out += fmt::format("<li>{}</li>\n", escape(item));
        }
        return fmt::format("<ul>\n{}</ul>\n{}", out, rest_of(list.rest));
    }

    std::string all(const std::vector<Block>& blocks) const {
        std::string out;
        for (const Block& block : blocks) {
            out += std::visit(*this, block);
        }
        return out;
    }

  private:
    const DrawChart& draw_;
};

std::string header(const ReportView& view, const HtmlBlocks& write) {
    std::string first;
    std::string more;
    for (std::size_t i = 0; i < view.inputs.size(); ++i) {
        std::string& out = i < kMaxInputs ? first : more;
        out += (out.empty() ? "" : ", ") + escape(view.inputs[i]);
    }
    if (!more.empty()) {
        more = details(fmt::format("and {} more", view.inputs.size() - kMaxInputs), more);
    }
    const std::string share = escape(view.headline.substr(0, view.accent));
    return fmt::format("<header>\n<div class=\"source\">{}{}</div>\n<h1>{}{}</h1>\n{}</header>\n",
                       first, more,
                       share.empty() ? "" : "<span class=\"echo-text\">" + share + "</span>",
                       escape(view.headline.substr(view.accent)),
                       write.all(view.caveats) + write.all(view.answer));
}

// Wide pages have two of these sections side by side, the two with charts at equal heights.
std::string_view grid_of(const Section& section) {
    return section.wide                                      ? ""
           : section.id == "ages" || section.id == "windows" ? "pair charts"
                                                             : "pair";
}

std::string sections(const ReportView& view, const HtmlBlocks& write) {
    std::string out;
    std::string_view grid;
    const auto change = [&](std::string_view next) {
        if (next != grid) {
            out += (grid.empty() ? "" : "</div>\n") +
                   (next.empty() ? "" : fmt::format("<div class=\"{}\">\n", next));
            grid = next;
        }
    };
    for (const Section& each : view.sections) {
        change(grid_of(each));
        out += fmt::format(
            "<section id=\"{}\" aria-labelledby=\"{}-h\">\n<h2 id=\"{}-h\">{}</h2>\n{}</section>\n",
            each.id, each.id, each.id, escape(each.title), write.all(each.blocks));
    }
    change("");
    return out;
}

std::string footer(std::string_view command) {
    return fmt::format(
        "<footer><p>Made by unecho {} with <code>unecho {} {}</code>; <code>{}</code> gives the "
        "same figures as data. This page is complete: it loads nothing.</p></footer>\n",
        UNECHO_VERSION, command, option::kHtml, option::kJson);
}

}  // namespace

std::string to_html(const ReportView& view, const DrawChart& draw, std::string_view command) {
    const HtmlBlocks write(draw);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"generator\" content=\"unecho {}\">\n"
        "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}{}</main>\n{}"
        "<script>{}</script>\n</body>\n</html>\n",
        UNECHO_VERSION, escape(view.title), style_sheet(), header(view, write),
        sections(view, write), footer(command), copy_script());
}

}  // namespace unecho::view
