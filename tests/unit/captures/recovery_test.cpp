// SPDX-License-Identifier: BSD-3-Clause
// Captures are damaged on purpose. All packets outside the damage are read, and every byte belongs
// to a packet or is reported as skipped.
#include "captures/formats/recovery.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "captures/formats/capture_source.h"
#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;

using Random = std::mt19937_64;

// A capture with the offset of each packet's record, and of the end.
struct Made {
    CaptureBytes bytes;
    std::vector<std::size_t> starts;
    std::vector<ReadPacket> packets;
    std::size_t around = 16;  // bytes of a record besides its data
};

CaptureBytes noise(Random& random, std::size_t length) {
    CaptureBytes out(length);
    for (std::uint8_t& byte : out) {
        byte = static_cast<std::uint8_t>(random());
    }
    return out;
}

Made made_pcap(const PcapSpec& spec, unsigned packets, Random& random) {
    Made out{.bytes = pcap_header(spec), .starts = {}, .packets = {}, .around = 16};
    out.around = spec.modified ? 24 : 16;
    for (unsigned i = 0; i < packets; ++i) {
        const CaptureBytes data = CaptureBytes(8) + noise(random, random() % 300);
        out.starts.push_back(out.bytes.size());
        // Records are complete as usual, and their times differ little in the fractions.
        out.bytes += pcap_record(spec, 1'700'000'000, 1000 * i, data,
                                 static_cast<std::uint32_t>(data.size()));
    }
    out.starts.push_back(out.bytes.size());
    out.packets = read_bytes(out.bytes).packets;
    return out;
}

Made made_pcapng(std::endian order, unsigned packets, Random& random) {
    PcapngBuilder built(order);
    built.section().interface(1, 65'535).interface(113, 0);
    const std::size_t before = built.borders().size() - 1;
    for (unsigned i = 0; i < packets; ++i) {
        const CaptureBytes data = noise(random, random() % 75 * 4);
        built.enhanced(i % 2, 1'700'000'000'000'000 + i, data,
                       static_cast<std::uint32_t>(data.size() + 60));
    }
    const std::vector<std::size_t> borders = built.borders();
    return {.bytes = built.done(),
            .starts = {borders.begin() + static_cast<std::ptrdiff_t>(before), borders.end()},
            .packets = read_bytes(built.done()).packets,
            .around = 32};
}

// The bytes from `at` on are replaced.
struct Damage {
    std::size_t at = 0;
    std::size_t bytes = 0;  // of the original capture
    CaptureBytes instead;
};

Damage some_damage(const Made& made, Random& random) {
    const std::size_t first = made.starts.front();
    Damage out{.at = first + random() % (made.bytes.size() - first), .bytes = 0, .instead = {}};
    const std::size_t room = made.bytes.size() - out.at;
    out.bytes = std::min<std::size_t>(1 + random() % (random() % 2 == 0 ? 8 : 900), room);
    switch (random() % 5) {
        case 0:
            out.instead = CaptureBytes(out.bytes);
            break;
        case 1:
            out.instead = CaptureBytes(out.bytes, 0xFF);
            break;
        case 2:
            out.instead = noise(random, out.bytes);
            break;
        case 3:  // lost
            break;
        default:  // noise, possibly longer than the original
            out.instead = noise(random, 1 + random() % 900);
            break;
    }
    return out;
}

CaptureBytes with(const Damage& damage, const CaptureBytes& bytes) {
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(damage.at);
    return CaptureBytes(bytes.begin(), at) + damage.instead +
           CaptureBytes(at + static_cast<std::ptrdiff_t>(damage.bytes), bytes.end());
}

ReadCapture recovered(const CaptureBytes& bytes, std::size_t buffer = 1U << 20,
                      std::size_t piece = SIZE_MAX) {
    const auto source = capture::open_capture_source(std::make_unique<MemoryStream>(bytes, piece),
                                                     "sample", buffer, true);
    EXPECT_TRUE(source);
    return read_all(**source);
}

// Compare without packet numbers, which depend on what was read before.
bool same(const ReadPacket& a, const ReadPacket& b) {
    return a.time == b.time && a.wire_length == b.wire_length && a.interface == b.interface &&
           a.data == b.data;
}

// Packets that the damage touches may be read in a changed form, but no more than it touches.
void expect_untouched(const Made& made, const Damage& damage, const ReadCapture& got) {
    std::size_t touched = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < made.packets.size(); ++i) {
        if (made.starts[i + 1] > damage.at && made.starts[i] < damage.at + damage.bytes) {
            ++touched;
            continue;
        }
        // Bytes inserted between two packets touch none.
        while (at < got.packets.size() && !same(got.packets[at], made.packets[i])) {
            ++at;
        }
        ASSERT_LT(at, got.packets.size()) << "packet " << i + 1 << " is missing; damage at "
                                          << damage.at << " of " << damage.bytes;
        ++at;
    }
    EXPECT_LE(got.packets.size(), made.packets.size() + (damage.bytes == 0 ? 1 : 0));
}

