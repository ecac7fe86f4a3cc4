// SPDX-License-Identifier: BSD-3-Clause
// Flows of packets as a capture shows them: addresses, ports and protocol, in one direction.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/prefetch.h"
#include "filters/hash/digest.h"
#include "packets/frame.h"
#include "packets/link.h"
#include "packets/parse.h"

namespace unecho::compare {

struct Address {
    enum class Family : std::uint8_t { kNone, kMac, kIpv4, kIpv6 };

    Family family = Family::kNone;
    std::array<std::uint8_t, 16> bytes{};  // as many as the family has, then zeros

    auto operator<=>(const Address&) const = default;
};
std::string text_of(const Address& address);

// Ports are 0 where the protocol has none. Frames without an IP packet go by their MAC addresses.
struct Flow {
    Address source;
    Address destination;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint8_t protocol = 0;

    auto operator<=>(const Flow&) const = default;
};
// Return "10.0.0.1:443 > 10.0.0.2:51000 TCP".
std::string text_of(const Flow& flow);

Flow flow_of(const packet::Parsed& parsed);
// Return the stations of an Ethernet frame with both MAC addresses.
Flow flow_of_stations(const packet::Frame& frame);

// The flows seen so far, numbered from 0.
class FlowTable {
  public:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    void prefetch(Digest digest) const {
        if (!slots_.empty()) {
            prefetch_line(&slots_[digest & (slots_.size() - 1)]);
        }
    }

    // Return the number of the flow with this digest; make() returns it if it is new.
    template <typename Make>
    std::uint32_t number_of(Digest digest, Make make) {
        if (flows_.size() * 2 >= slots_.size()) {
            grow();
        }
        Slot& slot = slot_of(digest);
        if (slot.flow == kNone) {
            slot = {digest, static_cast<std::uint32_t>(flows_.size())};
            flows_.push_back(make());
            digests_.push_back(digest);
        }
        return slot.flow;
    }

    [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }
    [[nodiscard]] const std::vector<Digest>& digests() const { return digests_; }
    [[nodiscard]] std::uint64_t bytes() const {
        constexpr std::uint64_t kHosts = 256;  // of hosts.h, at most
        return flows_.size() * (sizeof(Flow) + sizeof(Digest) + 4 * sizeof(Slot) + kHosts);
    }

  private:
    struct Slot {
        Digest digest = 0;
        std::uint32_t flow = kNone;
    };
    Slot& slot_of(Digest digest);
    void grow();

    std::vector<Flow> flows_;
    std::vector<Digest> digests_;  // of flows_
    std::vector<Slot> slots_;      // a power of two, at least half of them free
};

}  // namespace unecho::compare
