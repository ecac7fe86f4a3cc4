// SPDX-License-Identifier: BSD-3-Clause
// Reads TOML into a Draft. fields.cpp lists the keys; validate.cpp checks what they mean together.
#include "config/load.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <toml++/toml.h>

#include "base/utf8.h"
#include "config/draft.h"
#include "config/fields.h"
#include "config/message_text.h"
#include "config/source.h"
#include "config/validate.h"
#include "dedup/engines/planning/spec_problems.h"

namespace unecho::config {
namespace {

std::string_view type_name(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "a list";
        case toml::node_type::string:
            return "a string";
        case toml::node_type::integer:
            return "a whole number";
        case toml::node_type::floating_point:
            return "a number with a fraction or exponent";
        case toml::node_type::boolean:
            return "true or false";
        default:
            return "a date or time";
    }
}

int line_in(const toml::source_region& region) {
    return static_cast<int>(region.begin.line);
}

// Stores one value as its field says, or reports why not.
class Reader {
  public:
    Reader(Draft& draft, std::string path, const toml::node& node, const Field& field)
        : draft_(draft), path_(std::move(path)), node_(node), field_(field) {}

    void operator()(const field::WholeNumber& v) const { read_said(v.range, v.set); }

    void operator()(const field::PowerOfTwo& v) const {
        read_whole(v.range, [&](std::uint64_t value) {
            if ((value & (value - 1)) != 0) {
                return refuse(path_, std::to_string(value) + " is not a power of two");
            }
            say(std::to_string(value));
            v.set(value);
        });
    }

    void operator()(const field::Bits& v) const {
        if (node_.is_integer()) {
            return read_said(v.range, v.set);
        }
        read_quantity(&parse_size, [&](std::uint64_t bytes) {
            if (bytes > v.range.hi / 8 || !v.range.contains(bytes * 8)) {
                return refuse(path_, out_of_range());
            }
            say(std::to_string(bytes * 8));
            v.set(bytes * 8);
        });
    }

    void operator()(const field::Size& v) const { read_ranged(&parse_size, v); }
    void operator()(const field::Duration& v) const { read_ranged(&parse_duration, v); }
    void operator()(const field::Rate& v) const { read_ranged(&parse_rate, v); }

    void operator()(const field::FalseDrop& v) const {
        const std::optional<double> value = node_.value<double>();
        if (!node_.is_number() || !value) {
            return refuse_type(path_, node_);
        }
        if (!engines::is_false_drop(*value)) {
            return refuse(path_, number_text(*value) + " is out of range");
        }
        say(number_text(*value), exact_text(*value));
        v.set(*value);
    }

    void operator()(const field::Number& v) const {
        const std::optional<double> value = node_.value<double>();
        if (!node_.is_number() || !value) {
            return refuse_type(path_, node_);
        }
        if (!v.range.contains(*value)) {
            return refuse(path_, number_text(*value) + " is out of range");
        }
        say(number_text(*value), exact_text(*value));
        v.set(*value);
    }

    void operator()(const field::Flag& v) const {
        if (const auto* value = node_.as_boolean()) {
            say(value->get() ? "true" : "false");
            return v.set(value->get());
        }
        refuse_type(path_, node_);
    }

    void operator()(const field::Choice& v) const {
        const std::optional<std::string> text = read_text();
        if (!text) {
            return;
        }
        const auto found = std::find(v.names.begin(), v.names.end(), *text);
        if (found == v.names.end()) {
            return refuse(path_, fmt::format("{} is not known{}", in_quotes(*text),
                                             suggestion(*text, v.names)));
        }
        say(in_quotes(*text));
        v.set(static_cast<std::size_t>(found - v.names.begin()));
    }

    void operator()(const field::Name& v) const {
        const std::optional<std::string> text = read_text();
        if (!text) {
            return;
        }
        say(in_quotes(*text));
        v.set(*text);  // routes may name it, well-formed or not
        const bool characters = std::all_of(text->begin(), text->end(), [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_' || c == '.' || c == '-';
        });
        if (!characters || !kNameLength.contains(text->size())) {
            refuse(path_, in_quotes(*text) + " is not a name");
        }
    }

