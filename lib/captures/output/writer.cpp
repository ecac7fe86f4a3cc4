// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/writer.h"

#include <utility>

#include "captures/output/buffered_output.h"
#include "captures/output/format_writers.h"

namespace unecho::capture {

Result<std::unique_ptr<Writer>> create_capture(const std::string& path,
                                               std::optional<FileFormat> format,
                                               FileFormat otherwise, const OutputOptions& options) {
    if (!format) {
        const auto named = format_from_name(path);
        UNECHO_TRY(named);
        format = named->value_or(otherwise);
    }
    auto sink = BufferedOutput::create(path, options);
    UNECHO_TRY(sink);
    return *format == FileFormat::kPcapng ? make_pcapng_writer(std::move(*sink))
                                          : make_pcap_writer(std::move(*sink), *format);
}

}  // namespace unecho::capture
