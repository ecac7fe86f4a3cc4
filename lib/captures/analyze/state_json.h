// SPDX-License-Identifier: BSD-3-Clause
// The mergeable state (findings.h) as JSON, written and read. Each class has a template `state`
// that passes its members to an `io`: io(a, b, c) is an array, io.name("a", a) a member of an
// object. Lists of sums contain index and value of nonzero elements only, as most are 0.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "packets/tunnels/encapsulation.h"

namespace unecho::analyze::state {

using Json = nlohmann::ordered_json;

template <typename T>
concept HasMark = requires {
    T::kSparse;
};
template <typename T>
inline constexpr bool kSparse = std::is_arithmetic_v<T> || HasMark<T>;
template <typename T, std::size_t n>
inline constexpr bool kSparse<std::array<T, n>> = kSparse<T>;

template <typename T>
inline constexpr bool kArray = false;
template <typename T, std::size_t n>
inline constexpr bool kArray<std::array<T, n>> = true;
template <typename T>
inline constexpr bool kVector = false;
template <typename T>
inline constexpr bool kVector<std::vector<T>> = true;
template <typename T>
inline constexpr bool kMap = false;
template <typename K, typename V>
inline constexpr bool kMap<std::map<K, V>> = true;
// Bytes of an entry of a std::map, with the links of the tree.
template <typename T>
inline constexpr std::size_t kMapEntryBytes = sizeof(typename T::value_type) + 48;
template <typename T>
inline constexpr bool kOptional = false;
template <typename T>
inline constexpr bool kOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kBytes = false;
template <std::size_t n>
inline constexpr bool kBytes<std::array<std::uint8_t, n>> = true;

// Writes the state as text without spaces. A document of all its values would take many times the
// memory, and most of the time that a small capture takes.
class StateWriter {
  public:
    explicit StateWriter(std::string& text) : text_(&text) {}

    template <typename... T>
    void operator()(T&... values) {
        (element(values), ...);
    }
    template <typename T>
    void name(const char* name, T& value) {
        begin('{', '}');
        *text_ += '"';
        *text_ += name;
        *text_ += "\":";
        put(value);
    }
    void refuse() {}

    // Close the array or object, after the last value.
    void end() {
        if (end_ == 0) {
            *text_ += "null";
        } else {
            *text_ += end_;
        }
    }

    template <typename T>
    void put(T& value) {
        if constexpr (kOptional<T>) {
            value ? put(*value) : void(*text_ += "null");
        } else if constexpr (std::is_enum_v<T>) {
            number(static_cast<std::uint64_t>(value));
        } else if constexpr (std::is_arithmetic_v<T>) {
            number(std::uint64_t{value});
        } else if constexpr (std::is_same_v<T, std::string>) {
            *text_ += Json(value).dump(-1, ' ', true, Json::error_handler_t::replace);
        } else if constexpr (std::is_same_v<T, packet::EncapsulationSet>) {
            number(bits_of(value));
        } else if constexpr (kBytes<T>) {
            hex(value);
        } else if constexpr (kArray<T> || kVector<T>) {
            list(value);
        } else if constexpr (kMap<T>) {
            StateWriter inner(*text_);
            inner.begin_list();
            for (auto& [key, one] : value) {
                inner(key, one);
            }
            inner.end();
        } else {
            StateWriter inner(*text_);
            value.state(inner);
            inner.end();
        }
    }

  private:
    // Open the array or object before its first value; separate later values.
    void begin(char with, char end) {
        *text_ += end_ == 0 ? with : ',';
        end_ = end;
    }
    // Open a list that may be empty.
    void begin_list() {
        *text_ += '[';
        end_ = ']';
        empty_ = true;
    }

    template <typename T>
    void element(T& value) {
        if (!std::exchange(empty_, false)) {
            begin('[', ']');
        }
        put(value);
    }

