// SPDX-License-Identifier: BSD-3-Clause
// Module captures/view: reports for people. A report of captures is built once as a ReportView, of
// sentences, figures and tables in the order of a reader's questions; text.h prints it for a
// terminal, html/page.h as a page. Strings are plain text as found in captures: each format makes
// it safe.
//
// The module knows no report. It includes base only. Charts are drawn by the report's own code with
// html/plot.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace unecho::view {

// A figure with its name in the JSON ("echoes.packets"), so that the page can be compared with the
// JSON; or a text, without name.
struct Cell {
    template <typename Text>
    requires std::constructible_from<std::string, Text> Cell(Text&& given)
        : text(std::forward<Text>(given)) {}
    Cell(std::string given, std::string figure, std::uint64_t number)
        : text(std::move(given)), name(std::move(figure)), value(number) {}

    std::string text;
    std::string name;
    std::uint64_t value = 0;
    bool harm = false;  // it should be 0
};

// Two parts of a bar, as shares of its full length: copies, and packets that are no copies.
struct Bar {
    double copies = 0;
    double others = 0;
};

struct Row {
    std::vector<Cell> cells;
    std::string note = {};
    Bar bar = {};
    bool gap = false;  // stands for several parts of the chart, without packets
};

// A picture of the report's figures. The page draws it; text draws the bars of the table's rows.
enum class Chart : std::uint8_t { kNone, kAges, kWindows, kTime, kCrossings, kDelay, kLoss };

struct Table {
    std::string title = {};
    std::vector<std::string> columns = {};  // '>' precedes names of columns with numbers
    std::string notes = {};                 // name of the column with the rows' notes
    std::vector<Row> rows = {};
    std::string rest = {};  // "and 3 more protocols"
    Chart chart = Chart::kNone;
    std::size_t subject = 0;  // what the chart shows, if the report has several of a kind
    bool folded = false;      // the page shows it on request only, as all tables with a chart
};

enum class Tone : std::uint8_t { kPlain, kLead, kWarning, kSmall };

struct Paragraph {
    std::string text;
    Tone tone = Tone::kPlain;
};

struct Fact {
    std::string name;
    Cell value;
    std::string detail = {};
};

struct Facts {
    enum class Look : std::uint8_t { kTiles, kList, kReasons };
    Look look = Look::kList;
    std::vector<Fact> facts = {};
};

// Lines to copy.
struct Code {
    std::string id;
    std::string title;
    std::string text;
    std::string hint = {};  // text says this instead, if not empty
};

struct List {
    std::vector<std::string> items;
    std::string rest = {};
};

using Block = std::variant<Paragraph, Facts, Table, Code, List>;

struct Section {
    std::string id;
    std::string title;
    std::vector<Block> blocks = {};  // none: there is nothing to say
    bool wide = false;               // the page puts no other section beside it
};

struct ReportView {
    std::string title;
    std::vector<std::string> inputs;
    std::string opening;
    std::string headline;
    std::size_t accent = 0;  // length of the share at the beginning of the headline
    std::vector<Block> caveats = {};  // what limits the headline; text says it before
    std::vector<Block> answer = {};
    std::vector<Section> sections;
};

}  // namespace unecho::view
