// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/batch_reader.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "packets.h"

namespace unecho::dedup {
namespace {

// Returns batches of one packet, whose first byte is its number; then the end, or an error.
class Numbers final : public capture::Source {
  public:
    Numbers(unsigned batches, bool fails) : batches_(batches), fails_(fails) {}

    Result<bool> next(capture::Batch& batch) override {
        batch.clear();
        if (given_ == batches_) {
            return fails_ ? Result<bool>(fail(Errc::kIo, "no more")) : false;
        }
        Packets packets;
        packets.add(given_, given_, given_ % 2);
        const auto memory = std::make_shared<capture::Bytes>(8);
        std::memcpy(memory->data(), packets.records()[0].data, 8);
        batch.records = packets.records();
        batch.records[0].data = reinterpret_cast<const std::uint8_t*>(memory->data());
        batch.memory.push_back(memory);
        ++given_;
        return true;
    }
    [[nodiscard]] capture::InterfaceView interfaces() const override {
        const std::vector<capture::Interface> all(std::min(given_, 2U), interface_of(147));
        return capture::InterfaceList(all).view();
    }
    [[nodiscard]] Progress progress() const override { return {given_, batches_}; }
    [[nodiscard]] std::vector<capture::Warning> warnings() const override {
        return {{.number = 1, .text = "of the source"}};
    }

  private:
    unsigned batches_;
    bool fails_;
    unsigned given_ = 0;
};

std::unique_ptr<BatchReader> feed_of(std::unique_ptr<capture::Source> source, bool ahead,
                                     packet::KeyMode mode = packet::KeyMode::kFrame) {
    return make_batch_reader(std::move(source),
                             Digester({.mode = mode}, hash::secret_from_seed(1), PacketClock()),
                             ahead);
}

TEST(feed, portions_come_in_order_with_what_belongs_to_them) {
    for (const bool ahead : {false, true}) {
        const auto feed = feed_of(std::make_unique<Numbers>(100, false), ahead);
        DigestedBatch digested;
        for (unsigned i = 0; i < 100; ++i) {
            ASSERT_TRUE(*feed->next(digested));
            ASSERT_EQ(digested.batch.records.size(), 1u);
            EXPECT_EQ(digested.batch.records[0].time, i);
            EXPECT_EQ(digested.bursts.at(0).place.first_number, i + 1);
            EXPECT_EQ(digested.interfaces.size(), std::min(i + 1, 2U));
            EXPECT_EQ(digested.progress.done, i + 1);
        }
        EXPECT_FALSE(*feed->next(digested));
    }
}

TEST(feed, what_was_read_before_an_error_is_given) {
    for (const bool ahead : {false, true}) {
        const auto feed = feed_of(std::make_unique<Numbers>(20, true), ahead);
        DigestedBatch digested;
        for (unsigned i = 0; i < 20; ++i) {
            ASSERT_TRUE(feed->next(digested));
        }
        const auto end = feed->next(digested);
        ASSERT_FALSE(end);
        EXPECT_EQ(end.error().context, "no more");
    }
}

TEST(feed, warnings_are_those_of_source_and_digester) {
    for (const bool ahead : {false, true}) {
        const auto feed =
            feed_of(std::make_unique<Numbers>(3, false), ahead, packet::KeyMode::kPacket);
        DigestedBatch digested;
        while (*feed->next(digested)) {
        }
        ASSERT_EQ(feed->warnings().size(), 3u);
        EXPECT_EQ(feed->warnings()[0].text, "of the source");
        EXPECT_EQ(feed->warnings()[1].times, 2u);
        EXPECT_EQ(feed->warnings()[2].times, 1u);
    }
}

TEST(feed, dropped_in_the_middle_it_ends) {
    const auto feed = feed_of(std::make_unique<Numbers>(1'000'000, false), true);
    DigestedBatch digested;
    EXPECT_TRUE(*feed->next(digested));
}

// Waits until released, like a pipe to which no process writes.
class Waiting final : public capture::Source {
  public:
    explicit Waiting(std::shared_future<void> go) : go_(std::move(go)) {}

    Result<bool> next(capture::Batch& /*batch*/) override {
        go_.wait();
        return false;
    }
    [[nodiscard]] capture::InterfaceView interfaces() const override { return {}; }
    [[nodiscard]] Progress progress() const override { return {}; }
    [[nodiscard]] std::vector<capture::Warning> warnings() const override { return {}; }

  private:
    std::shared_future<void> go_;
};

TEST(feed, dropped_while_it_waits_it_is_left_alone) {
    std::promise<void> go;
    feed_of(std::make_unique<Waiting>(go.get_future().share()), true).reset();
    go.set_value();
}

}  // namespace
}  // namespace unecho::dedup
