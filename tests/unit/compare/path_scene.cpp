// SPDX-License-Identifier: BSD-3-Clause
#include "unit/compare/path_scene.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>
#include <utility>

#include "support/capture_builder.h"

namespace unecho::compare {
namespace {

using test::Bytes;
using test::PacketSpec;
using test::operator+=;

constexpr std::int64_t kBegin = 1'700'000'000'000'000'000;

struct Shown {
    std::int64_t time;
    Bytes frame;
};

void write(std::vector<Shown> shown, const capture::Folder& folder, std::string_view name) {
    std::stable_sort(shown.begin(), shown.end(),
                     [](const Shown& x, const Shown& y) { return x.time < y.time; });
    const test::PcapSpec pcap{.nanoseconds = true};
    test::CaptureBytes bytes = test::pcap_header(pcap);
    for (const Shown& one : shown) {
        bytes += test::pcap_record(pcap, static_cast<std::uint32_t>(one.time / 1'000'000'000),
                                   static_cast<std::uint32_t>(one.time % 1'000'000'000), one.frame,
                                   static_cast<std::uint32_t>(one.frame.size()));
    }
    folder.put(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

class SceneMaker {
  public:
    explicit SceneMaker(const SceneSpec& spec) : spec_(spec), draw_(spec.seed) {}

    Scene make(const capture::Folder& folder) {
        std::exponential_distribution<double> gap(static_cast<double>(spec_.packets) /
                                                  (spec_.seconds * 1e9));
        double now = 0;
        PacketSpec packet;
        bool forward = true;
        for (std::size_t i = 0; i < spec_.packets; ++i) {
            now += gap(draw_);
            if (i == 0 || !chance(spec_.repeats)) {
                forward = !chance(spec_.back_share);
                packet = next(i, forward);
            }
            const bool inside =
                !spec_.clear_ends || (i >= spec_.packets / 10 && i < spec_.packets * 9 / 10);
            send(packet, kBegin + std::llround(now), forward, inside && chance(spec_.loss));
        }
        write(std::move(a_), folder, "a.pcap");
        write(std::move(b_), folder, "b.pcap");
        return std::move(scene_);
    }

  private:
    bool chance(double share) { return std::uniform_real_distribution<>(0, 1)(draw_) < share; }

    PacketSpec next(std::size_t number, bool forward) {
        PacketSpec out;
        const auto host = static_cast<std::uint32_t>(draw_() % spec_.hosts);
        const auto peer = static_cast<std::uint32_t>(draw_() % spec_.hosts);
        out.version = spec_.version;
        out.source = (forward ? 0x0A000001 : 0x0A010001) + host;
        out.destination = (forward ? 0x0A010001 : 0x0A000001) + peer;
        out.id = static_cast<std::uint16_t>(2 + number % 60'000);
        out.source_port = static_cast<std::uint16_t>(1000 + draw_() % 3);
        out.payload = test::counting(draw_() % 60 + 8);
        for (unsigned i = 0; i < 8; ++i) {
            out.payload[i] = static_cast<std::uint8_t>(number >> 8 * i);
        }
        return out;
    }

    void send(const PacketSpec& packet, std::int64_t time, bool forward, bool lost) {
        TruePath& path = forward ? scene_.there : scene_.back;
        const double extra =
            spec_.jitter == 0 ? 0 : std::exponential_distribution<double>(1 / spec_.jitter)(draw_);
        const std::int64_t delay =
            static_cast<std::int64_t>(forward ? spec_.delay : spec_.delay_back) +
            std::llround(extra);
        PacketSpec nearer = packet;
        nearer.ttl = static_cast<std::uint8_t>(nearer.ttl - (forward ? 0 : spec_.hops));
        PacketSpec farther = packet;
        farther.ttl = static_cast<std::uint8_t>(farther.ttl - (forward ? spec_.hops : 0));
        const std::int64_t at_a = forward ? time : time + delay;
        const std::int64_t at_b = forward ? time + delay : time;
        const bool overlooked = !lost && chance(spec_.overlooked);
        if (forward ? !overlooked : !lost) {
            a_.push_back({at_a, test::build(nearer)});
        }
        if (forward ? !lost : !overlooked) {
            const std::int64_t shown =
                at_b + spec_.offset +
                std::llround(spec_.drift * static_cast<double>(at_b - kBegin));
            const Bytes frame = spec_.at_b ? spec_.at_b(farther) : test::build(farther);
            b_.push_back({shown, frame});
            if (chance(spec_.duplicates)) {
                b_.push_back({shown + 10'000, frame});
                ++scene_.duplicates;
            }
        }
        path.overlooked += overlooked ? 1 : 0;
        path.sent += overlooked ? 0 : 1;
        path.lost += lost ? 1 : 0;
        if (!lost && !overlooked) {
            path.delays.push_back(delay);
        }
    }

    const SceneSpec& spec_;
    std::mt19937_64 draw_;
    std::vector<Shown> a_;
    std::vector<Shown> b_;
    Scene scene_;
};

}  // namespace

Scene make_scene(const SceneSpec& spec, const capture::Folder& folder) {
    return SceneMaker(spec).make(folder);
}

}  // namespace unecho::compare
