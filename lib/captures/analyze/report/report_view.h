// SPDX-License-Identifier: BSD-3-Clause
// The view of the report (captures/view/view.h): its sentences, figures and tables.
#pragma once

#include <string>
#include <vector>

#include "captures/analyze/report/report.h"
#include "captures/view/view.h"

namespace unecho::analyze {

using view::Bar;
using view::Block;
using view::Cell;
using view::Chart;
using view::Code;
using view::Fact;
using view::Facts;
using view::List;
using view::Paragraph;
using view::ReportView;
using view::Row;
using view::Section;
using view::Table;
using view::Tone;

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