std::uint64_t skipped_bytes(const ReadCapture& got) {
    std::uint64_t sum = 0;
    for (const capture::Warning& warning : got.warnings) {
        const std::string head = "damaged: ";
        if (warning.text.starts_with(head)) {
            std::string number = warning.text.substr(head.size());
            number = number.substr(0, number.find(' '));
            number.erase(std::remove(number.begin(), number.end(), ','), number.end());
            sum += std::stoull(number);
            EXPECT_TRUE(warning.incomplete);
        }
    }
    return sum;
}

bool ends_cut(const ReadCapture& got) {
    return std::any_of(got.warnings.begin(), got.warnings.end(), [](const auto& warning) {
        return warning.text.find("cut short") != std::string::npos;
    });
}

void expect_every_byte(const Made& made, std::size_t size, const ReadCapture& got) {
    std::uint64_t sum = made.starts.front() + skipped_bytes(got);
    for (const ReadPacket& packet : got.packets) {
        sum += made.around + packet.data.size();
    }
    constexpr std::size_t kPcapng = 32;
    if (ends_cut(got)) {
        EXPECT_LT(sum, size);
    } else if (made.around == kPcapng) {  // a packet may have become shorter within its block
        EXPECT_LE(sum, size);
    } else {
        EXPECT_EQ(sum, size);
    }
}

void check_damage(const Made& made, std::uint64_t seed) {
    Random random(seed);
    for (unsigned i = 0; i < 150; ++i) {
        const Damage damage = some_damage(made, random);
        const CaptureBytes bytes = with(damage, made.bytes);
        const ReadCapture got = recovered(bytes);
        expect_untouched(made, damage, got);
        expect_every_byte(made, bytes.size(), got);
        if (testing::Test::HasFailure()) {
            FAIL() << "seed " << seed << ", damage " << i;
        }
        if (i % 10 == 0) {
            const ReadCapture pieces = recovered(bytes, 1 + random() % 400, 1 + random() % 50);
            EXPECT_TRUE(pieces.packets == got.packets) << i;
            ASSERT_EQ(pieces.warnings.size(), got.warnings.size());
            EXPECT_TRUE(recovered(gzip(bytes), 700).packets == got.packets) << i;
        }
    }
}

TEST(Recovery, all_packets_that_damage_of_a_pcap_does_not_touch_come) {
    std::uint64_t seed = 100;
    for (const std::endian order : {std::endian::little, std::endian::big}) {
        for (const bool nanoseconds : {false, true}) {
            Random random(++seed);
            check_damage(made_pcap({.order = order, .nanoseconds = nanoseconds}, 40, random), seed);
        }
        Random random(++seed);
        check_damage(made_pcap({.order = order, .modified = true}, 40, random), seed);
    }
}

TEST(Recovery, all_packets_that_damage_of_a_pcapng_does_not_touch_come) {
    std::uint64_t seed = 200;
    for (const std::endian order : {std::endian::little, std::endian::big}) {
        Random random(++seed);
        check_damage(made_pcapng(order, 40, random), seed);
    }
}