    void operator()(const field::Text& v) const {
        if (std::optional<std::string> text = read_text()) {
            say(in_quotes(*text));
            v.set(std::move(*text));
        }
    }

    void operator()(const field::Texts& v) const {
        std::vector<std::string> texts;
        for_each_element([&](const std::string& path, const toml::node& element) {
            const auto* text = element.as_string();
            texts.push_back(text == nullptr ? std::string{} : text->get());
            if (text == nullptr) {
                refuse_type(path, element);
            }
        });
        say(list_text(texts, [](const std::string& text) { return in_quotes(text); }));
        v.set(std::move(texts));
    }

    void operator()(const field::Names& v) const {
        std::vector<std::size_t> listed;
        if (const auto* text = node_.as_string()) {
            if (text->get() == "all") {
                for (std::size_t i = 0; i < v.names.size(); ++i) {
                    listed.push_back(i);
                }
            } else if (text->get() != "none") {
                return refuse_alone(text->get(), v.names);
            }
            say(in_quotes(text->get()), names_text(v.names, listed));
            return v.set(std::move(listed));
        }
        for_each_element([&](const std::string& path, const toml::node& element) {
            const auto* name = element.as_string();
            if (name == nullptr) {
                return refuse_type(path, element);
            }
            const auto found = std::find(v.names.begin(), v.names.end(), name->get());
            if (found == v.names.end()) {
                return refuse(path, in_quotes(name->get()) + not_in_a_list(name->get(), v.names));
            }
            const auto place = static_cast<std::size_t>(found - v.names.begin());
            if (std::find(listed.begin(), listed.end(), place) != listed.end()) {
                return refuse(path, in_quotes(name->get()) + " is in the list already");
            }
            listed.push_back(place);
        });
        say(listed.empty() ? "[]" : names_text(v.names, listed), names_text(v.names, listed));
        v.set(std::move(listed));
    }

    void operator()(const field::WholeNumberList& v) const {
        std::vector<std::uint64_t> values;
        const bool list = for_each_element([&](const std::string& path, const toml::node& element) {
            const auto* value = element.as_integer();
            if (value == nullptr) {
                return refuse_type(path, element);
            }
            const auto whole = static_cast<std::uint64_t>(value->get());
            if (value->get() < 0 || !v.range.contains(whole)) {
                return refuse(path, std::to_string(value->get()) + " is out of range");
            }
            if (std::find(values.begin(), values.end(), whole) != values.end()) {
                return refuse(path, std::to_string(whole) + " is in the list already");
            }
            values.push_back(whole);
        });
        if (list && draft_.sound(path_) && !v.count.contains(values.size())) {
            refuse(path_, fmt::format("{} {} are out of range", values.size(), v.what));
        }
        say(list_text(values, [](std::uint64_t value) { return std::to_string(value); }));
        v.set(std::move(values));
    }

    void operator()(const field::Group& v) const;
    void operator()(const field::Groups& v) const;

  private:
    // Note a value for compare.h: as written, and in a comparable form.
    void say(std::string text) const {
        std::string value = text;
        say(std::move(text), std::move(value));
    }
    void say(std::string text, std::string value) const {
        draft_.config.source_values.values[path_] = {std::move(text), std::move(value)};
    }
    template <typename Number>
    [[nodiscard]] static std::string exact_text(Number value) {
        char text[64];
        const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
        return {std::begin(text), end};
    }
    template <typename Value, typename Text>
    [[nodiscard]] static std::string list_text(const std::vector<Value>& values, Text text_of) {
        std::string text;
        for (const Value& value : values) {
            text += (text.empty() ? "" : ", ") + text_of(value);
        }
        return "[" + text + "]";
    }
    // Sorted, as the order of names means nothing.
    [[nodiscard]] static std::string names_text(std::span<const std::string_view> names,
                                                std::vector<std::size_t> listed) {
        std::sort(listed.begin(), listed.end());
        return list_text(listed, [&](std::size_t i) { return in_quotes(names[i]); });
    }
    void read_said(WholeRange range, const std::function<void(std::uint64_t)>& set) const {
        read_whole(range, [&](std::uint64_t value) {
            say(std::to_string(value));
            set(value);
        });
    }

