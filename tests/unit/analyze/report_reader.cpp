// SPDX-License-Identifier: BSD-3-Clause
#include "report_reader.h"

#include <string>

#include <nlohmann/json.hpp>

#include "captures/analyze/report/json_names.h"

namespace unecho::analyze {
namespace {

using Json = nlohmann::ordered_json;

// Throws nlohmann's exceptions. Sets `unknown` to a name that is no value of its enum.
class Reader {
  public:
    Reader(const Json& from, std::string& unknown) : json_(from), unknown_(unknown) {}

    template <typename T>
    void operator()(const char* name, T& value) {
        take(json_.at(name), value);
    }

  private:
    template <typename T>
    void take(const Json& from, T& value);

    const Json& json_;
    std::string& unknown_;
};

// Throws nlohmann's type error if the value is not of type T.
template <typename T>
void Reader::take(const Json& from, T& value) {
    if constexpr (IsOptional<T>::value) {
        value.reset();
        if (!from.is_null()) {
            take(from, value.emplace());
        }
    } else if constexpr (IsVector<T>::value) {
        value.resize(from.get_ref<const Json::array_t&>().size());
        for (std::size_t i = 0; i < value.size(); ++i) {
            take(from.at(i), value[i]);
        }
    } else if constexpr (IsList<T>::value) {
        for (std::size_t i = 0; i < value.size(); ++i) {
            take(from.at(i), value[i]);
        }
    } else if constexpr (std::is_enum_v<T>) {
        const auto& name = from.get_ref<const std::string&>();
        std::size_t i = 0;
        while (i < kEnumSize<T> && name_in(static_cast<T>(i)) != name) {
            ++i;
        }
        if (i == kEnumSize<T>) {
            unknown_ = name;
            return;
        }
        value = static_cast<T>(i);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
        from.get_to(value);
    } else {
        Reader inner(from, unknown_);
        describe(inner, value);
    }
}

}  // namespace

Result<Report> from_json(const Json& json) {
    try {
        Report out;
        std::string unknown;
        Reader reader(json, unknown);
        describe(reader, out);
        if (!unknown.empty()) {
            return fail(Errc::kInvalidArgument, "no report: \"" + unknown + "\" is not known");
        }
        return out;
    } catch (const Json::exception& problem) {
        return fail(Errc::kInvalidArgument, std::string("no report: ") + problem.what());
    }
}

}  // namespace unecho::analyze
