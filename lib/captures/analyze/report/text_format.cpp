// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/text_format.h"

#include "config/schema.h"

namespace unecho::analyze {

std::string_view text_of(engines::Engine engine) {
    return engines::info_of(engine).name;
}

std::string_view text_of(engines::Policy policy) {
    return engines::kPolicyNames.at(static_cast<std::size_t>(policy));
}

std::string_view text_of(packet::NonIp non_ip) {
    return config::kNonIpNames.at(static_cast<std::size_t>(non_ip));
}

std::string_view text_of(packet::Repeats repeats) {
    return packet::kRepeatsNames.at(static_cast<std::size_t>(repeats));
}
std::string_view text_of(packet::Tags tags) {
    return packet::kTagsNames.at(static_cast<std::size_t>(tags));
}

std::string_view text_of(packet::Point point) {
    return packet::kPointNames.at(static_cast<std::size_t>(point));
}

std::string_view text_of(packet::SecondLooks second_looks) {
    return packet::kSecondLooksNames.at(static_cast<std::size_t>(second_looks));
}

std::string_view text_of(packet::Tenant tenant) {
    return config::kTenantNames.at(static_cast<std::size_t>(tenant));
}

}  // namespace unecho::analyze
