// SPDX-License-Identifier: BSD-3-Clause
// Sentences, figures and tables of the report, in the order of a reader's questions. They are built
// once; report_text.cpp prints them for a terminal, html/ as a page. Strings are plain text as
// found in captures: each format makes it safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

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
enum class Chart : std::uint8_t { kNone, kAges, kWindows, kTime, kCrossings };

struct Table {
    std::string title = {};
    std::vector<std::string> columns = {};  // '>' precedes names of columns with numbers
    std::string notes = {};                 // name of the column with the rows' notes
    std::vector<Row> rows = {};
    std::string rest = {};  // "and 3 more protocols"
    Chart chart = Chart::kNone;
    bool folded = false;  // the page shows it on request only, as all tables with a chart
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
};

struct ReportView {
    std::string title;
    std::vector<std::string> inputs;
    std::string opening;
    std::string headline;
    std::size_t accent = 0;  // length of the share at the beginning of the headline
    std::vector<Block> answer;
    std::vector<Section> sections;
};

ReportView make_view(const Report& report);

// Return what key packet drops, with non_ip as recommended.
std::vector<WindowRow> windows_as_recommended(const Report& report);

// Sentences of the view that the summary has, too.
std::string opening(const Report& report);   // inputs, packets, bytes, duration
std::string headline(const Report& report);  // the share of copies, or why there is none
std::string copies_cut_sentence(const Report& report);
std::string sent_again_sentence(const Report& report);
std::string text_of(const NotCompared& one);
std::string text_of(const Note& note);  // with its file and packet

// A command to copy, with what it is for: it removes the copies, or aligns clocks if that comes
// first. Empty if nothing is to be done.
struct Remedy {
    std::string purpose;
    std::string command;
};
Remedy remedy(const Report& report);

}  // namespace unecho::analyze
