// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/date_time.h"

#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>
#include <string_view>

namespace unecho::dedup {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// A scanner that takes what it expects from the front of a text, and nothing after a mismatch.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    std::uint64_t digits(std::size_t least, std::size_t most) {
        std::size_t count = 0;
        std::uint64_t value = 0;
        while (count < most && count < rest_.size() && is_digit(rest_[count])) {
            value = 10 * value + static_cast<unsigned>(rest_[count++] - '0');
        }
        good_ = good_ && count >= least;
        rest_.remove_prefix(count);
        return value;
    }
    int number(std::size_t least, std::size_t most) {
        return static_cast<int>(digits(least, most));
    }

    void expect(char c) { good_ = take(c) && good_; }
    bool take(char c) {
        const bool there = good_ && !rest_.empty() && rest_.front() == c;
        rest_.remove_prefix(there ? 1 : 0);
        return there;
    }

    // Take ".678", or nothing.
    Nanoseconds fraction() {
        if (!take('.') && !take(',')) {
            return 0;
        }
        const std::size_t before = rest_.size();
        Nanoseconds value = digits(1, 9);
        for (std::size_t count = before - rest_.size(); count < 9; ++count) {
            value *= 10;
        }
        return value;
    }

    [[nodiscard]] bool good() const { return good_; }
    [[nodiscard]] bool done() const { return good_ && rest_.empty(); }

  private:
    std::string_view rest_;
    bool good_ = true;
};

struct DateTime {
    std::int64_t seconds = 0;
    Nanoseconds fraction = 0;
};

// Return true if there is such a time. A minute may have a leap second.
bool exists(const std::tm& fields) {
    constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int year = fields.tm_year + 1900;
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return fields.tm_mon >= 0 && fields.tm_mon < 12 && fields.tm_mday >= 1 &&
           fields.tm_mday <= kDays[fields.tm_mon] + (fields.tm_mon == 1 && leap ? 1 : 0) &&
           fields.tm_hour < 24 && fields.tm_min < 60 && fields.tm_sec <= 60;
}

// Take what follows the sign, and return it as seconds.
std::int64_t offset(Scanner& scan) {
    const int hours = scan.number(2, 2);
    const bool colon = scan.take(':');
    const int minutes = scan.number(colon ? 2 : 0, 2);
    return 3600 * hours + 60 * minutes;
}

std::optional<DateTime> date_and_time(std::string_view text) {
    Scanner scan(text);
    std::tm fields{};
    fields.tm_isdst = -1;
    fields.tm_year = scan.number(4, 4) - 1900;
    scan.expect('-');
    fields.tm_mon = scan.number(1, 2) - 1;
    scan.expect('-');
    fields.tm_mday = scan.number(1, 2);
    if (!scan.take('T')) {
        scan.expect(' ');
    }
    fields.tm_hour = scan.number(1, 2);
    scan.expect(':');
    fields.tm_min = scan.number(1, 2);
    scan.expect(':');
    fields.tm_sec = scan.number(1, 2);
    DateTime out;
    out.fraction = scan.fraction();
    if (!scan.good() || !exists(fields)) {
        return std::nullopt;
    }
    if (scan.done()) {
        out.seconds = ::mktime(&fields);
        return out;
    }
    out.seconds = ::timegm(&fields);
    if (scan.take('+')) {
        out.seconds -= offset(scan);
    } else if (scan.take('-')) {
        out.seconds += offset(scan);
    } else {
        scan.expect('Z');
    }
    return scan.done() ? std::optional(out) : std::nullopt;
}

std::optional<DateTime> seconds_since_1970(std::string_view text) {
    Scanner scan(text);
    DateTime out;
    out.seconds = static_cast<std::int64_t>(scan.digits(1, 12));
    out.fraction = scan.fraction();
    return scan.done() ? std::optional(out) : std::nullopt;
}

}  // namespace

Result<Nanoseconds> parse_date_time(const std::string& text) {
    constexpr std::int64_t kMost =
        static_cast<std::int64_t>(std::numeric_limits<Nanoseconds>::max() / kSecond);
    auto time = date_and_time(text);
    time = time ? time : seconds_since_1970(text);
    if (!time || time->seconds < 0 || time->seconds >= kMost) {
        return fail(Errc::kInvalidArgument,
                    "\"" + text + "\" is no time; allowed: 2026-01-02T03:04:05.678Z, with +01:00 " +
                        "for Z, without it in local time, or seconds since 1970");
    }
    return static_cast<Nanoseconds>(time->seconds) * kSecond + time->fraction;
}

}  // namespace unecho::dedup
