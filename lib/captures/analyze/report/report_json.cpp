// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_json.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "captures/analyze/analysis_state.h"
#include "captures/analyze/report/json_names.h"

namespace unecho::analyze {
namespace {

using Json = nlohmann::ordered_json;

class ReportJsonWriter {
  public:
    template <typename T>
    void operator()(const char* name, T& value) {
        json[name] = make(value);
    }

    ReportJsonWriter() { json.get_ref<Json::object_t&>().reserve(kMembers); }

    Json json = Json::object();

  private:
    // An object that outgrows its reserved memory copies all of its members.
    static constexpr std::size_t kMembers = 24;

    template <typename T>
    static Json make(T& value);
};

template <typename T>
Json ReportJsonWriter::make(T& value) {
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
        ReportJsonWriter inner;
        describe(inner, value);
        return std::move(inner.json);
    }
}

}  // namespace

Json to_json(const Report& report) {
    Report copy = report;  // describe() is shared with archives that read
    ReportJsonWriter writer;
    describe(writer, copy);
    return std::move(writer.json);
}

// The state that merges is long and for programs only, so it is one line.
std::string to_json_text(const Report& report) {
    std::string text = to_json(report).dump(1, ' ', true, Json::error_handler_t::replace);
    if (report.whole != nullptr) {
        text.resize(text.size() - std::string_view("\n}").size());
        text += ",\n \"merge\": " + to_json_text(*report.whole) + "\n}";
    }
    return text + "\n";
}

}  // namespace unecho::analyze