TEST(Recovery, several_places_are_told_and_summed_up) {
    Random random(7);
    const Made made = made_pcap({}, 400, random);
    CaptureBytes bytes = made.bytes;
    std::vector<ReadPacket> left;
    for (std::size_t i = 0; i < made.packets.size(); ++i) {
        if (i % 20 == 10) {
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(made.starts[i] + 8), 4, 0x80);
        } else {
            left.push_back(made.packets[i]);
            left.back().number = left.size();
        }
    }
    const ReadCapture got = recovered(bytes);
    EXPECT_EQ(got.packets, left);
    ASSERT_EQ(got.warnings.size(), 17U);
    std::uint64_t lost = 0;
    for (std::size_t i = 10; i < made.packets.size(); i += 20) {
        lost += made.starts[i + 1] - made.starts[i];
    }
    EXPECT_EQ(got.warnings[0].text, "damaged: " + format_count(made.starts[11] - made.starts[10]) +
                                        " bytes skipped at byte " + format_count(made.starts[10]));
    EXPECT_EQ(got.warnings[0].number, 11U);
    EXPECT_EQ(got.warnings[16].text,
              "damaged in 20 places: " + format_count(lost) + " bytes skipped in all");
}

// A file system that loses a block leaves zeros, which are no packets.
TEST(Recovery, zeros_and_noise_of_any_length_are_skipped) {
    Random random(8);
    for (const bool pcapng : {false, true}) {
        const Made made =
            pcapng ? made_pcapng(std::endian::little, 30, random) : made_pcap({}, 30, random);
        for (const std::size_t length : {16U, 4096U, 1U << 17}) {
            for (const CaptureBytes& what : {CaptureBytes(length), noise(random, length)}) {
                for (const std::size_t place : {std::size_t{0}, std::size_t{13}, std::size_t{30}}) {
                    const Damage damage{.at = made.starts[place], .bytes = 0, .instead = what};
                    const ReadCapture got = recovered(with(damage, made.bytes), 5000);
                    EXPECT_EQ(got.packets, made.packets) << length << " at " << place;
                    EXPECT_EQ(skipped_bytes(got), length);
                }
            }
        }
    }
}