    template <typename T>
    void list(T& values) {
        StateWriter inner(*text_);
        inner.begin_list();
        for (std::size_t i = 0; i < values.size(); ++i) {
            if constexpr (kSparse<typename T::value_type>) {
                if (values[i] == typename T::value_type{}) {
                    continue;
                }
                inner.element(i);
            }
            inner.element(values[i]);
        }
        inner.end();
    }

    void number(std::uint64_t value) {
        std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 1> digits;
        char* const begin = digits.data();
        const auto done = std::to_chars(begin, begin + digits.size(), value);
        text_->append(begin, done.ptr);
    }

    template <std::size_t n>
    void hex(const std::array<std::uint8_t, n>& bytes) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        *text_ += '"';
        for (const std::uint8_t byte : bytes) {
            *text_ += kDigits[byte >> 4];
            *text_ += kDigits[byte & 15];
        }
        *text_ += '"';
    }

    static std::uint64_t bits_of(const packet::EncapsulationSet& set) {
        std::uint64_t bits = 0;
        for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
            bits |= std::uint64_t{set.has(info.encapsulation)}
                    << static_cast<unsigned>(info.encapsulation);
        }
        return bits;
    }

    std::string* text_;
    char end_ = 0;        // closing bracket of the open array or object; 0: none
    bool empty_ = false;  // a list without elements so far is open
};

// Estimates how many bytes a value has allocated, by way of the same template `state`.
class StateSizer {
  public:
    template <typename... T>
    void operator()(T&... values) {
        (add(values), ...);
    }
    template <typename T>
    void name(const char* /*name*/, T& value) {
        add(value);
    }
    void refuse() {}

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    template <typename T>
    void add(T& value) {
        if constexpr (kOptional<T>) {
            value ? add(*value) : void();
        } else if constexpr (std::is_same_v<T, std::string>) {
            bytes_ += value.capacity();
        } else if constexpr (kBytes<T> || std::is_enum_v<T> || std::is_arithmetic_v<T> ||
                             std::is_same_v<T, packet::EncapsulationSet>) {
            // part of its owner
        } else if constexpr (kMap<T>) {
            bytes_ += value.size() * kMapEntryBytes<T>;
            for (auto& [key, one] : value) {
                add(one);
            }
        } else if constexpr (kArray<T> || kVector<T>) {
            if constexpr (kVector<T>) {
                bytes_ += value.capacity() * sizeof(typename T::value_type);
            }
            if constexpr (!std::is_arithmetic_v<typename T::value_type>) {
                for (auto& one : value) {
                    add(one);
                }
            }
        } else {
            value.state(*this);
        }
    }

    std::uint64_t bytes_ = 0;
};

// Reads values. failed() is true if the JSON is not as a writer left it; the values are then
// unspecified. left: bytes that may still be allocated for them, reduced by each allocation. If
// there are too few, is_short() is true as well.
class StateReader {
  public:
    StateReader(const Json& json, std::uint64_t& left) : json_(&json), left_(&left) {}

