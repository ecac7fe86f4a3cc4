// SPDX-License-Identifier: BSD-3-Clause
#include "pages/toml_page.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "config/load.h"
#include "pages/roff.h"

namespace unecho::app {
namespace {

// Format text with `code`, **bold** and [links](to).
std::string inline_text(std::string_view text) {
    std::string out;
    std::string plain;
    const auto flush = [&] {
        // A part may begin with a dot in mid-line, which roff_text() would escape as if it began a
        // line.
        out += out.empty() ? roff_text(plain) : roff_text(" " + plain).substr(1);
        plain.clear();
    };
    const auto cut = [&](std::string_view mark, std::size_t begin) {
        const std::size_t end = text.find(mark, begin);
        const std::string_view part = text.substr(begin, end - begin);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + mark.size());
        return part;
    };
    while (!text.empty()) {
        if (text.starts_with('`')) {
            flush();
            out += roff_bold(cut("`", 1));
        } else if (text.starts_with("**")) {
            flush();
            out += fmt::format("\\fB{}\\fR", inline_text(cut("**", 2)));
        } else if (text.starts_with('[') && text.find("](") < text.find(']') + 1) {
            flush();
            out += inline_text(cut("](", 1));
            const std::string_view to = cut(")", 0);
            plain += to.starts_with("http") ? fmt::format(" <{}>", to) : "";
        } else {
            plain += text.front();
            text.remove_prefix(1);
        }
    }
    flush();
    return out;
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) {
        text.remove_prefix(1);
    }
    while (text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    return text;
}

std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> out;
    line = trimmed(line);
    line.remove_prefix(1);
    while (!line.empty()) {
        const std::size_t end = std::min(line.find('|'), line.size());
        out.emplace_back(trimmed(line.substr(0, end)));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return out;
}

class Page {
  public:
    void line(std::string_view text);
    std::string take() && { return close(), std::move(out_); }
    [[nodiscard]] const std::multiset<std::string>& keys() const { return keys_; }

  private:
    void close();  // ends the paragraph, item or table
    void heading(std::string_view text);
    void row(std::string_view text);
    void key_row(const std::vector<std::string>& cells);
    void plain_row(const std::vector<std::string>& cells);

    std::string out_;
    std::string paragraph_;
    std::string request_ = ".PP";  // begins the paragraph
    std::string code_;
    bool in_code_ = false;
    std::vector<std::string> header_;  // of the table; empty: outside of tables
    std::multiset<std::string> keys_;
};

void Page::close() {
    if (!paragraph_.empty()) {
        out_ += request_ + "\n" + inline_text(paragraph_) + "\n";
    }
    paragraph_.clear();
    request_ = ".PP";
    header_.clear();
}

void Page::heading(std::string_view text) {
    const std::size_t level = text.find_first_not_of('#');
    text = trimmed(text.substr(level));
    if (level > 1) {
        out_ += (level == 2 ? ".SH " : ".SS ") + roff_argument(text) + "\n";
    }
}

void Page::key_row(const std::vector<std::string>& cells) {
    const std::string& fallback = cells[2];
    const std::string said = fallback == "required" ? "required"
                             : fallback == "-"      ? ""
                                                    : "default " + fallback;
    out_ += fmt::format(".TP\n{}\n{}", inline_text(cells[0]), inline_text(cells[1]));
    out_ += said.empty() ? "" : "; " + inline_text(said);
    out_ += cells[3].empty() ? "\n" : fmt::format("\n.br\n{}\n", inline_text(cells[3]));
    keys_.insert(cells[0].substr(1, cells[0].size() - 2));
}

void Page::plain_row(const std::vector<std::string>& cells) {
    out_ += fmt::format(".TP\n{}\n", inline_text(cells[0]));
    std::string text;
    for (std::size_t i = 1; i < cells.size(); ++i) {
        text += text.empty() ? "" : "; ";
        text += cells.size() > 2 ? fmt::format("{}: {}", header_[i], cells[i]) : cells[i];
    }
    out_ += inline_text(text) + "\n";
}

void Page::row(std::string_view text) {
    std::vector<std::string> cells = cells_of(text);
    if (header_.empty()) {
        close();
        header_ = std::move(cells);
        return;
    }
    if (cells[0].starts_with("---")) {
        return;
    }
    cells.resize(header_.size());
    if (header_.size() == 4 && header_[0] == "key") {
        key_row(cells);
    } else {
        plain_row(cells);
    }
}

void Page::line(std::string_view text) {
    if (text.starts_with("```")) {
        close();
        out_ += in_code_ ? roff_example(code_) : "";
        code_.clear();
        in_code_ = !in_code_;
    } else if (in_code_) {
        code_ += std::string(text) + "\n";
    } else if (text.starts_with('|')) {
        row(text);
    } else if (text.empty()) {
        close();
    } else if (text.starts_with('#')) {
        close();
        heading(text);
    } else {
        if (text.starts_with("- ")) {
            close();
            request_ = ".IP \\(bu 2";
            text.remove_prefix(2);
        }
        paragraph_ += (paragraph_.empty() ? "" : " ") + std::string(trimmed(text));
    }
}

}  // namespace

Result<std::string> toml_page(std::string_view markdown) {
    Page page;
    while (!markdown.empty()) {
        const std::size_t end = std::min(markdown.find('\n'), markdown.size());
        page.line(markdown.substr(0, end));
        markdown.remove_prefix(std::min(end + 1, markdown.size()));
    }
    std::multiset<std::string> missing;
    for (const config::KnownKey& known : config::known_keys()) {
        missing.insert(known.key);
    }
    for (const std::string& key : page.keys()) {
        if (const auto found = missing.find(key); found != missing.end()) {
            missing.erase(found);
        }
    }
    if (!missing.empty()) {
        return fail(Errc::kInvalidArgument, "no row for the key \"" + *missing.begin() + "\"");
    }
    std::string out = ".\\\" Made from docs/configuration.md.\n";
    out += roff_title("UNECHO.TOML", 5, "File Formats");
    out += ".SH NAME\nunecho.toml \\- configuration of unecho\n.SH DESCRIPTION\n";
    out += std::move(page).take();
    return out + ".SH SEE ALSO\n.BR unecho (1)\n";
}

}  // namespace unecho::app
