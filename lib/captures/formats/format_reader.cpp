// SPDX-License-Identifier: BSD-3-Clause
#include "captures/formats/format_reader.h"

#include <array>
#include <cstddef>

namespace unecho::capture {

// Defined in the files of the formats.
std::unique_ptr<FormatReader> pcap_reader(std::span<const std::uint8_t> bytes, WarningList& notes);
std::unique_ptr<Recovery> pcap_recovery(std::span<const std::uint8_t> header);
std::unique_ptr<FormatReader> pcapng_reader(std::span<const std::uint8_t> bytes,
                                            WarningList& notes);
std::unique_ptr<Recovery> pcapng_recovery(std::span<const std::uint8_t> header);
std::unique_ptr<FormatReader> snoop_reader(std::span<const std::uint8_t> bytes, WarningList& notes);

namespace {

constexpr auto kCaptureFormats = std::to_array<CaptureFormat>({
    {"pcap", FileFormat::kPcap, pcap_reader, pcap_recovery},
    {"pcapng", FileFormat::kPcapng, pcapng_reader, pcapng_recovery},
    {"snoop", FileFormat::kPcap, snoop_reader, nullptr},
});

}  // namespace

std::span<const CaptureFormat> capture_formats() {
    return kCaptureFormats;
}

std::string capture_format_names() {
    std::string names;
    for (std::size_t i = 0; i < kCaptureFormats.size(); ++i) {
        names += (i == 0 ? "" : i + 1 < kCaptureFormats.size() ? ", " : " and ");
        names += kCaptureFormats.at(i).name;
    }
    return names;
}

}  // namespace unecho::capture
