// SPDX-License-Identifier: BSD-3-Clause
// The input is a file. It is read as a capture in one piece, in pieces of many sizes with buffers
// of many sizes, and merged with itself. Checked:
//   every record lies in the memory of its batch, names an interface and has its number
//   pieces and buffers change nothing of what is read, nor what is said of it
//   merged, each input keeps its order
// What ISA-L makes of damaged data depends on the pieces it comes in; that is not compared.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/gunzip.h"
#include "capture/input.h"
#include "capture/merger.h"
#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;

void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "broken: %s\n", what);
        std::abort();
    }
}

Result<std::unique_ptr<capture::Source>> open(const CaptureBytes& file, std::size_t buffer_bytes,
                                              std::size_t piece) {
    return capture::open_input(std::make_unique<MemoryStream>(file, piece), "input", buffer_bytes);
}

void check_batch(const capture::Batch& batch, const capture::Source& source, std::uint64_t before) {
    const std::size_t interfaces = source.interfaces().size();
    require(!batch.records.empty() && batch.records.size() <= capture::kMaxBatch, "batch size");
    for (const capture::Record& record : batch.records) {
        const auto holds = [&](const std::shared_ptr<const capture::Bytes>& memory) {
            const auto* const begin = reinterpret_cast<const std::uint8_t*>(memory->data());
            return record.data >= begin && record.data + record.length <= begin + memory->size();
        };
        require(std::any_of(batch.memory.begin(), batch.memory.end(), holds),
                "records lie in the memory of their batch");
        require(record.interface < interfaces, "records name an interface");
        require(record.number == ++before, "records are numbered");
    }
}

void check_batches(capture::Source& source) {
    std::uint64_t packets = 0;
    for (capture::Batch batch;;) {
        const Result<bool> more = source.next(batch);
        require(more.has_value(), "memory can be read");
        if (!*more) {
            break;
        }
        check_batch(batch, source, packets);
        packets += batch.records.size();
    }
}

// Where damage of compressed data is met among the packets depends on the pieces.
std::vector<std::pair<std::string, std::uint64_t>> told(const ReadCapture& capture) {
    std::vector<std::pair<std::string, std::uint64_t>> out;
    for (const capture::Warning& warning : capture.warnings) {
        out.emplace_back(warning.text, warning.times);
    }
    std::sort(out.begin(), out.end());
    return out;
}

bool equal(const capture::Interface& a, const capture::Interface& b) {
    return a.link_type == b.link_type && a.snap_length == b.snap_length && a.tick == b.tick &&
           a.name == b.name;
}

// Without what was seen of a file that is no capture.
std::string kind_of(const std::string& error) {
    return error.substr(0, error.find("begins with"));
}

bool is_damaged(const CaptureBytes& file) {
    if (!capture::is_gzip(file)) {
        return false;
    }
    const auto stream = capture::gunzip(std::make_unique<MemoryStream>(file), {});
    std::vector<std::byte> bytes(1U << 16);
    bool damaged = false;
    for (Result<std::size_t> got = 1; got && *got != 0;) {
        got = stream->read(bytes);
        damaged = damaged || stream->trouble();
    }
    return damaged;
}

void check_pieces(const CaptureBytes& file, const ReadCapture& whole) {
    constexpr std::array<std::size_t, 4> kBuffers{1, 23, 300, 5000};
    const std::size_t buffer = kBuffers[file.size() % kBuffers.size()];
    for (const std::size_t piece : {std::size_t{1}, 1 + file.size() % 41, SIZE_MAX}) {
        const ReadCapture got = read_bytes(file, buffer, piece);
        require(got.packets == whole.packets, "pieces do not change the packets");
        require(kind_of(got.error) == kind_of(whole.error), "pieces do not change the error");
        require(told(got) == told(whole), "pieces do not change the warnings");
        require(std::equal(got.interfaces.begin(), got.interfaces.end(), whole.interfaces.begin(),
                           whole.interfaces.end(), equal),
                "pieces do not change the interfaces");
    }
}

void check_merge(const CaptureBytes& file, const ReadCapture& whole) {
    std::vector<std::unique_ptr<capture::Source>> sources;
    sources.push_back(*open(file, 100, SIZE_MAX));
    sources.push_back(*open(file, 1000, 7));
    const auto merged = capture::merge(std::move(sources));
    const ReadCapture got = read_all(*merged);
    std::array<std::vector<ReadPacket>, 2> of_input;
    for (const ReadPacket& packet : got.packets) {
        of_input[got.interfaces[packet.interface].file].push_back(packet);
    }
    for (std::vector<ReadPacket>& packets : of_input) {
        require(packets.size() == whole.packets.size(), "a merge loses nothing");
        for (std::size_t i = 0; i < packets.size(); ++i) {
            require(equal(got.interfaces[packets[i].interface],
                          whole.interfaces[whole.packets[i].interface]),
                    "a merge keeps interfaces");
            packets[i].interface = whole.packets[i].interface;
        }
        require(packets == whole.packets, "a merge keeps the order of each input");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const CaptureBytes file(data, data + size);
    const ReadCapture whole = read_bytes(file, 1U << 16);
    if (whole.error.empty()) {
        check_batches(**open(file, 1U << 16, SIZE_MAX));
    }
    if (is_damaged(file)) {
        read_bytes(file, 100, 7);
        return 0;
    }
    check_pieces(file, whole);
    if (whole.error.empty()) {
        check_merge(file, whole);
    }
    return 0;
}
