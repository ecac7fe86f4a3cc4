// SPDX-License-Identifier: BSD-3-Clause
#include "pages/roff.h"

#include <fmt/core.h>

namespace unecho::app {

std::string roff_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool line_begins = out.empty() || out.back() == '\n';
        if (line_begins && (c == '.' || c == '\'')) {
            out += "\\&";
        }
        switch (c) {
            case '\\':
                out += "\\e";
                break;
            case '-':
                out += "\\-";
                break;
            case '\'':
                out += "\\(aq";
                break;
            case '`':
                out += "\\(ga";
                break;
            case '^':
                out += "\\(ha";
                break;
            case '~':
                out += "\\(ti";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string roff_bold(std::string_view text) {
    return fmt::format("\\fB{}\\fR", roff_text(text));
}

std::string roff_italic(std::string_view text) {
    return fmt::format("\\fI{}\\fR", roff_text(text));
}

std::string roff_argument(std::string_view text) {
    std::string out = "\"";
    for (const char c : roff_text(text)) {
        out += c == '"' ? std::string("\\(dq") : std::string(1, c);
    }
    return out + "\"";
}

std::string roff_example(std::string_view text) {
    while (text.ends_with('\n')) {
        text.remove_suffix(1);
    }
    return fmt::format(".PP\n.in +4n\n.EX\n{}\n.EE\n.in\n", roff_text(text));
}

std::string roff_title(std::string_view name, int section, std::string_view manual) {
    return ".TH " + roff_argument(name) + " " + std::to_string(section) + " \"\" " +
           roff_argument("unecho " UNECHO_VERSION) + " " + roff_argument(manual) + "\n";
}

}  // namespace unecho::app
