// SPDX-License-Identifier: BSD-3-Clause
#include "captures/link_types.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <pcap/pcap.h>

#include "base/option_names.h"

namespace unecho::capture {
namespace {

std::string passes() {
    return fmt::format(
        " without a parser: packets pass without a key; {} frame or {} frame compares their bytes",
        option::kNonIp, option::kKey);
}

}  // namespace

int dlt_of(std::uint16_t link_type) {
    constexpr std::pair<std::uint16_t, int> kDifferent[] = {
        {100, DLT_ATM_RFC1483}, {101, DLT_RAW}, {102, DLT_SLIP_BSDOS}, {103, DLT_PPP_BSDOS}};
    for (const auto& [file, own] : kDifferent) {
        if (file == link_type) {
            return own;
        }
    }
    return link_type;
}

std::string link_type_text(std::uint16_t link_type) {
    constexpr std::uint16_t kUser0 = 147;
    constexpr std::uint16_t kUser15 = 162;
    const char* const known = pcap_datalink_val_to_name(dlt_of(link_type));
    std::string name = known != nullptr ? known : "";
    if (link_type >= kUser0 && link_type <= kUser15) {
        name = "USER" + std::to_string(link_type - kUser0);
    }
    return fmt::format("link type {}{}", link_type, name.empty() ? "" : fmt::format(" ({})", name));
}

void UnparsedLinks::note(const Record& record, const Interface& interface) {
    const auto known = std::find(interfaces_.begin(), interfaces_.end(), record.interface);
    const auto place = static_cast<std::size_t>(known - interfaces_.begin());
    if (place < warnings_.size()) {
        ++warnings_[place].times;
        return;
    }
    std::string text = link_type_text(interface.link_type) + passes();
    if (place == kMaxListed) {
        text = "more interfaces with link types" + passes();
    } else {
        interfaces_.push_back(record.interface);
        text += interface.name.empty() ? "" : fmt::format(" (interface \"{}\")", interface.name);
    }
    warnings_.push_back({interface.file, record.number, 1, std::move(text)});
}

bool UnparsedLinks::is_note(std::string_view text) {
    return text.find(passes()) != std::string_view::npos;
}

}  // namespace unecho::capture
