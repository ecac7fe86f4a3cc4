// SPDX-License-Identifier: BSD-3-Clause
// The input is a file. It is read as a capture in one piece, in pieces and with buffers of many
// sizes, and merged with itself. Checks:
// - Every record lies in the memory of its batch, names an interface and has a rising number.
// - Sizes of pieces and buffers change neither the packets nor the messages.
// - A merge keeps each input's order. It is the same if inputs are opened only when they are due.
// - A pcapng written from it reads back equal, including blocks that are not packets.
// - With --recover, the packets before damage are those read without. Pieces and buffers change
//   nothing, and no more memory is held than the file is long.
// If the compressed data itself is damaged, the result depends on the pieces and is not compared.
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

#include <sys/mman.h>
#include <unistd.h>

#include "captures/compression/compression.h"
#include "captures/compression/decompress_stream.h"
#include "captures/compression/gzip_stream.h"
#include "captures/formats/capture_source.h"
#include "captures/merged_source.h"
#include "captures/output/buffered_output.h"
#include "captures/output/format_writers.h"
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
    return capture::open_capture_source(std::make_unique<MemoryStream>(file, piece), "input",
                                        buffer_bytes);
}

// number: that of the record before; on return that of the last.
void check_batch(const capture::Batch& batch, const capture::Source& source,
                 std::uint64_t& number) {
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
        require(record.number > number, "records are numbered");
        number = record.number;
    }
}

void check_batches(capture::Source& source) {
    std::uint64_t number = 0;
    for (capture::Batch batch;;) {
        const Result<bool> more = source.next(batch);
        require(more.has_value(), "memory can be read");
        if (!*more) {
            break;
        }
        check_batch(batch, source, number);
    }
}

// Sorted: pieces decide between which packets a warning about compressed data comes.
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

// Return the error without the quoted first bytes of a file that is not a capture.
std::string kind_of(const std::string& error) {
    return error.substr(0, error.find("begins with"));
}

// Return null if the file is not compressed.
std::unique_ptr<capture::ByteStream> unpacked(const CaptureBytes& file) {
    switch (capture::detect_compression(file)) {
        case capture::Compression::kNone:
            break;
        case capture::Compression::kGzip:
            return capture::make_gzip_stream(std::make_unique<MemoryStream>(file), {});
        case capture::Compression::kZstd:
            return capture::make_zstd_stream(std::make_unique<MemoryStream>(file), {});
        case capture::Compression::kLz4:
            return capture::make_lz4_stream(std::make_unique<MemoryStream>(file), {});
    }
    return nullptr;
}

bool is_damaged(const CaptureBytes& file) {
    const auto stream = unpacked(file);
    if (stream == nullptr) {
        return false;
    }
    std::vector<std::byte> bytes(1U << 16);
    bool damaged = false;
    for (Result<std::size_t> got = 1; got && *got != 0;) {
        got = stream->read(bytes);
        damaged = damaged || stream->defect();
    }
    return damaged;
}

ReadCapture read(const CaptureBytes& file, std::size_t buffer_bytes, std::size_t piece,
                 bool recover) {
    const auto source = capture::open_capture_source(std::make_unique<MemoryStream>(file, piece),
                                                     "sample", buffer_bytes, recover);
    if (!source) {
        ReadCapture out;
        out.error = source.error().context;
        return out;
    }
    return read_all(**source);
}

void check_pieces(const CaptureBytes& file, const ReadCapture& whole, bool recover) {
    constexpr std::array<std::size_t, 4> kBuffers{1, 23, 300, 5000};
    const std::size_t buffer = kBuffers[file.size() % kBuffers.size()];
    for (const std::size_t piece : {std::size_t{1}, 1 + file.size() % 41, SIZE_MAX}) {
        const ReadCapture got = read(file, buffer, piece, recover);
        require(got.packets == whole.packets, "pieces do not change the packets");
        require(kind_of(got.error) == kind_of(whole.error), "pieces do not change the error");
        require(told(got) == told(whole), "pieces do not change the warnings");
        require(std::equal(got.interfaces.begin(), got.interfaces.end(), whole.interfaces.begin(),
                           whole.interfaces.end(), equal),
                "pieces do not change the interfaces");
    }
}

