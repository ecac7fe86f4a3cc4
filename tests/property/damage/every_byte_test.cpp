// SPDX-License-Identifier: BSD-3-Clause
// Every capture of pcaps/, as pcap and as pcapng, damaged at its n-th byte, for each n: changed,
// lost, doubled, or truncated after it. Packets before the damage must be read, and with --recover
// also those after it. No packet is invented; only the damaged one may differ. A capture is split
// into runs of a few records with their header, so that each case reads little. Unless
// UNECHO_EVERY_BYTE is set, every 7th record is damaged (28th under ASan), at each byte of its
// header and every 61st of its data.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "captures/formats/capture_source.h"
#include "support/capture_builder.h"
#include "support/sanitizers.h"
#include "support/source_root.h"

namespace {

using namespace unecho;
using namespace unecho::test;

constexpr std::size_t kRun = 16;     // records in a run
constexpr std::size_t kTouched = 4;  // index of the damaged record
constexpr std::size_t kPcapHeader = 16;
constexpr std::size_t kPcapngHeader = 28;

// A capture, or a run of its records: the file's header, and the records.
struct Capture {
    CaptureBytes head;
    std::vector<CaptureBytes> records;
    std::size_t header = 0;  // bytes of a record before its data
};

std::uint32_t word(const CaptureBytes& bytes, std::size_t at) {
    return static_cast<std::uint32_t>(bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16) |
           static_cast<std::uint32_t>(bytes[at + 3]) << 24;
}

Capture as_pcap(const CaptureBytes& file) {
    Capture out{CaptureBytes(file.begin(), file.begin() + 24), {}, kPcapHeader};
    for (std::size_t at = 24; at + kPcapHeader <= file.size();) {
        const std::size_t end = at + kPcapHeader + word(file, at + 8);
        if (end > file.size()) {
            break;
        }
        out.records.emplace_back(file.begin() + static_cast<std::ptrdiff_t>(at),
                                 file.begin() + static_cast<std::ptrdiff_t>(end));
        at = end;
    }
    return out;
}

Capture as_pcapng(const Capture& pcap) {
    PcapngBuilder built;
    built.section().interface(static_cast<std::uint16_t>(word(pcap.head, 20)), 0);
    Capture out{built.done(), {}, kPcapngHeader};
    for (const CaptureBytes& record : pcap.records) {
        const std::size_t before = built.done().size();
        built.enhanced(0, std::uint64_t{word(record, 0)} * 1'000'000 + word(record, 4),
                       std::span(record).subspan(kPcapHeader), word(record, 12));
        out.records.emplace_back(built.done().begin() + static_cast<std::ptrdiff_t>(before),
                                 built.done().end());
    }
    return out;
}

struct Kind {
    const char* name;
    CaptureBytes (*of)(const CaptureBytes& record, std::size_t n);
    bool ends = false;  // truncates: nothing follows
    bool shortens = false;
};

std::ptrdiff_t place(std::size_t n) {
    return static_cast<std::ptrdiff_t>(n);
}

const std::vector<Kind> kKinds = {
    {"changed",
     [](const CaptureBytes& record, std::size_t n) {
         CaptureBytes out = record;
         out[n] ^= 0xFF;
         return out;
     }},
    {"one bit changed",
     [](const CaptureBytes& record, std::size_t n) {
         CaptureBytes out = record;
         out[n] ^= static_cast<std::uint8_t>(1U << n % 8);
         return out;
     }},
    {"lost",
     [](const CaptureBytes& record, std::size_t n) {
         CaptureBytes out = record;
         out.erase(out.begin() + place(n));
         return out;
     },
     false, true},
    {"twice",
     [](const CaptureBytes& record, std::size_t n) {
         CaptureBytes out = record;
         out.insert(out.begin() + place(n), record[n]);
         return out;
     }},
    {"the last",
     [](const CaptureBytes& record, std::size_t n) {
         return CaptureBytes(record.begin(), record.begin() + place(n + 1));
     },
     true},
};

ReadCapture read(const CaptureBytes& bytes, bool recover) {
    const auto source = capture::open_capture_source(std::make_unique<MemoryStream>(bytes),
                                                     "capture", std::size_t{1} << 12, recover);
    if (!source) {
        ReadCapture out;
        out.error = source.error().context;
        return out;
    }
    return read_all(**source);
}

bool same(const ReadPacket& a, const ReadPacket& b) {
    return a.time == b.time && a.wire_length == b.wire_length && a.data == b.data;
}

// Check a run read without --recover. Any packets may follow the damage, as with libpcap, because
// nothing searches for records.
std::string wrong_without(const std::vector<ReadPacket>& got, const std::vector<ReadPacket>& run) {
    const bool all = got.size() >= kTouched &&
                     std::equal(run.begin(), run.begin() + place(kTouched), got.begin(), same);
    return all ? "" : "what is before the damage does not come";
}

// Check a run read with --recover. sound: number of packets before the damage. Only one packet is
// damaged; it may appear in its changed form.
std::string wrong_with(const std::vector<ReadPacket>& got, const std::vector<ReadPacket>& run,
                       std::size_t sound, bool behind) {
    if (got.size() < sound ||
        !std::equal(run.begin(), run.begin() + place(sound), got.begin(), same)) {
        return "what is before the damage does not come";
    }
    std::size_t next = sound;
    std::size_t others = 0;
    for (std::size_t i = sound; i < got.size(); ++i) {
        const auto found = std::find_if(run.begin() + place(next), run.end(),
                                        [&](const ReadPacket& one) { return same(got[i], one); });
        if (found == run.end()) {
            ++others;
        } else {
            next = static_cast<std::size_t>(found - run.begin()) + 1;
        }
    }
    if (others > 1) {
        return "packets come that were not there: " + std::to_string(others);
    }
    const bool all = std::all_of(run.begin() + kTouched + 1, run.end(), [&](const ReadPacket& one) {
        return std::any_of(got.begin(), got.end(),
                           [&](const ReadPacket& other) { return same(one, other); });
    });
    return all || !behind ? "" : "packets behind the damage do not come";
}

struct Damages {
    std::size_t cases = 0;
    std::vector<std::string> wrong;
};

void damage_each(const Capture& capture, const std::string& name, Damages& damages) {
    const bool all = std::getenv("UNECHO_EVERY_BYTE") != nullptr;
    const std::size_t step = all ? 1 : 61;
    const std::size_t apart = all ? 1 : kUnderAsan ? 28 : 7;
    for (std::size_t first = 0; first + kRun <= capture.records.size(); first += apart) {
        CaptureBytes whole = capture.head;
        for (std::size_t i = 0; i < kRun; ++i) {
            whole += capture.records[first + i];
        }
        const std::vector<ReadPacket> run = read(whole, false).packets;
        ASSERT_EQ(run.size(), kRun);
        const CaptureBytes& touched = capture.records[first + kTouched];
        if (std::any_of(run.begin(), run.begin() + kTouched,
                        [](const ReadPacket& packet) { return packet.wire_length == 0; })) {
            continue;  // a packet of wire length 0 makes the records before the damage doubtful too
        }
        for (std::size_t n = 0; n < touched.size(); n += n < capture.header ? 1 : step) {
            for (const Kind& kind : kKinds) {
                CaptureBytes bytes = capture.head;
                for (std::size_t i = 0; i < kTouched; ++i) {
                    bytes += capture.records[first + i];
                }
                bytes += kind.of(touched, n);
                for (std::size_t i = kTouched + 1; i < kRun && !kind.ends; ++i) {
                    bytes += capture.records[first + i];
                }
                for (const bool recover : {false, true}) {
                    ++damages.cases;
                    const std::vector<ReadPacket> got = read(bytes, recover).packets;
                    // A byte lost at the front of a header may as well be the last of the packet
                    // before.
                    const std::size_t sound = kTouched - (kind.shortens && n < 2 ? 1 : 0);
                    const std::string wrong =
                        recover ? wrong_with(got, run, sound, !kind.ends) : wrong_without(got, run);
                    if (!wrong.empty()) {
                        damages.wrong.push_back(name + ", record " +
                                                std::to_string(first + kTouched) + ", byte " +
                                                std::to_string(n) + " " + kind.name +
                                                (recover ? ", recovered: " : ": ") + wrong);
                    }
                }
            }
        }
    }
}

TEST(damage, of_any_byte_is_that_packet_alone) {
    Damages damages;
    std::size_t captures = 0;
    for (const auto& entry : std::filesystem::directory_iterator(source_root() + "/pcaps")) {
        if (entry.path().extension() != ".pcap") {
            continue;
        }
        ++captures;
        std::ifstream stream(entry.path(), std::ios::binary);
        const CaptureBytes file{std::istreambuf_iterator<char>(stream), {}};
        const Capture pcap = as_pcap(file);
        const std::string name = entry.path().filename();
        damage_each(pcap, name, damages);
        damage_each(as_pcapng(pcap), name + "ng", damages);
    }
    EXPECT_GE(captures, 8U);
    EXPECT_EQ(damages.wrong.size(), 0U) << "of " << damages.cases;
    for (std::size_t i = 0; i < std::min<std::size_t>(damages.wrong.size(), 10); ++i) {
        ADD_FAILURE() << damages.wrong[i];
    }
    RecordProperty("cases", std::to_string(damages.cases));
    std::printf("%zu damages\n", damages.cases);
}

}  // namespace