    template <typename... T>
    void operator()(T&... values) {
        if (!json_->is_array() || json_->size() != sizeof...(values)) {
            return refuse();
        }
        std::size_t i = 0;
        (take((*json_)[i++], values), ...);
    }
    template <typename T>
    void name(const char* name, T& value) {
        const auto found = json_->find(name);
        if (found == json_->end()) {
            return refuse();
        }
        take(*found, value);
    }
    void refuse() { failed_ = true; }
    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] bool is_short() const { return short_; }

    template <typename T>
    void take(const Json& from, T& value) {
        if constexpr (kOptional<T>) {
            value.reset();
            if (!from.is_null()) {
                take(from, value.emplace());
            }
        } else if constexpr (std::is_enum_v<T>) {
            std::underlying_type_t<T> number{};
            take(from, number);
            value = static_cast<T>(number);
        } else if constexpr (std::is_arithmetic_v<T>) {
            number(from, value);
        } else if constexpr (std::is_same_v<T, std::string>) {
            text(from, value);
        } else if constexpr (std::is_same_v<T, packet::EncapsulationSet>) {
            set_of(from, value);
        } else if constexpr (kBytes<T>) {
            bytes(from, value);
        } else if constexpr (kArray<T> || kVector<T>) {
            list(from, value);
        } else if constexpr (kMap<T>) {
            map(from, value);
        } else {
            StateReader inner(from, *left_);
            value.state(inner);
            failed_ = failed_ || inner.failed_;
            short_ = short_ || inner.short_;
        }
    }

  private:
    // The longest list whose length follows from the index of its last element.
    static constexpr std::size_t kMost = std::size_t{1} << 20;

    // Return false if so many more bytes are too many.
    [[nodiscard]] bool allot(std::uint64_t bytes) {
        if (bytes > *left_) {
            short_ = failed_ = true;
            return false;
        }
        *left_ -= bytes;
        return true;
    }

    void text(const Json& from, std::string& value) {
        if (!from.is_string()) {
            return refuse();
        }
        const auto& found = from.get_ref<const std::string&>();
        if (allot(found.size())) {
            value = found;
        }
    }

    template <typename T>
    void number(const Json& from, T& value) {
        const std::uint64_t found = from.is_number_unsigned() ? from.get<std::uint64_t>() : 0;
        if (!from.is_number_unsigned() || found > std::uint64_t{std::numeric_limits<T>::max()}) {
            return refuse();
        }
        value = static_cast<T>(found);
    }

    template <typename T>
    void list(const Json& from, T& values) {
        constexpr std::size_t kEach = kSparse<typename T::value_type> ? 2 : 1;
        if (!from.is_array() || from.size() % kEach != 0) {
            return refuse();
        }
        if constexpr (kArray<T>) {
            values.fill({});
        } else {
            values.clear();
        }
        for (std::size_t i = 0; i < from.size() / kEach; ++i) {
            std::size_t at = i;
            if constexpr (kEach == 2) {
                take(from[i * 2], at);
            }
            if (failed_ || at >= (kArray<T> ? values.size() : kMost)) {
                return refuse();
            }
            if constexpr (kVector<T>) {
                if (at >= values.size()) {
                    if (!allot((at + 1 - values.size()) * sizeof(typename T::value_type))) {
                        return;
                    }
                    values.resize(at + 1);
                }
            }
            take(from[i * kEach + kEach - 1], values[at]);
        }
        if (kArray<T> && kEach == 1 && from.size() != values.size()) {
            refuse();
        }
    }

    template <typename K, typename V>
    void map(const Json& from, std::map<K, V>& values) {
        if (!from.is_array() || from.size() % 2 != 0) {
            return refuse();
        }
        values.clear();
        for (std::size_t i = 0; i < from.size() && !failed_; i += 2) {
            if (!allot(kMapEntryBytes<std::map<K, V>>)) {
                return;
            }
            K key{};
            take(from[i], key);
            take(from[i + 1], values[key]);
        }
    }

    template <std::size_t n>
    void bytes(const Json& from, std::array<std::uint8_t, n>& out) {
        const std::string text = from.is_string() ? from.get<std::string>() : "";
        if (text.size() != 2 * n) {
            return refuse();
        }
        for (std::size_t i = 0; i < n; ++i) {
            const char* const digits = text.data() + 2 * i;
            if (std::from_chars(digits, digits + 2, out[i], 16).ptr != digits + 2) {
                return refuse();
            }
        }
    }

    void set_of(const Json& from, packet::EncapsulationSet& set) {
        std::uint64_t bits = 0;
        take(from, bits);
        set = {};
        for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
            if ((bits >> static_cast<unsigned>(info.encapsulation) & 1) != 0) {
                set.add(info.encapsulation);
            }
        }
        if (bits >> packet::kEncapsulations.size() != 0) {
            refuse();
        }
    }

    const Json* json_;
    std::uint64_t* left_;
    bool failed_ = false;
    bool short_ = false;
};

}  // namespace unecho::analyze::state