// The length leads beyond the end, or into another packet.
TEST(Recovery, lengths_that_are_possible_but_wrong_lose_their_packet_alone) {
    Random random(9);
    const Made made = made_pcap({}, 40, random);
    for (const std::uint32_t length : {0U, 1U, 500U, 3000U, 262'144U}) {
        CaptureBytes bytes = made.bytes;
        const CaptureBytes told = ByteWriter(std::endian::little).u32(length).u32(262'144).done();
        std::copy(told.begin(), told.end(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(made.starts[20] + 8));
        const ReadCapture got = recovered(bytes, 1000);
        expect_untouched(made, {.at = made.starts[20] + 8, .bytes = 8, .instead = {}}, got);
        EXPECT_LE(got.packets.size(), 40U);
    }
}

// Before version 2.3 the length on the wire came first. It mostly differs from the captured one.
TEST(Recovery, of_old_pcaps_takes_lengths_as_they_stand_there) {
    const PcapSpec spec;
    CaptureBytes bytes = pcap_header(spec);
    bytes[6] = 2;  // version 2.2
    std::size_t damaged = 0;
    for (unsigned i = 0; i < 40; ++i) {
        const CaptureBytes data = sample_data(i, 60 + i);
        CaptureBytes record = pcap_record(spec, 1'700'000'000, 1000 * i, data, 1500);
        const CaptureBytes lengths = ByteWriter(spec.order).u32(1500).u32(60 + i).done();
        std::copy(lengths.begin(), lengths.end(), record.begin() + 8);
        damaged = i == 20 ? bytes.size() : damaged;
        bytes += record;
    }
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(damaged) + 8, 8, 0xFF);
    const ReadCapture got = recovered(bytes);
    ASSERT_EQ(got.packets.size(), 39U);
    for (unsigned i = 0; i < 39; ++i) {
        EXPECT_EQ(got.packets[i].data,
                  sample_data(i + (i < 20 ? 0 : 1), 60 + i + (i < 20 ? 0 : 1)));
        EXPECT_EQ(got.packets[i].wire_length, 1500U);
    }
}

TEST(Recovery, sound_captures_are_read_as_ever) {
    Random random(10);
    const PcapSpec spec{.snap_length = 100};
    CaptureBytes odd = pcap_header(spec);
    for (unsigned i = 0; i < 50; ++i) {
        // Times jump, fractions exceed a second, lengths exceed snap length and wire length.
        odd += pcap_record(spec, i / 20 * 900'000, 3'000'000 + i, noise(random, 130), i % 2);
    }
    const std::vector<CaptureBytes> files{
        made_pcap({}, 100, random).bytes,
        made_pcapng(std::endian::big, 100, random).bytes,
        odd,
        pcap_sample({}, 50),
        pcap_header({}),
        CaptureBytes(odd.begin(), odd.end() - 5),  // cut
        made_pcapng(std::endian::little, 3, random).bytes + CaptureBytes(5)};
    for (const CaptureBytes& file : files) {
        const ReadCapture plain = read_bytes(file);
        const ReadCapture got = recovered(file, 300, 41);
        EXPECT_EQ(got.packets, plain.packets);
        ASSERT_EQ(got.warnings.size(), plain.warnings.size());
        for (std::size_t i = 0; i < got.warnings.size(); ++i) {
            EXPECT_EQ(got.warnings[i].text, plain.warnings[i].text);
        }
    }
}

// An interface described after the damage has no certain number.
TEST(Recovery, packets_never_get_another_interface) {
    PcapngBuilder built;
    built.section().interface(1, 0);
    const std::size_t gap = built.done().size();
    built.interface(113, 0).interface(101, 0);
    for (std::uint32_t i = 0; i < 6; ++i) {
        built.enhanced(i % 3, i, sample_data(i, 40), 40);
    }
    built.section().interface(101, 0).enhanced(0, 9, sample_data(9, 40), 40);
    CaptureBytes bytes = built.done();
    bytes[gap + 6] = 0x7F;  // length of the second interface's block
    const ReadCapture got = recovered(bytes);
    ASSERT_EQ(got.packets.size(), 3U);
    for (const ReadPacket& packet : got.packets) {
        const bool first = packet.data != sample_data(9, 40);
        EXPECT_EQ(got.interfaces[packet.interface].link_type, first ? 1 : 101);
    }
}

TEST(Recovery, little_is_held_while_records_are_sought) {
    Random random(11);
    Made made = made_pcap({}, 5, random);
    const CaptureBytes huge = ByteWriter(std::endian::little).u64(0).u32(~0U).u32(1).done();
    const CaptureBytes bytes = made.bytes + huge + noise(random, 3U << 20) +
                               CaptureBytes(made.bytes.begin() + 24, made.bytes.end());
    const auto source = capture::open_capture_source(std::make_unique<MemoryStream>(bytes),
                                                     "sample", 1U << 16, true);
    ASSERT_TRUE(source);
    std::size_t packets = 0;
    for (capture::Batch batch; *(*source)->next(batch);) {
        packets += batch.records.size();
        for (const auto& memory : batch.memory) {
            EXPECT_LE(memory->size(), 2U << 20);
        }
    }
    EXPECT_EQ(packets, 10U);
}

// The length is too large for other programs but not for this one, and leads beyond the end.
TEST(Recovery, cut_records_are_complete_unless_their_length_cannot_be) {
    Random random(13);
    const Made made = made_pcap({}, 10, random);
    const CaptureBytes cut(made.bytes.begin(), made.bytes.end() - 3);
    ASSERT_EQ(read_bytes(cut).warnings.size(), 1U);
    EXPECT_FALSE(read_bytes(cut).warnings[0].incomplete);
    CaptureBytes bytes = made.bytes;
    bytes[made.starts[5] + 10] = 0x40;
    const ReadCapture got = read_bytes(bytes);
    ASSERT_EQ(got.warnings.size(), 1U);
    EXPECT_TRUE(got.warnings[0].incomplete);
    EXPECT_TRUE(got.warnings[0].text.starts_with("record cut short: it has 4,194,"));
    EXPECT_EQ(recovered(bytes).packets.size(), 9U);
}

}  // namespace
