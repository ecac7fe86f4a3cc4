// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/json.h"

#include <string>

#include <nlohmann/json.hpp>

#include "analyze/json_names.h"

namespace unecho::analyze {
namespace {

using Json = nlohmann::ordered_json;

class Writer {
  public:
    template <typename T>
    void operator()(const char* name, T& value) {
        json[name] = make(value);
    }

    Json json = Json::object();

  private:
    template <typename T>
    static Json make(T& value);
};

template <typename T>
Json Writer::make(T& value) {
    if constexpr (IsOptional<T>::value) {
        return value ? make(*value) : Json(nullptr);
    } else if constexpr (IsList<T>::value) {
        Json list = Json::array();
        for (auto& element : value) {
            list.push_back(make(element));
        }
        return list;
    } else if constexpr (std::is_enum_v<T>) {
        return name_in(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
        return value;
    } else {
        Writer inner;
        describe(inner, value);
        return std::move(inner.json);
    }
}

}  // namespace

Json to_json(const Report& report) {
    Report copy = report;  // a description takes what an archive that reads may change
    Writer writer;
    describe(writer, copy);
    return std::move(writer.json);
}

std::string to_text(const Json& json) {
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace unecho::analyze
