// SPDX-License-Identifier: BSD-3-Clause
// Packets for the collector, stored so that records can point to them.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "captures/analyze/collect/collector.h"
#include "captures/interface_list.h"
#include "captures/record.h"
#include "captures/source.h"
#include "support/packet_builder.h"
#include "support/wrappings.h"

namespace unecho::analyze {

inline const test::Wrapping& wrapping(std::string_view name) {
    return *std::find_if(test::wrappings().begin(), test::wrappings().end(),
                         [&](const test::Wrapping& one) { return one.name == name; });
}

// Return a frame whose tunnel ends and numbers, except the tenant, come from the seed.
inline test::Bytes tunnelled(const test::PacketSpec& spec, std::string_view name,
                             std::uint32_t tenant, unsigned seed) {
    test::Draw draw(seed);
    const test::Wrapping& around = wrapping(name);
    const test::Wrapped inner{around.takes_ethernet ? test::build(spec) : test::build_ip(spec),
                              around.takes_ethernet};
    return test::on_ethernet(test::wrap(around, inner, tenant, draw), draw);
}

class Stream {
  public:
    explicit Stream(std::size_t interfaces = 1, std::uint16_t link_type = 1)
        : interfaces_(interfaces) {
        for (std::size_t i = 0; i < interfaces; ++i) {
            interfaces_[i].link_type = link_type;
            interfaces_[i].file = static_cast<std::uint32_t>(i);
        }
    }

    void add(Nanoseconds time, test::Bytes frame, std::uint32_t interface = 0) {
        frames_.push_back(std::move(frame));
        capture::Record record;
        record.time = time;
        record.data = frames_.back().data();
        record.length = static_cast<std::uint32_t>(frames_.back().size());
        record.wire_length = record.length;
        record.interface = interface;
        record.number = records_.size() + 1;
        records_.push_back(record);
    }
    void add(Nanoseconds time, const test::PacketSpec& spec, std::uint32_t interface = 0) {
        add(time, test::build(spec), interface);
    }

    [[nodiscard]] Report report(std::uint64_t memory = std::uint64_t{64} << 20) const {
        Collector collector(memory, hash::secret_from_seed(1));
        collector.add(records_, interfaces_);
        return collector.report();
    }

    [[nodiscard]] const std::vector<capture::Record>& records() const { return records_; }
    [[nodiscard]] std::vector<capture::Interface>& interfaces() { return interfaces_; }

  private:
    std::deque<test::Bytes> frames_;
    std::vector<capture::Record> records_;
    std::vector<capture::Interface> interfaces_;
};

// Returns the records in batches of two, then ends or fails.
class FakeSource : public capture::Source {
  public:
    explicit FakeSource(Stream& stream) : stream_(stream) {}

    Result<bool> next(capture::Batch& batch) override {
        batch.clear();
        const auto& all = stream_.records();
        if (at_ == all.size() && failure) {
            return tl::unexpected(*failure);
        }
        for (; at_ < all.size() && batch.records.size() < 2; ++at_) {
            batch.records.push_back(all[at_]);
        }
        return !batch.records.empty();
    }
    [[nodiscard]] capture::InterfaceView interfaces() const override {
        return capture::InterfaceList(stream_.interfaces()).view();
    }
    [[nodiscard]] Progress progress() const override { return {}; }
    [[nodiscard]] std::vector<capture::Warning> warnings() const override { return warned; }

    std::optional<Error> failure;
    std::vector<capture::Warning> warned;

  protected:
    Stream& stream_;
    std::size_t at_ = 0;
};

}  // namespace unecho::analyze