    void refuse(const std::string& path, const std::string& what) const {
        const std::string_view join = what.ends_with('?') ? " allowed: " : "; allowed: ";
        draft_.report(path, std::string(what).append(join).append(allowed(field_.value)));
    }

    // Report a string in place of a list of names, if it is none of the words that may be alone.
    void refuse_alone(const std::string& name, std::span<const std::string_view> names) const {
        if (std::find(names.begin(), names.end(), name) != names.end()) {
            return refuse(
                path_, fmt::format("{} stands in a list: [{}]", in_quotes(name), in_quotes(name)));
        }
        if (name.find(',') != std::string::npos) {  // the form of the command line
            return refuse(path_, in_quotes(name) + " is one string, no list of them");
        }
        std::vector<std::string_view> words(names.begin(), names.end());
        words.insert(words.end(), {"all", "none"});
        refuse(path_, fmt::format("{} is not known{}", in_quotes(name), suggestion(name, words)));
    }

    [[nodiscard]] static std::string not_in_a_list(const std::string& name,
                                                   std::span<const std::string_view> names) {
        return name == "all" || name == "none" ? " stands alone, in no list"
                                               : " is not known" + suggestion(name, names);
    }

    void refuse_type(const std::string& path, const toml::node& node) const {
        refuse(path, std::string(type_name(node)) + " does not belong here");
    }

    [[nodiscard]] std::string out_of_range() const {
        return in_quotes(node_.value_or(std::string_view{})) + " is out of range";
    }

    [[nodiscard]] std::optional<std::string> read_text() const {
        if (const auto* text = node_.as_string()) {
            return text->get();
        }
        refuse_type(path_, node_);
        return std::nullopt;
    }

    template <typename Use>
    void read_whole(WholeRange range, const Use& use) const {
        const auto* value = node_.as_integer();
        if (value == nullptr) {
            return refuse_type(path_, node_);
        }
        if (value->get() < 0 || !range.contains(static_cast<std::uint64_t>(value->get()))) {
            return refuse(path_, std::to_string(value->get()) + " is out of range");
        }
        use(static_cast<std::uint64_t>(value->get()));
    }

    // Read a string with a number and its unit.
    template <typename Parse, typename Use>
    void read_quantity(Parse parse, const Use& use) const {
        if (node_.is_number()) {
            return refuse(path_, "a bare number has no unit");
        }
        const std::optional<std::string> text = read_text();
        if (!text) {
            return;
        }
        const auto value = parse(*text);
        if (!value) {
            const std::string_view why = value.error().context;
            return refuse(path_, std::string(why.substr(0, why.find("; allowed: "))));
        }
        use(*value);
    }

    template <typename Parse, typename Value>
    void read_ranged(Parse parse, const Value& v) const {
        read_quantity(parse, [&](auto value) {
            if (!v.range.contains(value)) {
                return refuse(path_, out_of_range());
            }
            say(in_quotes(node_.value_or(std::string_view{})), exact_text(value));
            v.set(value);
        });
    }

    // Return false, with a problem, if the value is no list.
    template <typename Use>
    bool for_each_element(const Use& use) const {
        const toml::array* list = node_.as_array();
        if (list == nullptr) {
            refuse_type(path_, node_);
            return false;
        }
        for (std::size_t i = 0; i < list->size(); ++i) {
            const std::string path = element(path_, i);
            draft_.place(path, line_in((*list)[i].source()));
            use(path, (*list)[i]);
        }
        return true;
    }

