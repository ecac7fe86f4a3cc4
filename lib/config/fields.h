// SPDX-License-Identifier: BSD-3-Clause
// The keys of each section, once: name, allowed values, default, and where the value is stored.
// Reading, messages about unknown keys and the check of docs/configuration.md use these tables. A
// new key is a row in fields.cpp. Private to config; knows neither TOML nor what keys mean
// together.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/compare.h"
#include "config/draft.h"
#include "config/schema.h"

namespace unecho::config {

struct Field;

// The allowed values of a field, and the setter for a valid one.
namespace field {

struct WholeNumber {
    WholeRange range;
    std::function<void(std::uint64_t)> set;
};
struct PowerOfTwo {
    WholeRange range;
    std::function<void(std::uint64_t)> set;
};
struct Bits {  // a number of bits, or a size in bytes
    WholeRange range;
    std::function<void(std::uint64_t)> set;
};
struct Size {
    WholeRange range;
    std::function<void(std::uint64_t)> set;
};
struct Duration {
    Range<Nanoseconds> range;
    std::function<void(Nanoseconds)> set;
};
struct Rate {
    Range<double> range;
    std::function<void(double)> set;
};
struct FalseDrop {
    std::function<void(double)> set;
};
struct Number {
    Range<double> range;
    std::function<void(double)> set;
};
struct Flag {
    std::function<void(bool)> set;
};
struct Choice {
    std::span<const std::string_view> names;
    std::function<void(std::size_t)> set;
};
struct Name {
    std::function<void(std::string)> set;
};
struct Text {
    std::string_view allowed;
    std::function<void(std::string)> set;
};
struct Texts {
    std::string_view allowed;
    std::function<void(std::vector<std::string>)> set;
};
struct Names {  // "all", "none", or a list of different names
    std::span<const std::string_view> names;
    std::function<void(std::vector<std::size_t>)> set;
};
struct WholeNumberList {  // all different
    std::string_view what;
    WholeRange count;
    WholeRange range;
    std::function<void(std::vector<std::uint64_t>)> set;
};
struct Group {
    std::string_view allowed;
    std::function<std::vector<Field>()> open;
};
struct Groups {  // any number of them
    std::string_view allowed;
    std::function<std::vector<Field>()> open;  // of the next one
};

using Value = std::variant<WholeNumber, PowerOfTwo, Bits, Size, Duration, Rate, FalseDrop, Number,
                           Flag, Choice, Name, Text, Texts, Names, WholeNumberList, Group, Groups>;

}  // namespace field

enum class Presence : std::uint8_t { kOptional, kRequired };

struct Field {
    std::string_view name;
    Presence presence;
    std::string_view fallback;  // the default as the file would write it; empty: none
    ReloadEffect reload;
    field::Value value;
};

// "a duration from 1us to 1h, with its unit (...)"
std::string allowed(const field::Value& value);

std::vector<Field> fields_of(Eal& eal);
std::vector<Field> fields_of(Port& port);
std::vector<Field> fields_of(Filter& filter);
std::vector<Field> fields_of(Geometry& geometry);
std::vector<Field> fields_of(TrafficClass& traffic);
std::vector<Field> fields_of(SharedFlows& root);
std::vector<Field> fields_of(Route& route, RouteNames& names);
std::vector<Field> fields_of(Workers& workers);
std::vector<Field> fields_of(Control& control);
std::vector<Field> fields_of(Audit& audit);
std::vector<Field> fields_of(State& state);
std::vector<Field> fields_of(Run& run);

// [[port]] may occur several times, [run] once.
enum class Shape : std::uint8_t { kOnce, kMany };

struct Section {
    std::string_view name;
    Shape shape;
};
inline constexpr std::array<Section, 9> kSections{{{"eal", Shape::kOnce},
                                                   {"port", Shape::kMany},
                                                   {"filter", Shape::kMany},
                                                   {"route", Shape::kMany},
                                                   {"workers", Shape::kOnce},
                                                   {"control", Shape::kOnce},
                                                   {"audit", Shape::kOnce},
                                                   {"state", Shape::kOnce},
                                                   {"run", Shape::kOnce}}};

}  // namespace unecho::config
