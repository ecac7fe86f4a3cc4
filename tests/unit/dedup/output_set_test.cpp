// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/output_set.h"

#include <gtest/gtest.h>

#include "captures/formats/pcapng_blocks.h"
#include "packets.h"
#include "unit/captures/folder.h"

namespace unecho::dedup {
namespace {

// Two inputs in batches of three packets. In the second input, a block that has a number too
// precedes the second packet, the fifth of all.
TEST(OutputSet, comments_name_packets_of_all_batches) {
    const capture::Folder folder;
    FileOptions files;
    files.inputs = {"a.pcapng", "b.pcapng"};
    files.output = folder.file("out.pcapng");
    files.mark = true;
    auto sinks = OutputSet::create(files, capture::FileFormat::kPcapng);
    ASSERT_TRUE(sinks) << sinks.error().context;

    Packets packets;
    for (unsigned i = 0; i < 3; ++i) {
        packets.add(i, i);
    }
    const capture::InterfaceList interfaces({interface_of(1)});
    DigestedBatch digested;
    digested.batch.records = packets.records();
    digested.interfaces = interfaces.view();
    Verdicts verdicts{{7}, {}};
    ASSERT_TRUE(sinks->write(digested, verdicts));

    constexpr std::uint32_t kCustom = 0xBAD;
    ASSERT_TRUE(capture::pcapng::is_numbered(kCustom));
    const std::string block = capture::pcapng::make_block(kCustom, std::string(4, '\1'), false);
    digested.batch.blocks = {{.data = reinterpret_cast<const std::uint8_t*>(block.data()),
                              .size = static_cast<std::uint32_t>(block.size()),
                              .type = kCustom,
                              .before = 1,
                              .merged = true}};
    for (std::size_t i = 0; i < 3; ++i) {
        verdicts.pairs.push_back({.record = i, .known = true, .original = 3 + i});
    }
    ASSERT_TRUE(sinks->write(digested, verdicts));
    ASSERT_TRUE(sinks->close(interfaces.view()));

    const std::string written = folder.get("out.pcapng");
    const std::string begin = "echo of packet ";
    std::string named;
    for (std::size_t at = written.find(begin); at != std::string::npos;
         at = written.find(begin, at + 1)) {
        const std::size_t number = at + begin.size();
        named += written.substr(number, written.find(' ', number) + 1 - number);
    }
    EXPECT_EQ(named, "3 4 6 ");
}

}  // namespace
}  // namespace unecho::dedup