// Inflating ahead on other threads changes nothing.
void check_ahead(const CaptureBytes& file, bool damaged) {
    if (capture::detect_compression(file) != capture::Compression::kGzip) {
        return;
    }
    static const auto inflate_pool = std::make_shared<capture::InflatePool>(2);
    const auto read = [&](const std::shared_ptr<capture::InflatePool>& some) {
        const auto source = capture::open_capture_source(
            std::make_unique<MemoryStream>(file), "sample",
            capture::ReadResources{std::make_shared<capture::BufferPool>(1U << 12U), nullptr, false,
                                   some});
        ReadCapture out;
        if (!source) {
            out.error = source.error().context;
            return out;
        }
        return read_all(**source);
    };
    const ReadCapture alone = read(nullptr);
    const ReadCapture together = read(inflate_pool);
    if (!damaged) {
        require(together.packets == alone.packets && together.error == alone.error &&
                    told(together) == told(alone),
                "threads that inflate ahead change nothing");
    }
}

void check_held_memory(const CaptureBytes& file) {
    constexpr std::size_t kBuffer = 64;
    const auto source =
        capture::open_capture_source(std::make_unique<MemoryStream>(file), "input", kBuffer, true);
    for (capture::Batch batch; *(*source)->next(batch);) {
        for (const auto& memory : batch.memory) {
            require(memory->size() <= kBuffer + 2 * file.size(), "no more memory than the file");
        }
    }
}

void check_recovery(const CaptureBytes& file, const ReadCapture& whole) {
    const ReadCapture got = read(file, 1U << 16, SIZE_MAX, true);
    require(kind_of(got.error) == kind_of(whole.error), "damage does not change the error");
    check_pieces(file, got, true);
    const auto gap = std::find_if(got.warnings.begin(), got.warnings.end(), [](const auto& one) {
        return one.text.starts_with("damaged: ");
    });
    if (gap == got.warnings.end()) {
        require(got.packets == whole.packets, "without damage it is the same");
        return;
    }
    // Custom blocks have numbers too, so a number is not an index of packets.
    const auto before = [&](const ReadCapture& capture) {
        return std::count_if(capture.packets.begin(), capture.packets.end(),
                             [&](const ReadPacket& one) { return one.number < gap->number; });
    };
    require(gap->incomplete && before(got) == before(whole), "damage is behind packets");
    require(
        std::equal(got.packets.begin(), got.packets.begin() + before(got), whole.packets.begin()),
        "packets before damage are the same");
}

// late: inputs are opened when they are due.
ReadCapture merged(const CaptureBytes& file, bool late) {
    std::vector<capture::MergeInput> inputs(2);
    for (capture::MergeInput& input : inputs) {
        const bool first = &input == &inputs.front();
        const auto again = [&file, first] {
            return first ? open(file, 100, SIZE_MAX) : open(file, 1000, 7);
        };
        input.source = *again();
        if (late) {
            input.interfaces = input.source->interfaces();
            input.source.reset();
            input.open = again;
        }
    }
    return read_all(*capture::merge_sources(std::move(inputs), kNoEpochs, nullptr));
}

