// SPDX-License-Identifier: BSD-3-Clause
// capture_dump FILE...: print what lib/captures reads, for comparison in Python. One line a packet,
//     TIME LINK_TYPE WIRE_LENGTH LENGTH CRC32 FILE NUMBER
// then one line a warning, "warning FILE NUMBER TIMES TEXT". Exit status 2 and a line on standard
// error if a file cannot be read.
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include <isa-l/crc.h>

#include "captures/open_captures.h"

namespace {

using namespace unecho;

int refuse(const Error& error) {
    std::fprintf(stderr, "%s\n", error.context.c_str());
    return 2;
}

void print(const capture::Batch& batch, const capture::InterfaceView& interfaces) {
    for (const capture::Record& record : batch.records) {
        const capture::Interface& from = interfaces[record.interface];
        std::printf("%" PRIu64 " %u %u %u %08x %u %" PRIu64 "\n", record.time, from.link_type,
                    record.wire_length, record.length,
                    crc32_gzip_refl(0, record.data, record.length), from.file, record.number);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const auto source = capture::open_captures(std::vector<std::string>(argv + 1, argv + argc));
    if (!source) {
        return refuse(source.error());
    }
    capture::Batch batch;
    for (;;) {
        const Result<bool> more = (*source)->next(batch);
        if (!more) {
            return refuse(more.error());
        }
        if (!*more) {
            break;
        }
        print(batch, (*source)->interfaces());
    }
    for (const capture::Warning& warning : (*source)->warnings()) {
        std::printf("warning %u %" PRIu64 " %" PRIu64 " %s\n", warning.file, warning.number,
                    warning.times, warning.text.c_str());
    }
    return 0;
}