    Draft& draft_;
    std::string path_;
    const toml::node& node_;
    const Field& field_;
};

std::string with_brackets(const Section& section) {
    const std::string name(section.name);
    return section.shape == Shape::kMany ? "[[" + name + "]]" : "[" + name + "]";
}

// Return "; it is a key of [[filter]]" for a key in the wrong section.
std::string home_of(std::string_view key) {
    for (const KnownKey& known : known_keys()) {
        const auto* section =
            std::find_if(kSections.begin(), kSections.end(),
                         [&](const Section& s) { return s.name == known.section; });
        if (known.key == key && section != kSections.end()) {
            return "; it is a key of " + with_brackets(*section);
        }
    }
    return {};
}

// Return a key as TOML would write it.
std::string key_text(std::string_view key) {
    const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
    return bare ? std::string(key) : in_quotes(key);
}

void report_unknown_key(Draft& draft, const std::string& table_path, std::string_view key,
                        const toml::table& table, const std::vector<Field>& fields) {
    std::vector<std::string_view> names;
    names.reserve(fields.size());
    for (const Field& field : fields) {
        names.push_back(field.name);
    }
    std::string hint = suggestion(key, names);
    if (const std::string_view meant = nearest(key, names); !meant.empty() && !table.get(meant)) {
        draft.distrust(table_path + "." + std::string(meant));
    }
    if (hint.empty()) {
        hint = home_of(key).append(";");
    }
    draft.report(table_path + "." + key_text(key),
                 fmt::format("unknown key {}{} known keys: {}", in_quotes(key), hint,
                             list_in_quotes(names)));
}

template <typename Named>
bool has_name(const Named& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(),
                       [name](const auto& one) { return one.name == name; });
}

void read_fields(Draft& draft, const toml::table& table, const std::string& path,
                 const std::vector<Field>& fields) {
    for (const auto& [key, node] : table) {
        draft.place(path + "." + key_text(key.str()), line_in(key.source()));
        if (!has_name(fields, key.str())) {
            report_unknown_key(draft, path, key.str(), table, fields);
        }
    }
    for (const Field& field : fields) {
        const std::string field_path = path + "." + std::string(field.name);
        if (const toml::node* node = table.get(field.name)) {
            std::visit(Reader(draft, field_path, *node, field), field.value);
        } else if (field.presence == Presence::kRequired && draft.sound(field_path)) {
            draft.report(field_path, "is missing; needed: " + allowed(field.value));
        }
    }
}

void Reader::operator()(const field::Group& v) const {
    if (const toml::table* table = node_.as_table()) {
        return read_fields(draft_, *table, path_, v.open());
    }
    refuse_type(path_, node_);
}

void Reader::operator()(const field::Groups& v) const {
    for_each_element([&](const std::string& path, const toml::node& element) {
        if (const toml::table* table = element.as_table()) {
            return read_fields(draft_, *table, path, v.open());
        }
        refuse_type(path, element);
    });
}

// Read the tables of [[name]], at most limit of them. read_one gets each with its path and number.
template <typename ReadOne>
void read_many(Draft& draft, const toml::table& root, const std::string& name, std::size_t limit,
               const ReadOne& read_one) {
    const toml::node* node = root.get(name);
    if (node == nullptr) {
        return;
    }
    const toml::array* tables = node->as_array();
    if (tables == nullptr) {
        return draft.report(
            name, fmt::format("{} does not belong here; write [[{}]], it may stand several times",
                              type_name(*node), name));
    }
    for (std::size_t i = 0; i < tables->size(); ++i) {
        const std::string path = element(name, i);
        const toml::node& one = (*tables)[i];
        draft.place(path, line_in(one.source()));
        if (i == limit) {
            return draft.report(
                path,
                fmt::format("one more than the {} [[{}]] that one process takes", limit, name));
        }
        if (const toml::table* table = one.as_table()) {
            read_one(*table, path);
        } else {  // later ones would not have their numbers of the file
            return draft.report(
                path, fmt::format("{} does not belong here; write [[{}]] and the keys below it",
                                  type_name(one), name));
        }
    }
}

