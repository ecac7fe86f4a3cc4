// SPDX-License-Identifier: BSD-3-Clause
#include "config/source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/os/errno_code.h"
#include "base/units.h"
#include "base/utf8.h"

namespace unecho::config {
namespace {

tl::unexpected<Error> fail_errno(const char* what, int error) {
    return fail(errc_from_errno(error), what + std::generic_category().message(error));
}

std::optional<Problem> check_bytes(std::string_view text) {
    int line = 1;
    std::size_t line_start = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f) {
            return Problem{
                line, "file",
                fmt::format("is not text: \"{}\" at byte {}", escaped(text.substr(i, 1)), i)};
        }
        if (byte == '\n') {
            ++line;
            line_start = i + 1;
        } else if (i - line_start >= kMaxLineBytes) {
            return Problem{line, "file",
                           fmt::format("a line is longer than {} bytes", kMaxLineBytes)};
        }
    }
    return std::nullopt;
}

// Distinguishes comments, one-line strings, table headers, keys and values, as far as
// check_syntax() needs. It may be wrong after invalid TOML, where toml++ stops.
class Scanner {
  public:
    // Return what is wrong with the first character of rest; nullptr: nothing.
    const char* take(std::string_view rest) {
        const char c = rest.front();
        const bool letter = static_cast<unsigned char>(c) >= 0x80;
        if (c == '\n') {
            end_line();
        } else if (comment_) {
            return nullptr;
        } else if (quote_ != '\0') {
            take_in_string(c);
            return letter && !value_ ? kOutside : nullptr;
        } else if (c == '#') {
            comment_ = true;
        } else if (c == '"' || c == '\'') {
            open_string(c);
            return rest.substr(1, 2) == std::string(2, c) ? kThreeQuotes : nullptr;
        } else if (letter) {
            return kOutside;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return take_other(rest);
        } else {
            blank_ = true;
        }
        return nullptr;
    }

  private:
    static constexpr const char* kOutside =
        "only comments and values in quotes may hold other letters than those of ASCII";
    static constexpr const char* kThreeQuotes =
        "a string in three quotes is not taken here; write it on one line in one pair of quotes";

    static constexpr const char* kNoName =
        "the name of a table begins with a letter, a digit, _ or -, or is in quotes";

    static constexpr const char* kNoValue =
        "a value is missing between the bracket or comma of a list and this }";

    static constexpr const char* kTwoNumbers =
        "two numbers stand side by side; a comma is missing, or they are one too many";

    enum class Place { key, value, behind_value };

    void end_line() {
        comment_ = false;
        escaped_ = false;
        quote_ = '\0';
        line_is_blank_ = true;
        blank_ = true;
        if (open_.empty()) {
            place_ = Place::key;
        }
    }

    void open_string(char quote) {
        quote_ = quote;
        line_is_blank_ = false;
        value_ = place_ == Place::value;
        place_ = value_ ? Place::behind_value : place_;
    }

    // A bracket at the start of a line belongs to a table, unless a list is open.
    const char* take_other(std::string_view rest) {
        const char c = rest.front();
        if (is_digit(c) && blank_ && place_ == Place::behind_value && is_digit(before_)) {
            return kTwoNumbers;
        }
        if (c == '}' && in('[') && (before_ == '[' || before_ == ',')) {
            return kNoValue;
        }
        const bool header = c == '[' && line_is_blank_ && open_.empty();
        move(c);
        blank_ = false;
        before_ = c;
        line_is_blank_ = false;
        return header && !has_name(rest) ? kNoName : nullptr;
    }

    void move(char c) {
        if ((c == '[' || c == '{') && place_ == Place::value) {
            open_ += c;
            place_ = c == '[' ? Place::value : Place::key;
        } else if ((c == ']' && in('[')) || (c == '}' && in('{'))) {
            open_.pop_back();
            place_ = Place::behind_value;
        } else if (c == ',' && !open_.empty()) {
            place_ = in('[') ? Place::value : Place::key;
        } else if (place_ != Place::key) {
            place_ = Place::behind_value;
        } else if (c == '=') {
            place_ = Place::value;
        }
    }

    bool in(char bracket) const { return !open_.empty() && open_.back() == bracket; }

