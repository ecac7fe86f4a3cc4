// SPDX-License-Identifier: BSD-3-Clause
#include "shape.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace unecho::test {
namespace {

constexpr std::initializer_list<const char*> kEngines = {
    "line", "line", "fingerprint", "apbbf", "apbf", "shbf", "tlbf", "btbf", "exact"};

bool can_doubt(std::string_view engine) {
    return engine != "fingerprint" && engine != "tlbf" && engine != "btbf" && engine != "exact";
}

}  // namespace

Shape Shape::by(Chance& chance) {
    Shape shape;
    shape.workers = static_cast<unsigned>(chance.between(1, 3));
    shape.tx_queues = chance.once_in(2) ? 1 : 4;
    shape.burst = chance.one_of({1U, 4U, 8U, 16U, 21U});
    shape.ring_size = chance.one_of({64U, 64U, 256U});
    shape.engine = chance.one_of(kEngines);
    shape.on_full = chance.one_of({"shrink", "shrink", "doubt"});
    shape.window = chance.between(300, 3000) * kMicrosecond;
    shape.rate = chance.one_of({50'000U, 200'000U, 500'000U});
    shape.bound = chance.one_of({"1e-2", "1e-3", "1e-4"});
    shape.diverts = chance.once_in(3);
    shape.second = chance.once_in(3);
    shape.diverts_second = shape.diverts && chance.once_in(2);
    shape.retry = chance.one_of({Nanoseconds{0}, 2 * kMicrosecond, 20 * kMicrosecond});
    return shape;
}

void Shape::vary_repeats(Chance& chance) {
    compares_frames = chance.once_in(3);
    grouped = chance.once_in(4);
    keeps_repeats = !chance.once_in(5);
    tags = chance.one_of({"ignore", "ignore", "compare", "point"});
    point = chance.one_of({"link", "link", "port", "link-ttl"});
    second_looks = chance.one_of({"doubled", "doubled", "all"});
    same_port =
        chance.one_of({Nanoseconds{0}, 20 * kMicrosecond, 100 * kMicrosecond, 250 * kMicrosecond});
    views = chance.one_of({2U, 2U, 3U, 4U});
    unidentified = chance.one_of({"1", "0.3"});
}

Shape Shape::another(Chance& chance) const {
    Shape out = *this;
    switch (chance.below(6)) {
        case 0:
            out.window = window * chance.between(5, 20) / 10;
            break;
        case 1:
            out.bound = chance.one_of({"1e-2", "1e-3", "1e-4"});
            break;
        case 2:
            out.rate = rate * chance.between(5, 20) / 10;
            break;
        case 3:
            out.second = !second;
            break;
        case 4:
            out.second = true;
            out.diverts_second = diverts && !diverts_second;
            break;
        default:
            out.engine = chance.one_of(kEngines);
            break;
    }
    return out;
}

Shape Shape::other_repeats(Chance& chance) const {
    Shape out = *this;
    switch (chance.below(6)) {
        case 0:
            out.keeps_repeats = !keeps_repeats;
            break;
        case 1:
            out.point =
                std::string_view(point) == "link" ? chance.one_of({"port", "link-ttl"}) : "link";
            break;
        case 4:
            out.second_looks = std::string_view(second_looks) == "all" ? "doubled" : "all";
            break;
        case 2:
            out.same_port = same_port == 0 ? 50 * kMicrosecond : chance.below(2) * same_port / 2;
            break;
        case 3:
            out.views = views == 2 ? 4 : 2;
            break;
        default:
            out.tags = chance.one_of({"ignore", "compare", "point"});
            break;
    }
    return out;
}

std::string Shape::text() const {
    std::string out;
    const char* const names[] = {"a", "b", "tool", "spare"};
    for (unsigned i = 0; i < (diverts ? 4 : 3); ++i) {
        out += "[[port]]\nname = \"" + std::string(names[i]) + "\"\ndevice = \"net_null" +
               std::to_string(i) + "\"\n" + (grouped && i < 2 ? "group = \"lag\"\n" : "");
    }
    out += "[[filter]]\nname = \"f\"\nengine = \"" + std::string(engine) + "\"\nwindow = \"" +
           std::to_string(window) + "ns\"\nrate = \"" + std::to_string(rate) +
           "pps\"\nmax_false_drop = " + bound + "\n";
    out += can_doubt(engine) ? "on_full = \"" + std::string(on_full) + "\"\n" : "";
    out += std::string("non_ip = \"") + (compares_frames ? "frame" : "pass") + "\"\n";
    if (keeps_repeats) {
        out += "repeats = \"keep\"\npoint = \"" + std::string(point) + "\"\nsame_port = \"" +
               std::to_string(std::min(same_port, window)) +
               "ns\"\nviews = " + std::to_string(views) + "\nsecond_looks = \"" + second_looks +
               "\"\nunidentified = " + unidentified + "\ntags = \"" + tags + "\"\n";
    } else {
        out += std::string("repeats = \"drop\"\ntags = \"") +
               (std::string_view(tags) == "compare" ? "compare" : "ignore") + "\"\n";
    }
    const auto route = [&](const std::string& name, const std::string& from, bool spare) {
        out += "[[route]]\nname = \"" + name + "\"\nfrom = [" + from +
               "]\nto = \"tool\"\nfilter = \"f\"\non_echo = \"" + (spare ? "spare" : "drop") +
               "\"\n";
    };
    route("r", second ? "\"a\"" : "\"a\", \"b\"", diverts);
    if (second) {
        route("s", "\"b\"", diverts_second);
    }
    out += "[workers]\nlcores = [";
    for (unsigned w = 0; w < workers; ++w) {
        out += (w == 0 ? "" : ", ") + std::to_string(w);
    }
    out += "]\nring_size = " + std::to_string(ring_size) + "\nburst = " + std::to_string(burst) +
           "\n[run]\nname = \"sim\"\n";
    return out;
}

}  // namespace unecho::test
