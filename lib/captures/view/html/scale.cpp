// SPDX-License-Identifier: BSD-3-Clause
#include "captures/view/html/scale.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/humanize.h"
#include "captures/view/html/text.h"

namespace unecho::view {
namespace {

constexpr double kMaxSteps = 5;
constexpr double kMaxTimes = 7;
constexpr double kFewDecades = 200;    // below it, ticks at 2 and 5 times a power of ten too
constexpr std::size_t kMaxNarrow = 5;  // labels that fit the width of a phone
constexpr std::size_t kMaxWide = 8;    // labels that fit half the width of a desktop

// Return the smallest of 1, 2, 5 times a power of ten with at most `most` steps to `largest`.
double round_step(double largest, double most) {
    const double rough = largest / most;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= rough * (1 - 1e-9)) {
            return factor * power;
        }
    }
    return 10 * power;
}

// Return an axis that ends at `end`, with ticks at whole steps.
template <typename Label>
Scale stepped(double end, double step, Label label) {
    Scale scale;
    scale.top = end;
    for (int i = 0; i * step <= end * (1 + 1e-9); ++i) {
        scale.ticks.push_back({i * step / end, label(i * step), false});
    }
    return scale;
}

// Return the first half step that is not below `largest`, so that little of the chart stays empty.
double round_end(double largest, double step) {
    return std::ceil(largest / step * 2 - 1e-9) * step / 2;
}

std::string short_count(double value, double top) {
    if (top >= 1e9) {
        return coordinate(value / 1e9) + (value > 0 ? "G" : "");
    }
    if (top >= 1e6) {
        return coordinate(value / 1e6) + (value > 0 ? "M" : "");
    }
    if (top >= 1e4) {
        return coordinate(value / 1e3) + (value > 0 ? "k" : "");
    }
    return format_count(to_whole(std::round(value)));
}

double time_step(double span) {
    static constexpr std::array<double, 14> kSteps{
        60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000};
    const double seconds = span / 1e9;
    if (seconds <= 30 * kMaxTimes) {
        return round_step(span, kMaxTimes);
    }
    for (const double step : kSteps) {
        if (seconds / step <= kMaxTimes) {
            return step * 1e9;
        }
    }
    return round_step(seconds / 86400, kMaxTimes) * 86400e9;
}

// Keep so many labels that they do not touch, at equal distances.
void thin_out(std::vector<Tick>& ticks) {
    const auto every = [&](std::size_t most) { return (ticks.size() + most - 1) / most; };
    const std::size_t wide = every(kMaxWide);
    const std::size_t narrow = (every(kMaxNarrow) + wide - 1) / wide * wide;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
        ticks[i].minor = i % narrow != 0;
        if (i % wide != 0) {
            ticks[i].label.clear();
        }
    }
}

// Powers of ten are recognisable in seconds, but not in minutes.
std::string age_label(Nanoseconds age) {
    return age < kSecond ? brief_duration(age) : format_count(age / kSecond) + " s";
}

}  // namespace

Scale count_scale(double largest) {
    const double most = std::max(largest, 1.0);
    const double step = std::max(1.0, round_step(most, kMaxSteps));
    const double end = round_end(most, step);
    return stepped(end, step, [end](double value) { return short_count(value, end); });
}

Scale share_scale(double largest) {
    const double most = std::clamp(largest, 1e-5, 1.0);
    const double step = round_step(most, kMaxSteps);
    return stepped(round_end(most, step), step,
                   [](double value) { return format_number("%.4g %%", value * 100); });
}

Scale time_scale(Nanoseconds span) {
    const double end = static_cast<double>(std::max<Nanoseconds>(span, 1));
    const double step = std::max(1.0, time_step(end));
    Scale scale = stepped(end, step, [](double value) {
        const auto time = to_whole(std::round(value));
        std::string text = time == 0 ? "0" : brief_duration(time);
        if (text.ends_with(" days")) {
            text.resize(text.size() - 3);  // "1,000 d": five labels must fit a phone
        }
        return text;
    });
    thin_out(scale.ticks);
    return scale;
}

double LogScale::at(Nanoseconds value) const {
    const double clamped = std::clamp(static_cast<double>(value), low, high);
    return std::log(clamped / low) / std::log(high / low);
}

LogScale log_scale(double low, double high) {
    LogScale scale;
    scale.low = low;
    scale.high = std::max(high, low * 10);
    const bool short_span = scale.high / scale.low < kFewDecades;
    for (double decade = 1; decade <= scale.high * (1 + 1e-9); decade *= 10) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double value = factor * decade;
            if (value >= scale.low * (1 - 1e-9) && value <= scale.high * (1 + 1e-9) &&
                (short_span || factor == 1)) {
                const auto whole = to_whole(std::round(value));
                scale.ticks.push_back({scale.at(whole), age_label(whole), false});
            }
        }
    }
    thin_out(scale.ticks);
    return scale;
}

}  // namespace unecho::view