void check_merge(const CaptureBytes& file, const ReadCapture& whole) {
    const ReadCapture got = merged(file, false);
    const ReadCapture late = merged(file, true);
    require(late.packets == got.packets && late.error == got.error && told(late) == told(got),
            "when inputs are opened does not change the merge");
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

// All blocks but section headers, whose length may be -1 in a written stream.
using Blocks = std::vector<CaptureBytes>;

void pass_batches(capture::Source& source, Blocks& blocks, capture::Writer* writer) {
    constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
    const std::vector<std::uint64_t> all(capture::kMaxBatch / 64, ~std::uint64_t{0});
    source.keep_blocks(true);
    for (capture::Batch batch; *source.next(batch);) {
        for (const capture::Block& block : batch.blocks) {
            if (block.type != kSectionHeader) {
                blocks.emplace_back(block.data, block.data + block.size);
            }
        }
        if (writer != nullptr) {
            const capture::InterfaceView interfaces = source.interfaces();
            require(writer
                        ->write(batch.records, all, {interfaces.data(), interfaces.size()},
                                {batch.blocks, {}})
                        .has_value(),
                    "memory can be written");
        }
    }
}

CaptureBytes written(capture::Source& source, Blocks& blocks) {
    const int memory = ::memfd_create("written", MFD_CLOEXEC);
    auto sink = capture::BufferedOutput::create("/dev/fd/" + std::to_string(memory));
    require(memory >= 0 && sink.has_value(), "memory can be opened");
    const auto writer = capture::make_pcapng_writer(std::move(*sink));
    pass_batches(source, blocks, writer.get());
    require(writer->close().has_value(), "memory can be closed");
    CaptureBytes out(static_cast<std::size_t>(::lseek(memory, 0, SEEK_END)));
    require(::pread(memory, out.data(), out.size(), 0) == static_cast<ssize_t>(out.size()),
            "memory can be read");
    ::close(memory);
    return out;
}

enum class Kept { kPackets, kTimes, kBlocks };

void check_round_trip(std::unique_ptr<capture::Source> source, const ReadCapture& whole,
                      Kept kept) {
    Blocks before;
    Blocks after;
    const CaptureBytes bytes = written(*source, before);
    ReadCapture again = read_bytes(bytes);
    require(again.packets.size() == whole.packets.size(), "writing loses no packet");
    for (std::size_t i = 0; i < again.packets.size(); ++i) {
        const capture::Interface& own = again.interfaces[again.packets[i].interface];
        const capture::Interface& known = whole.interfaces[whole.packets[i].interface];
        require(own.link_type == known.link_type && own.snap_length == known.snap_length,
                "writing keeps interfaces");
        again.packets[i].interface = whole.packets[i].interface;
        if (kept == Kept::kPackets) {  // without custom blocks, which have numbers too
            again.packets[i].time = whole.packets[i].time;
            again.packets[i].number = whole.packets[i].number;
        }
    }
    require(again.packets == whole.packets, "writing keeps packets");
    if (kept == Kept::kBlocks) {
        pass_batches(**open(bytes, 300, SIZE_MAX), after, nullptr);
        // A file that ends before its first block is written as an empty capture.
        require(before == after || before.empty(), "writing keeps blocks");
    }
}

// Write it as the only input, and beside another one, where simple packets get times of their own.
void check_writing(const CaptureBytes& file, const ReadCapture& whole) {
    constexpr std::uint8_t kFirstOfPcapng = 0x0A;
    check_round_trip(*open(file, 1U << 12, SIZE_MAX), whole,
                     file.front() == kFirstOfPcapng ? Kept::kBlocks : Kept::kTimes);
    const CaptureBytes none = pcap_header({});
    std::vector<std::unique_ptr<capture::Source>> sources;
    sources.push_back(*open(file, 1U << 12, SIZE_MAX));
    sources.push_back(*open(none, 64, SIZE_MAX));
    check_round_trip(capture::merge_sources(std::move(sources)), whole, Kept::kPackets);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const CaptureBytes file(data, data + size);
    const ReadCapture whole = read_bytes(file, 1U << 16);
    if (whole.error.empty()) {
        check_batches(**open(file, 1U << 16, SIZE_MAX));
    }
    const bool damaged = is_damaged(file);
    check_ahead(file, damaged);
    if (damaged) {
        read_bytes(file, 100, 7);
        return 0;
    }
    check_pieces(file, whole, false);
    check_recovery(file, whole);
    if (whole.error.empty()) {
        check_held_memory(file);
        check_merge(file, whole);
        check_writing(file, whole);
    }
    return 0;
}