    // Return false if the brackets are followed by none of the characters that may follow.
    static bool has_name(std::string_view header) {
        for (int brackets = 0; brackets < 2 && header.starts_with('['); ++brackets) {
            header.remove_prefix(1);
            header.remove_prefix(std::min(header.find_first_not_of(" \t"), header.size()));
        }
        constexpr std::string_view kMarks = "_-\"']";  // "[]" has its own message
        return header.empty() || is_letter_or_digit(header.front()) ||
               kMarks.find(header.front()) != std::string_view::npos;
    }

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    static bool is_letter_or_digit(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
    }

    void take_in_string(char c) {
        if (escaped_) {
            escaped_ = false;
        } else if (c == '\\' && quote_ == '"') {
            escaped_ = true;
        } else if (c == quote_) {
            before_ = c;
            quote_ = '\0';
        }
    }

    Place place_ = Place::key;
    std::string open_;    // open brackets of lists and inline tables
    char quote_ = '\0';   // of the open string
    char before_ = '\n';  // last character outside strings, except white space
    bool value_ = false;  // the open string is at the place of a value
    bool escaped_ = false;
    bool comment_ = false;
    bool line_is_blank_ = true;
    bool blank_ = false;  // white space follows before_
};

// toml++ 3.3 has undefined behaviour where it looks for white space and finds a letter such as
// U+00E9 (is_non_ascii_horizontal_whitespace() reaches code declared unreachable). It does not look
// in comments and in one-line strings at the place of a value, so letters are allowed there only.
// It does look through a string amid a value, as in -["é"]. TOML itself allows letters in
// multi-line strings and quoted keys, too, which no configuration needs. Three more cases are
// undefined:
// - a table's name that starts with a character that none may start with (parse_key() assumes
//   otherwise)
// - a closing brace in a list at the place of a value (parse_value() assumes otherwise)
// - a digit next to a date
std::optional<Problem> check_syntax(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    Scanner scanner;
    int line = 1;
    std::size_t line_start = 0;
    for (std::size_t i = text.starts_with(kByteOrderMark) ? 3 : 0; i < text.size(); ++i) {
        if (const char* wrong = scanner.take(text.substr(i))) {
            return Problem{line, "syntax", fmt::format("column {}: {}", i - line_start + 1, wrong)};
        }
        if (text[i] == '\n') {
            ++line;
            line_start = i + 1;
        }
    }
    return std::nullopt;
}

}  // namespace

Result<std::string> read_source(const std::string& path, FileKind kind) {
    // A pipe without a writer then opens at once.
    const int waiting = kind == FileKind::kRegular ? O_NONBLOCK | O_NOCTTY : 0;
    const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | waiting));
    const int file = opened.get();
    if (file < 0) {
        return fail_errno("cannot be opened: ", errno);
    }
    if (kind == FileKind::kRegular) {
        struct stat of {};
        if (::fstat(file, &of) != 0) {
            return fail_errno("cannot be read: ", errno);
        }
        if (!S_ISREG(of.st_mode)) {
            return fail(Errc::kInvalidArgument,
                        "is not a regular file; a reload reads nothing else, as it could wait for "
                        "ever");
        }
    }
    std::string text;
    std::array<char, 65536> block{};
    ssize_t got = 1;
    int error = 0;
    while (got != 0 && error == 0 && text.size() <= kMaxSourceBytes) {
        got = ::read(file, block.data(), block.size());
        if (got > 0) {
            text.append(block.data(), static_cast<std::size_t>(got));
        } else if (got < 0 && errno != EINTR) {
            error = errno;
        }
    }
    if (error != 0) {
        return fail_errno("cannot be read: ", error);
    }
    return text;
}

std::optional<Problem> check_source(std::string_view text) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        return Problem{0, "file",
                       "is empty; a configuration needs [[port]], [[filter]], [[route]]"};
    }
    if (text.size() > kMaxSourceBytes) {
        return Problem{0, "file",
                       fmt::format("is larger than {}, which no configuration is",
                                   format_size(kMaxSourceBytes))};
    }
    if (std::optional<Problem> problem = check_bytes(text)) {
        return problem;
    }
    return check_syntax(text);
}

}  // namespace unecho::config