void read_once(Draft& draft, const toml::table& root, const std::string& name,
               const std::vector<Field>& fields) {
    const toml::node* node = root.get(name);
    if (node == nullptr) {
        return;
    }
    if (const toml::table* table = node->as_table()) {
        return read_fields(draft, *table, name, fields);
    }
    draft.report(name, fmt::format("{} does not belong here; write [{}], it may stand once",
                                   type_name(*node), name));
}

void report_unknown_section(Draft& draft, std::string_view key, const toml::node& node,
                            const toml::table& root) {
    std::vector<std::string_view> names;
    std::string known;
    for (const Section& section : kSections) {
        names.push_back(section.name);
        known.append(known.empty() ? "" : ", ").append(with_brackets(section));
    }
    if (const std::string_view meant = nearest(key, names); !meant.empty() && !root.get(meant)) {
        draft.distrust(std::string(meant));
    }
    const bool section = node.is_table() || node.is_array();
    std::string hint = suggestion(key, names);
    if (hint.empty()) {
        hint = (section ? std::string{} : home_of(key)).append(";");
    }
    draft.report(key_text(key),
                 fmt::format("{} {}{} known sections: {}",
                             section ? "unknown section" : "no section holds the key",
                             in_quotes(key), hint, known));
}

void read_document(Draft& draft, const toml::table& root) {
    for (const auto& [key, node] : root) {
        draft.place(key_text(key.str()), line_in(key.source()));
        if (!has_name(kSections, key.str())) {
            report_unknown_section(draft, key.str(), node, root);
        }
    }
    Config& config = draft.config;
    read_once(draft, root, "eal", fields_of(config.eal));
    read_many(draft, root, "port", kMaxPorts, [&](const toml::table& table, const auto& path) {
        Port& port = config.ports.emplace_back();
        port.line = draft.line_of(path);
        read_fields(draft, table, path, fields_of(port));
    });
    read_many(draft, root, "filter", kMaxFilters, [&](const toml::table& table, const auto& path) {
        Filter& filter = config.filters.emplace_back();
        filter.line = draft.line_of(path);
        read_fields(draft, table, path, fields_of(filter));
    });
    read_many(draft, root, "route", kMaxRoutes, [&](const toml::table& table, const auto& path) {
        Route& route = config.routes.emplace_back();
        route.line = draft.line_of(path);
        read_fields(draft, table, path, fields_of(route, draft.route_names.emplace_back()));
    });
    read_once(draft, root, "workers", fields_of(config.workers));
    read_once(draft, root, "control", fields_of(config.control));
    read_once(draft, root, "audit", fields_of(config.audit));
    read_once(draft, root, "state", fields_of(config.state));
    read_once(draft, root, "run", fields_of(config.run));
}

LoadResult one_problem(Problem problem) {
    return tl::unexpected<std::vector<Problem>>(std::vector<Problem>{std::move(problem)});
}

}  // namespace

LoadResult load_text(std::string_view text, const std::string& path) {
    if (std::optional<Problem> problem = check_source(text)) {
        return one_problem(std::move(*problem));
    }
    toml::table root;
    try {
        root = toml::parse(text, path);
    } catch (const toml::parse_error& error) {
        const toml::source_position at = error.source().begin;
        return one_problem({static_cast<int>(at.line), "syntax",
                            escaped(fmt::format("column {}: {}", at.column, error.description()))});
    }
    Draft draft;
    draft.config.path = path;
    read_document(draft, root);
    validate(draft);
    std::vector<Problem> problems = draft.problems();
    if (!problems.empty()) {
        return tl::unexpected<std::vector<Problem>>(std::move(problems));
    }
    draft.config.path = escaped(path);  // from here on only messages use it
    return std::move(draft.config);
}

LoadResult load_file(const std::string& path, FileKind kind) {
    const Result<std::string> text = read_source(path, kind);
    if (!text) {
        return one_problem({0, "file", text.error().context});
    }
    return load_text(*text, path);
}

}  // namespace unecho::config
