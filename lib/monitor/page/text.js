// SPDX-License-Identifier: BSD-3-Clause
// Numbers for people, by the rules of the report (lib/captures/analyze/report/html/html_text.cpp).

export const kNoBreak = "\u00a0";
const kWhole = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});

function withoutZeros(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

// Format three significant digits of a value below about 1000.
function threeDigits(value) {
  return withoutZeros(value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2));
}

// Use the largest unit in which the rounded value is at least 1.
function scaled(value, units) {
  let i = 0;
  while (i + 1 < units.length && value / units[i][0] >= 999.5) {
    i += 1;
  }
  const number = threeDigits(value / units[i][0]);
  return units[i][1] ? number + kNoBreak + units[i][1] : number;
}

const thousands = name =>
  [[1, name], [1e3, "k" + name], [1e6, "M" + name], [1e9, "G" + name], [1e12, "T" + name]];
const kRates = thousands("pps");
const kBits = thousands("bit/s");
const kBytes = thousands("B");
const kCounts = thousands("");
const kTimes = [[1, "ns"], [1e3, "us"], [1e6, "ms"], [1e9, "s"]];

export const count = value => kWhole.format(value);
export const compact = value => value < 1e5 ? count(value) : scaled(value, kCounts);
export const packetRate = value => scaled(value, kRates);
export const bitRate = value => scaled(value, kBits);
export const bytes = value => scaled(value, kBytes);

export function many(value, word) {
  return count(value) + kNoBreak + word + (value === 1 ? "" : "s");
}

// Format a share from 0 to 1, as percent() of lib/base/humanize.cpp does.
export function percent(share) {
  const value = share * 100;
  if (!(value > 0)) {
    return "0" + kNoBreak + "%";
  }
  if (value >= 100) {
    return "100" + kNoBreak + "%";
  }
  if (value < 0.001) {
    return "under 0.001" + kNoBreak + "%";
  }
  const text = value < 0.01 ? String(Number(value.toPrecision(2)))
    : Math.min(value, 99.999).toFixed(value >= 99.9 ? 3 : value >= 10 ? 1 : 2);
  return text + kNoBreak + "%";
}

// Format a probability as in configurations: "1.3e-8".
export function tiny(rate) {
  if (!(rate > 0)) {
    return "0";
  }
  return rate >= 0.01 ? percent(rate) : rate.toExponential(1).replace(".0e", "e");
}

function twoUnits(value, per, one, other) {
  const rest = value % per;
  const whole = Math.floor(value / per) + kNoBreak + one;
  return rest ? [whole, rest, other].join(kNoBreak) : whole;
}

const days = value =>
  (value < 99.95 ? withoutZeros(value.toFixed(1)) : count(value)) + kNoBreak + "days";

// Format a time as brief_duration() of lib/base/humanize.cpp does.
export function duration(ns) {
  const seconds = Math.round(ns / 1e9);
  if (seconds < 60) {
    return scaled(ns, kTimes);
  }
  if (seconds < 3600) {
    return twoUnits(seconds, 60, "min", "s");
  }
  const minutes = Math.round(seconds / 60);
  return minutes < 48 * 60 ? twoUnits(minutes, 60, "h", "min") : days(seconds / 86400);
}

// Format a running time in whole seconds, then whole minutes, so that it does not flicker.
export function since(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return duration((seconds < 60 ? seconds : seconds - seconds % 60) * 1e9);
}

const two = value => String(value).padStart(2, "0");

// Format a time of the reader's day as "14:03:07", of another day as "11-22 14:03:07".
export function clock(ms, now) {
  const at = new Date(ms);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  const other = at.toDateString() !== new Date(now ?? Date.now()).toDateString();
  return (other ? two(at.getMonth() + 1) + "-" + two(at.getDate()) + " " : "") + time;
}

export const hourMinute = ms => clock(ms, ms).slice(0, 5);

const iso = ms => new Date(ms).toISOString();
export const utcHourMinute = ms => iso(ms).slice(11, 16);

// Format a time as clock() does, in UTC and with its name; the date if it is not that of `now`.
export function utcClock(ms, now) {
  const other = iso(ms).slice(0, 10) !== iso(now ?? Date.now()).slice(0, 10);
  return (other ? iso(ms).slice(5, 10) + " " : "") + iso(ms).slice(11, 19) + kNoBreak + "UTC";
}

// Format the reader's time with UTC beside it, unless they are the same.
export const bothClocks = (ms, now) =>
  isUtc() ? utcClock(ms, now) : `${clock(ms, now)} (${utcClock(ms, now)})`;

export const isUtc = () => new Date().getTimezoneOffset() === 0;

export function zone() {
  const minutes = -new Date().getTimezoneOffset();
  const size = Math.abs(minutes);
  return minutes === 0 ? "UTC" : "UTC" + (minutes < 0 ? "\u2212" : "+") + Math.floor(size / 60) +
    (size % 60 ? ":" + two(size % 60) : "");
}

// Return "echo passed" for "echo_passed".
export const words = name => String(name).replaceAll("_", " ");

export function list(items) {
  return items.length < 2 ? items.join("")
                          : items.slice(0, -1).join(", ") + " and " + items[items.length - 1];
}
