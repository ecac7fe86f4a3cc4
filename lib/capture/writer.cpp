// SPDX-License-Identifier: BSD-3-Clause
#include "capture/writer.h"

#include <string_view>
#include <utility>

#include "capture/formats.h"
#include "capture/sink.h"

namespace unecho::capture {

Result<std::unique_ptr<Writer>> create_capture(const std::string& path) {
    auto sink = Sink::create(path);
    if (!sink) {
        return tl::unexpected(sink.error());
    }
    std::string_view name = path;
    if (has_suffix(name, ".gz")) {
        name.remove_suffix(std::string_view(".gz").size());
    }
    return has_suffix(name, ".pcapng") ? make_pcapng_writer(std::move(*sink))
                                       : make_pcap_writer(std::move(*sink));
}

}  // namespace unecho::capture
