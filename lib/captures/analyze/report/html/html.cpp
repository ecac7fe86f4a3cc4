// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/html/html.h"

#include <algorithm>
#include <cctype>

#include "base/option_names.h"
#include "captures/analyze/report/html/html_charts.h"
#include "captures/analyze/report/html/html_style.h"
#include "captures/analyze/report/html/html_text.h"
#include "captures/analyze/report/report_view.h"

namespace unecho::analyze {
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
    return fill("<details><summary>{}</summary>{}</details>\n", {summary, content});
}

std::string meter(const Bar& bar) {
    const auto part = [](double share, const char* tone) {
        const double shown = std::clamp(share, 0.0, 1.0) * 100;
        return shown <= 0 ? std::string()
                          : fill("<i style=\"width:{}%{}\"></i>",
                                 {coordinate(std::max(shown, 0.5)), tone});
    };
    return "<span class=\"meter\">" + part(bar.copies, "") +
           part(bar.others, ";--tone:var(--lost)") + "</span>";
}

std::string sub(const std::string& text) {
    return text.empty() ? "" : "<span class=\"sub\">" + escape(text) + "</span>";
}

std::string html_of(const Cell& cell) {
    const std::string text = cell.name.empty()
                                 ? escape(cell.text)
                                 : fill("<data data-is=\"{}\" value=\"{}\">{}</data>",
                                        {cell.name, std::to_string(cell.value), escape(cell.text)});
    return cell.harm ? "<span class=\"lost-text\">" + text + "</span>" : text;
}

// The first cell of a row is its heading, with the note and the bar below it.
std::string table_rows(const Table& table) {
    std::string out;
    for (const Row& row : table.rows) {
        const bool drawn = row.bar.copies + row.bar.others > 0 && table.chart == Chart::kNone;
        out += "<tr><th scope=\"row\">" + html_of(row.cells.front()) + sub(row.note) +
               (drawn ? meter(row.bar) : "") + "</th>";
        for (std::size_t i = 1; i < row.cells.size(); ++i) {
            out += fill("<td{}>{}</td>", {table.columns[i].starts_with('>') ? " class=\"n\"" : "",
                                          html_of(row.cells[i])});
        }
        out += "</tr>\n";
    }
    return out;
}

std::string rest_of(const std::string& rest) {
    return rest.empty() ? "" : "<p class=\"small\">" + capitalised(rest) + ".</p>\n";
}

// Writes the blocks of a section.
class HtmlBlocks {
  public:
    explicit HtmlBlocks(const Report& report) : report_(&report) {}

    std::string operator()(const Paragraph& paragraph) const {
        switch (paragraph.tone) {
            case Tone::kPlain:
                return "<p>" + escape(paragraph.text) + "</p>\n";
            case Tone::kLead:
                return "<p class=\"lead\">" + escape(paragraph.text) + "</p>\n";
            case Tone::kWarning:
                return "<p class=\"warning\">" + escape(paragraph.text) + "</p>\n";
            case Tone::kSmall:
                break;
        }
        return "<p class=\"small\">" + escape(paragraph.text) + "</p>\n";
    }

    std::string operator()(const Facts& facts) const {
        std::string out;
        for (const Fact& each : facts.facts) {
            const std::string value = html_of(each.value);
            switch (facts.look) {
                case Facts::Look::kTiles:
                    out += fill(
                        "<div><dt>{}</dt><dd><div class=\"big\">{}</div>"
                        "<div class=\"small\">{}</div></dd></div>\n",
                        {capitalised(each.name), value, escape(each.detail)});
                    break;
                case Facts::Look::kList:
                    out += fill("<div><dt>{}</dt><dd>{}{}</dd></div>\n",
                                {capitalised(each.name), value, sub(each.detail)});
                    break;
                case Facts::Look::kReasons:
                    out += fill("<dt>{}<span class=\"sub\">{}</span></dt><dd>{}</dd>\n",
                                {escape(each.name), value, escape(each.detail)});
            }
        }
        return fill("<dl class=\"{}\">\n{}</dl>\n", {facts.look == Facts::Look::kTiles  ? "answer"
                                                     : facts.look == Facts::Look::kList ? "facts"
                                                                                        : "reasons",
                                                     out});
    }

