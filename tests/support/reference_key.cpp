// SPDX-License-Identifier: BSD-3-Clause
#include "support/reference_key.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <utility>

namespace unecho::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

const std::set<unsigned> kTags{0x8100, 0x88A8, 0x9100, 0x9200};
const std::set<unsigned> kExtensions{0, 43, 44, 51, 60, 135, 139, 140};
const std::set<unsigned> kPorted{6, 17, 33, 132, 136};

// Thrown where a frame has no key.
struct NoKey {
    KeyOutcome outcome;
};

// Hands out bytes from the front; asking for more than there are is "malformed".
class Reader {
  public:
    explicit Reader(View bytes) : rest_(bytes) {}

    View take(std::size_t n) {
        if (n > rest_.size()) {
            throw NoKey{KeyOutcome::kMalformed};
        }
        const auto taken = rest_.first(n);
        rest_ = rest_.subspan(n);
        return taken;
    }
    unsigned take_u16() {
        const auto two = take(2);
        return two[0] * 256U + two[1];
    }
    [[nodiscard]] View rest() const { return rest_; }

  private:
    View rest_;
};

unsigned u16(View bytes, std::size_t at) {
    return bytes[at] * 256U + bytes[at + 1];
}

View slice(View bytes, std::size_t from, std::size_t to) {
    return bytes.subspan(from, to - from);
}

