// SPDX-License-Identifier: BSD-3-Clause
#include "capture/reader.h"

#include <algorithm>
#include <utility>

#include "capture/byte_stream.h"
#include "capture/input.h"
#include "capture/merger.h"

namespace unecho::capture {

Result<std::unique_ptr<Source>> open_capture(const std::string& path, bool recover) {
    auto stream = open_file(path);
    if (!stream) {
        return tl::unexpected(stream.error());
    }
    return open_input(*std::move(stream), name_of_input(path), kBufferBytes, recover);
}

Result<std::unique_ptr<Source>> open_captures(std::span<const std::string> paths, Nanoseconds jump,
                                              bool recover) {
    if (paths.empty()) {
        return fail(Errc::kInvalidArgument, "no capture given; allowed: one or more files, or -");
    }
    if (std::count(paths.begin(), paths.end(), kStandardInput) > 1) {
        return fail(Errc::kInvalidArgument,
                    "standard input (-) is given more than once; allowed: once");
    }
    std::vector<std::unique_ptr<Source>> sources;
    for (const std::string& path : paths) {
        auto source = open_capture(path, recover);
        if (!source) {
            return source;
        }
        sources.push_back(*std::move(source));
    }
    return sources.size() == 1 ? std::move(sources.front()) : merge(std::move(sources), jump);
}

}  // namespace unecho::capture