    std::string operator()(const Table& table) const {
        std::string head;
        for (const std::string& column : table.columns) {
            const bool number = column.starts_with('>');
            head +=
                fill("<th scope=\"col\"{}>{}</th>", {number && !head.empty() ? " class=\"n\"" : "",
                                                     capitalised(column.substr(number ? 1 : 0))});
        }
        const std::string drawn = "<div class=\"scroll\"><table>\n<thead><tr>" + head +
                                  "</tr></thead>\n<tbody>\n" + table_rows(table) +
                                  "</tbody></table></div>\n" + rest_of(table.rest);
        if (table.chart != Chart::kNone || table.folded) {
            return draw(table.chart, *report_) + details(escape(table.title), drawn);
        }
        return (table.title.empty() ? "" : "<h3>" + escape(table.title) + "</h3>\n") + drawn;
    }

    std::string operator()(const Code& code) const {
        return (code.title.empty() ? "" : "<p class=\"lead\">" + escape(code.title) + ":</p>\n") +
               fill(
                   "<div class=\"code\"><button type=\"button\" data-copy=\"{}\" hidden>Copy"
                   "</button><pre id=\"{}\" tabindex=\"0\"><code>{}</code></pre></div>\n",
                   {code.id, code.id, escape(code.text)});
    }

    std::string operator()(const List& list) const {
        std::string out;
        for (const std::string& item : list.items) {
            out += "<li>" + escape(item) + "</li>\n";
        }
        return "<ul>\n" + out + "</ul>\n" + rest_of(list.rest);
    }

    std::string all(const std::vector<Block>& blocks) const {
        std::string out;
        for (const Block& block : blocks) {
            out += std::visit(*this, block);
        }
        return out;
    }

  private:
    const Report* report_;
};

std::string header(const ReportView& view, const HtmlBlocks& write) {
    std::string first;
    std::string more;
    for (std::size_t i = 0; i < view.inputs.size(); ++i) {
        std::string& out = i < kMaxInputs ? first : more;
        out += (out.empty() ? "" : ", ") + escape(view.inputs[i]);
    }
    if (!more.empty()) {
        more = details("and " + std::to_string(view.inputs.size() - kMaxInputs) + " more", more);
    }
    const std::string share = escape(view.headline.substr(0, view.accent));
    return fill("<header>\n<div class=\"source\">{}{}</div>\n<h1>{}{}</h1>\n{}</header>\n",
                {first, more, share.empty() ? "" : "<span class=\"echo-text\">" + share + "</span>",
                 escape(view.headline.substr(view.accent)), write.all(view.answer)});
}

// Wide pages have two of these sections side by side, the two with charts at equal heights.
std::string_view grid_of(std::string_view id) {
    return id == "ages" || id == "windows"                                          ? "pair charts"
           : id == "facts" || id == "what-if" || id == "advice" || id == "warnings" ? ""
                                                                                    : "pair";
}

std::string sections(const ReportView& view, const HtmlBlocks& write) {
    std::string out;
    std::string_view grid;
    const auto change = [&](std::string_view next) {
        if (next != grid) {
            out += (grid.empty() ? "" : "</div>\n") +
                   (next.empty() ? "" : "<div class=\"" + std::string(next) + "\">\n");
            grid = next;
        }
    };
    for (const Section& each : view.sections) {
        change(grid_of(each.id));
        out += fill(
            "<section id=\"{}\" aria-labelledby=\"{}-h\">\n<h2 id=\"{}-h\">{}</h2>\n{}</section>\n",
            {each.id, each.id, each.id, escape(each.title), write.all(each.blocks)});
    }
    change("");
    return out;
}

std::string footer() {
    return "<footer><p>Made by unecho " UNECHO_VERSION " with <code>unecho analyze " +
           option::kHtml + "</code>; <code>" + option::kJson +
           "</code> gives the same figures as data. This page is complete: it loads "
           "nothing.</p></footer>\n";
}

}  // namespace

std::string to_html(const Report& report) {
    const ReportView view = make_view(report);
    const HtmlBlocks write(report);
    return fill(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"generator\" content=\"unecho " UNECHO_VERSION
        "\">\n"
        "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}{}</main>\n{}"
        "<script>{}</script>\n</body>\n</html>\n",
        {escape(view.title), style_sheet(), header(view, write), sections(view, write), footer(),
         std::string(copy_script())});
}

}  // namespace unecho::analyze