Bytes joined(std::initializer_list<View> parts) {
    Bytes out;
    for (const View part : parts) {
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

// These return the IP version that is announced; reader then stands at the IP header.

unsigned version_ahead(const Reader& reader, KeyOutcome otherwise) {
    if (reader.rest().empty()) {
        throw NoKey{KeyOutcome::kMalformed};
    }
    const unsigned nibble = reader.rest()[0] / 16;
    if (nibble != 4 && nibble != 6) {
        throw NoKey{otherwise};
    }
    return nibble;
}

unsigned version_of(unsigned number, unsigned ipv4, const std::set<unsigned>& ipv6) {
    if (number != ipv4 && !ipv6.contains(number)) {
        throw NoKey{KeyOutcome::kNonIp};
    }
    return number == ipv4 ? 4 : 6;
}

unsigned strip_tags(Reader& reader, unsigned type) {
    while (kTags.contains(type)) {
        reader.take(2);
        type = reader.take_u16();
    }
    if (type == 0x0800) {
        return 4;
    }
    if (type == 0x86DD) {
        return 6;
    }
    if (type == 0x8864) {
        reader.take(6);
        return version_of(reader.take_u16(), 0x21, {0x57});
    }
    if (type != 0x8847 && type != 0x8848) {
        throw NoKey{KeyOutcome::kNonIp};
    }
    while (reader.take(4)[2] % 2 == 0) {
    }
    return version_ahead(reader, KeyOutcome::kNonIp);
}

unsigned strip_ethernet(Reader& reader) {
    reader.take(12);
    return strip_tags(reader, reader.take_u16());
}

unsigned strip_sll(Reader& reader) {
    reader.take(14);
    return strip_tags(reader, reader.take_u16());
}

unsigned strip_sll2(Reader& reader) {
    const unsigned type = reader.take_u16();
    reader.take(18);
    return strip_tags(reader, type);
}

unsigned strip_family(Reader& reader, bool either_order) {
    const View four = reader.take(4);
    const unsigned family = either_order && four[0] != 0 ? four[0] : four[3];
    return version_of(family, 2, {10, 24, 28, 30});
}

unsigned strip_ppp(Reader& reader) {
    unsigned number = reader.take_u16();
    if (number == 0xFF03) {
        number = reader.take_u16();
    }
    return version_of(number, 0x21, {0x57});
}

unsigned strip_hdlc(Reader& reader) {
    reader.take(2);
    return strip_tags(reader, reader.take_u16());
}

unsigned strip_frame_relay(Reader& reader) {
    unsigned bytes = 1;
    while (reader.take(1)[0] % 2 == 0 && bytes < 5) {
        ++bytes;
    }
    if (bytes < 2 || bytes > 4) {
        throw NoKey{KeyOutcome::kMalformed};
    }
    const unsigned two = u16(Reader(reader).take(2), 0);
    if (two / 256 != 3) {
        return strip_tags(reader, reader.take_u16());
    }
    reader.take(two % 256 == 0 ? 2 : 1);
    const unsigned nlpid = reader.take(1)[0];
    if (nlpid == 0xCF) {
        return version_of(reader.take_u16(), 0x21, {0x57});
    }
    if (nlpid != 0x80) {
        return version_of(nlpid, 0xCC, {0x8E});
    }
    const View snap = reader.take(5);
    if (snap[0] + snap[1] + snap[2] != 0) {
        throw NoKey{KeyOutcome::kNonIp};
    }
    return strip_tags(reader, u16(snap, 3));
}

unsigned strip_nflog(Reader& reader) {
    const unsigned version = version_of(reader.take(4)[0], 2, {10});
    while (true) {
        const View field = reader.take(4);
        const std::size_t size = field[1] * std::size_t{256} + field[0];
        if (size < 4) {
            throw NoKey{KeyOutcome::kMalformed};
        }
        if (field[3] % 128 * 256 + field[2] == 9) {
            reader = Reader(reader.rest().first(std::min(size - 4, reader.rest().size())));
            return version;
        }
        reader.take((size + 3) / 4 * 4 - 4);
    }
}

unsigned little(View bytes) {
    unsigned value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
        value = value * 256 + bytes[i];
    }
    return value;
}

void drop_check(Reader& reader) {
    const std::size_t size = reader.rest().size();
    reader = Reader(reader.rest().first(size < 4 ? 0 : size - 4));
}

bool ppi_tells_of_check(bool aligned, Reader fields) {
    try {
        while (true) {
            const unsigned type = little(fields.take(2));
            const std::size_t size = little(fields.take(2));
            const View value = fields.take(size);
            if (type == 2) {
                return size >= 10 && value[8] % 2 != 0;
            }
            const std::size_t fill = aligned ? (4 - size % 4) % 4 : 0;
            fields.take(std::min(fill, fields.rest().size()));
        }
    } catch (const NoKey&) {
        return false;
    }
}

// The reader then holds the 802.11 frame without its check sequence, where one is told of. True:
// the header of that frame is padded.
bool strip_radio(packet::Link link, Reader& reader) {
    if (link == packet::Link::kWifi) {
        return false;
    }
    const View first = Reader(reader).take(8);
    const View reversed = link == packet::Link::kAvs ? first.subspan(4) : first.subspan(2, 2);
    const std::size_t size = link == packet::Link::kAvs
                                 ? u16(reversed, 0) * std::size_t{65536} + u16(reversed, 2)
                                 : little(reversed);
    if (size < 8) {
        throw NoKey{KeyOutcome::kMalformed};
    }
    Reader header(reader.take(size));
    header.take(4);
    if (link == packet::Link::kPpi && little(header.take(4)) != 105) {
        throw NoKey{KeyOutcome::kNonIp};
    }
    if (link == packet::Link::kPpi && ppi_tells_of_check(first[1] % 2 != 0, header)) {
        drop_check(reader);
    }
    if (link != packet::Link::kRadiotap) {
        return false;
    }
    const unsigned present = little(header.take(4));
    for (unsigned more = present; more >= 1U << 31;) {
        more = little(header.take(4));
    }
    if (present % 2 != 0 && present / 2 % 2 != 0) {
        const std::size_t at = size - header.rest().size();
        header.take((8 - at % 8) % 8 + 8);
    }
    const unsigned flags = present / 2 % 2 != 0 ? header.take(1)[0] : 0;
    if (flags / 16 % 2 != 0) {
        drop_check(reader);
    }
    return flags / 32 % 2 != 0;
}

// The reader stands at the 802.11 header, and then behind the EtherType, which is returned.
unsigned strip_wifi_header(bool padded, Reader& reader) {
    const View control = Reader(reader).take(2);
    const bool data = control[0] % 4 == 0 && control[0] / 4 % 4 == 2 && control[0] / 64 % 2 == 0;
    if (!data || control[1] / 64 % 2 != 0) {
        throw NoKey{KeyOutcome::kNonIp};
    }
    const bool qos = control[0] / 128 != 0;
    const std::size_t before = control[1] % 4 == 3 ? 30 : 24;
    const std::size_t size = before + (qos ? 2 : 0) + (qos && control[1] / 128 != 0 ? 4 : 0);
    const View header = reader.take(padded ? (size + 3) / 4 * 4 : size);
    if (header[22] % 16 != 0 || (qos && header[before] / 128 != 0)) {
        throw NoKey{KeyOutcome::kNonIp};
    }
    const View llc = reader.take(3);
    if (llc[0] != 0xAA || llc[1] != 0xAA || llc[2] != 0x03) {
        throw NoKey{KeyOutcome::kNonIp};
    }
    const View snap = reader.take(5);
    if (snap[0] != 0 || snap[1] != 0 || (snap[2] != 0 && snap[2] != 0xF8)) {
        throw NoKey{KeyOutcome::kNonIp};
    }
    return u16(snap, 3);
}

unsigned strip_link(packet::Link link, Reader& reader) {
    switch (link) {
        case packet::Link::kEthernet:
            return strip_ethernet(reader);
        case packet::Link::kRaw:
            return version_ahead(reader, KeyOutcome::kMalformed);
        case packet::Link::kIpv4:
            return 4;
        case packet::Link::kIpv6:
            return 6;
        case packet::Link::kNull:
            return strip_family(reader, true);
        case packet::Link::kLoop:
            return strip_family(reader, false);
        case packet::Link::kPpp:
            return strip_ppp(reader);
        case packet::Link::kSll:
            return strip_sll(reader);
        case packet::Link::kSll2:
            return strip_sll2(reader);
        case packet::Link::kWifi:
        case packet::Link::kRadiotap:
        case packet::Link::kPpi:
        case packet::Link::kAvs: {
            const bool padded = strip_radio(link, reader);
            const unsigned type = strip_wifi_header(padded, reader);
            return strip_tags(reader, type);
        }
        case packet::Link::kHdlc:
            return strip_hdlc(reader);
        case packet::Link::kFrameRelay:
            return strip_frame_relay(reader);
        case packet::Link::kNflog:
            return strip_nflog(reader);
        case packet::Link::kPppEther:
            return strip_tags(reader, 0x8864);
        case packet::Link::kUnknown:
            break;
    }
    throw NoKey{KeyOutcome::kNonIp};
}

// The IP packet up to its own length, or all there is.
View bounded(unsigned version, View bytes) {
    const std::size_t smallest = version == 4 ? 20 : 40;
    if (bytes.size() < smallest || bytes[0] / 16 != version) {
        throw NoKey{KeyOutcome::kMalformed};
    }
    std::size_t length = 0;
    if (version == 4) {
        const std::size_t header = std::size_t{bytes[0]} % 16 * 4;
        length = u16(bytes, 2) == 0 ? bytes.size() : u16(bytes, 2);
        if (header < 20 || header > bytes.size() || length < header) {
            throw NoKey{KeyOutcome::kMalformed};
        }
    } else {
        const bool open_ended = u16(bytes, 4) == 0 && bytes[6] != 59;
        length = open_ended ? bytes.size() : 40 + u16(bytes, 4);
    }
    return slice(bytes, 0, std::min(length, bytes.size()));
}

// What of a payload can have been there before a shortest frame was padded.
Bytes unpadded(View body) {
    Bytes out(body.begin(), body.end());
    while (body.size() <= 46 && !out.empty() && out.back() == 0) {
        out.pop_back();
    }
    return out;
}

// The reader stands behind an EtherType. Its last one, and what is behind it.
std::pair<unsigned, View> innermost(unsigned type, Reader reader) {
    while (kTags.contains(type)) {
        reader.take(2);
        type = reader.take_u16();
    }
    if (type == 0x8847 || type == 0x8848) {
        while (reader.take(4)[2] % 2 == 0) {
        }
    }
    return {type, reader.rest()};
}

Bytes typed(View address, unsigned type, const Bytes& body) {
    const std::array<std::uint8_t, 2> number{static_cast<std::uint8_t>(type >> 8),
                                             static_cast<std::uint8_t>(type)};
    return joined({address, number, body});
}

Bytes ethernet_key(Reader reader) {
    const View macs = reader.take(12);
    const unsigned first = reader.take_u16();
    const auto [type, body] = innermost(first, reader);
    const bool length = type >= 3 && type <= 1500;
    return typed(
        macs, type,
        length ? joined({body.first(std::min<std::size_t>(type, body.size()))}) : unpadded(body));
}

Bytes cooked_key(Reader reader, bool version_2) {
    const View header = reader.take(version_2 ? 20 : 16);
    const auto [type, body] = innermost(u16(header, version_2 ? 0 : 14), reader);
    return typed(version_2 ? slice(header, 12, 20) : slice(header, 6, 14), type, unpadded(body));
}

Bytes wifi_key(View frame, packet::Link link) {
    Reader reader(frame);
    bool padded = false;
    try {
        padded = strip_radio(link, reader);
    } catch (const NoKey&) {  // PPI around something else
        return joined({Bytes{'?'}, slice(frame, little(frame.subspan(2, 2)), frame.size())});
    }
    const View whole = reader.rest();
    try {
        const unsigned first = strip_wifi_header(padded, reader);
        const auto [type, rest] = innermost(first, reader);
        const bool to = whole[1] % 2 != 0;
        const bool from = whole[1] / 2 % 2 != 0;
        const std::size_t source = !from ? 10 : to ? 24 : 16;
        const std::size_t destination = to ? 16 : 4;
        const Bytes macs =
            joined({slice(whole, destination, destination + 6), slice(whole, source, source + 6)});
        return joined({Bytes{'E'}, typed(macs, type, unpadded(rest))});
    } catch (const NoKey&) {
        const bool old_version = whole[0] % 4 == 0;
        const unsigned type = whole[0] / 4 % 4;
        const bool numbered = type == 0 || (type == 2 && whole[0] / 64 % 2 == 0);
        if (!old_version || !numbered || whole.size() < 24) {
            throw NoKey{KeyOutcome::kNonIp};
        }
        return joined({Bytes{'W'}, whole});
    }
}

Bytes hdlc_key(Reader reader) {
    reader.take(2);
    const unsigned first = reader.take_u16();
    const auto [type, body] = innermost(first, reader);
    return typed({}, type, joined({body}));
}

Bytes non_ip_key(View frame, packet::Link link) {
    switch (link) {
        case packet::Link::kEthernet:
            return joined({Bytes{'E'}, ethernet_key(Reader(frame))});
        case packet::Link::kSll:
        case packet::Link::kSll2:
            return joined({Bytes{'C'}, cooked_key(Reader(frame), link == packet::Link::kSll2)});
        case packet::Link::kPpp: {
            const bool framed = frame[0] == 0xFF && frame[1] == 0x03;
            return joined({Bytes{'P'}, slice(frame, framed ? 2 : 0, frame.size())});
        }
        case packet::Link::kNull:
        case packet::Link::kLoop: {
            const bool swapped = link == packet::Link::kNull && frame[0] != 0;
            return joined(
                {Bytes{'F', swapped ? frame[0] : frame[3]}, slice(frame, 4, frame.size())});
        }
        case packet::Link::kWifi:
        case packet::Link::kRadiotap:
        case packet::Link::kPpi:
        case packet::Link::kAvs:
            return wifi_key(frame, link);
        case packet::Link::kHdlc:
            return joined({Bytes{'H'}, hdlc_key(Reader(frame))});
        case packet::Link::kFrameRelay:
            return joined({Bytes{'R'}, frame});
        case packet::Link::kNflog:
            return joined({Bytes{'N', frame[0]}, slice(frame, 4, frame.size())});
        case packet::Link::kPppEther:
            return joined({Bytes{'E'}, typed(Bytes(12), 0x8864, unpadded(frame))});
        default:
            return joined({Bytes{'?'}, frame});
    }
}

Bytes packet_key(unsigned version, View ip) {
    Bytes masked(ip.begin(), ip.end());
    if (version == 4) {
        for (const std::size_t at : {1, 8, 10, 11}) {
            masked[at] = 0;
        }
    } else {
        masked[0] &= 0xF0;
        masked[1] &= 0x0F;
        masked[7] = 0;
    }
    return masked;
}

struct Transport {
    std::uint8_t protocol;
    bool later_fragment;
    Reader reader;  // at the transport header
};

Transport transport_of_ipv4(View ip) {
    const std::size_t header = std::size_t{ip[0]} % 16 * 4;
    return {ip[9], u16(ip, 6) % 0x2000 != 0, Reader(slice(ip, header, ip.size()))};
}

Transport transport_of_ipv6(View ip) {
    Transport out{ip[6], false, Reader(slice(ip, 40, ip.size()))};
    while (!out.later_fragment) {
        std::size_t more = 0;  // bytes behind the first 8
        if (!kExtensions.contains(out.protocol)) {
            break;
        }
        const View start = out.reader.take(8);
        if (out.protocol == 51) {
            more = std::size_t{start[1]} * 4;
        } else if (out.protocol != 44) {
            more = std::size_t{start[1]} * 8;
        }
        out.later_fragment = out.protocol == 44 && u16(start, 2) / 8 != 0;
        out.reader.take(more);
        out.protocol = start[0];
    }
    return out;
}

Bytes flow_key(unsigned version, View ip, bool both_ways) {
    Transport transport = version == 4 ? transport_of_ipv4(ip) : transport_of_ipv6(ip);
    std::array<View, 2> address{slice(ip, 12, 16), slice(ip, 16, 20)};
    if (version == 6) {
        address = {slice(ip, 8, 24), slice(ip, 24, 40)};
    }
    static constexpr std::array<std::uint8_t, 2> kZero{0, 0};
    std::array<View, 2> port{kZero, kZero};
    if (!transport.later_fragment && kPorted.contains(transport.protocol)) {
        port[0] = transport.reader.take(2);
        port[1] = transport.reader.take(2);
    }
    std::array<Bytes, 2> end{joined({address[0], port[0]}), joined({address[1], port[1]})};
    if (both_ways) {
        std::sort(end.begin(), end.end());
    }
    const std::array<std::uint8_t, 1> protocol{transport.protocol};
    return joined({end[0], end[1], protocol});
}

}  // namespace

ReferenceKey reference_key(packet::KeyMode mode, std::span<const std::uint8_t> frame,
                           packet::Link link) {
    if (mode == packet::KeyMode::kFrame) {
        return {KeyOutcome::kKeyed, {frame.begin(), frame.end()}};
    }
    try {
        Reader reader(frame);
        const unsigned version = strip_link(link, reader);
        const View ip = bounded(version, reader.rest());
        if (mode == packet::KeyMode::kPacket) {
            return {KeyOutcome::kKeyed, packet_key(version, ip)};
        }
        return {KeyOutcome::kKeyed, flow_key(version, ip, mode == packet::KeyMode::kFlowBidir)};
    } catch (const NoKey& reason) {
        return {reason.outcome, {}};
    }
}

ReferenceKey reference_non_ip_key(std::span<const std::uint8_t> frame, packet::Link link) {
    const ReferenceKey ip = reference_key(packet::KeyMode::kPacket, frame, link);
    if (ip.outcome != KeyOutcome::kNonIp) {
        return {ip.outcome, {}};
    }
    try {
        return {KeyOutcome::kKeyed, non_ip_key(frame, link)};
    } catch (const NoKey& reason) {
        return {reason.outcome, {}};
    }
}

}  // namespace unecho::test
