// SPDX-License-Identifier: BSD-3-Clause
#include "captures/view/text.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/table.h"
#include "base/utf8.h"
#include "captures/view/wording.h"

namespace unecho::view {
namespace {

constexpr std::size_t kBar = 32;  // columns

// Return "#" for copies, then "+" for packets that are no copies.
std::string drawn_bar(const Row& row) {
    if (row.gap) {
        return "...";
    }
    std::string others = bar(row.bar.others, kBar);
    std::replace(others.begin(), others.end(), '#', '+');
    return bar(row.bar.copies, kBar) + others + (row.note.empty() ? "" : " <- " + row.note);
}

// Writes blocks as lines with this indent.
class TextBlocks {
  public:
    explicit TextBlocks(std::string indent) : indent_(std::move(indent)) {}

    std::string operator()(const Paragraph& paragraph) const {
        return wrapped(paragraph.text, indent_);
    }

    std::string operator()(const Facts& facts) const {
        std::size_t width = 0;
        for (const Fact& each : facts.facts) {
            width = std::max(width, each.name.size() + 2);
        }
        std::string out;
        for (const Fact& each : facts.facts) {
            const bool reason = facts.look == Facts::Look::kReasons;
            const std::string detail =
                reason || each.detail.empty() ? "" : fmt::format(" ({})", each.detail);
            const std::string value = each.value.text + detail;
            const std::size_t blanks = value.empty() ? 0 : width - each.name.size();
            out += indent_ + each.name + std::string(blanks, ' ') + value + "\n" +
                   (reason ? wrapped(each.detail, indent_ + "  ") : "");
        }
        return out;
    }

    std::string operator()(const Table& table) const {
        const bool bars = table.chart != Chart::kNone;
        std::vector<std::string> columns = table.columns;
        columns.push_back(table.notes);
        TextTable out(columns);
        bool others = false;
        for (const Row& row : table.rows) {
            std::vector<std::string> cells;
            for (const Cell& cell : row.cells) {
                cells.push_back(cell.text);
            }
            cells.push_back(bars ? drawn_bar(row) : row.note);
            out.row(cells);
            others = others || (bars && row.bar.others > 0);
        }
        return (table.title.empty() || bars ? "" : indent_ + table.title + ":\n") + out.text() +
               (others ? indent_ + "# copies, + what was sent again\n" : "") +
               (table.rest.empty() ? "" : indent_ + table.rest + "\n");
    }

    std::string operator()(const Code& code) const {
        const std::string& said = code.hint.empty() ? code.text : code.hint;
        return code.title.empty() ? wrapped(said, indent_)
                                  : fmt::format("{}{}:  {}\n", indent_, code.title, said);
    }

    std::string operator()(const List& list) const {
        std::string out;
        for (const std::string& item : list.items) {
            out += indent_ + item + "\n";
        }
        return out + (list.rest.empty() ? "" : indent_ + list.rest + "\n");
    }

    // An empty line precedes each block but the first.
    std::string all(const std::vector<Block>& blocks) const {
        std::string out;
        for (const Block& block : blocks) {
            out += (out.empty() ? "" : "\n") + std::visit(*this, block);
        }
        return out;
    }

  private:
    std::string indent_;
};

std::string head_of(const ReportView& view) {
    const std::string caveats = TextBlocks("").all(view.caveats);
    return fmt::format("{}\n\n{}{}{}\n\n{}", view.opening, caveats, caveats.empty() ? "" : "\n",
                       view.headline, TextBlocks("").all(view.answer));
}

std::string printable_lines(const std::string& text) {
    std::string out;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        out += printable(std::string_view(text).substr(begin, end - begin)) + "\n";
        begin = end + 1;
    }
    return out;
}

}  // namespace

std::string to_text(const ReportView& view) {
    std::string text = head_of(view);
    for (const Section& each : view.sections) {
        text += "\n" + each.title + "\n" + TextBlocks("  ").all(each.blocks);
    }
    return printable_lines(text);
}

std::string to_summary(const ReportView& view) {
    return printable_lines(head_of(view));
}

}  // namespace unecho::view
