// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/planning/spec_problems.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/humanize.h"
#include "packets/keys/key_spec.h"

namespace unecho::engines {
namespace {

std::string short_number(double value) {
    return format_number("%g", value);
}

std::string from_to(unsigned least, unsigned most) {
    return fmt::format("{} to {}", least, most);
}

std::string_view name_of(OnFull value) {
    return kOnFullNames.at(static_cast<std::size_t>(value));
}

std::string flow_keys() {
    std::vector<std::string_view> names;
    for (unsigned i = 0; i < packet::kKeyModes; ++i) {
        if (const auto key = static_cast<packet::KeyMode>(i); packet::is_flow(key)) {
            names.push_back(name_of(key));
        }
    }
    return "counts packets of a flow; it needs key " + alternatives(names, "");
}

std::string on_full_names(const OnFullChoice& choice) {
    std::vector<std::string_view> names;
    for (unsigned i = 0; i < choice.count; ++i) {
        names.push_back(name_of(choice.list.at(i)));
    }
    return alternatives(names, "");
}

class Checks {
  public:
    Checks(FilterSpec spec, const FieldNames& written) : spec_(std::move(spec)), written_(written) {
        fill_defaults(spec_);
    }

    std::vector<SpecProblem> all() && {
        check_ranges();
        check_first();
        check_repeats();
        check_counting();
        check_non_ip();
        check_tags();
        check_tunnels();
        check_key_bytes();
        check_costs();
        check_rule();
        check_on_full();
        return std::move(found_);
    }

  private:
    [[nodiscard]] const EngineInfo& engine() const { return info_of(spec_.engine); }
    [[nodiscard]] std::string engine_text() const { return "engine " + in_quotes(engine().name); }
    [[nodiscard]] bool written(std::string_view field) const {
        return std::find(written_.begin(), written_.end(), field) != written_.end();
    }
    void report(FieldNames fields, std::string what) {
        found_.push_back({std::move(fields), std::move(what)});
    }

    void check_ranges() {
        if (spec_.first < 1 || spec_.first > kMaxFirst) {
            report({"first"}, fmt::format("{}; allowed: {}", spec_.first, from_to(1, kMaxFirst)));
        }
        if (spec_.max_false_drop && !is_false_drop(*spec_.max_false_drop)) {
            report({"max_false_drop"},
                   fmt::format("{}; allowed: {}", short_number(*spec_.max_false_drop),
                               false_drops_allowed()));
        }
    }

    // A flow key does not identify a packet, so it cannot distinguish repeats from copies.
    void check_repeats() {
        const bool flows = packet::is_flow(spec_.key);
        if (flows && spec_.keeps_repeats()) {
            report({"repeats", "key"},
                   fmt::format("\"keep\" tells packets apart, and key {} names flows; leave it out",
                               in_quotes(name_of(spec_.key))));
        }
        if (spec_.tags == packet::Tags::kPoint &&
            (flows || spec_.repeats == packet::Repeats::kDrop)) {
            report({"tags", "repeats", "key"},
                   "\"point\" says how repeats are told from copies; it needs repeats \"keep\" and "
                   "no key of flows");
        }
        for (const std::string_view field :
             {"point", "same_port", "views", "second_looks", "unidentified"}) {
            if (written(field) && (flows || spec_.repeats == packet::Repeats::kDrop)) {
                report({field, "repeats", "key"},
                       "says how repeats are told from copies; it needs repeats \"keep\" and no "
                       "key of flows");
            }
        }
    }

    void check_first() {
        if ((spec_.first > 1 || written("first")) && !packet::is_flow(spec_.key)) {
            report({"first", "key"}, flow_keys());
        }
    }

    // An engine that counts packets of flows serves no other purpose.
    void check_counting() {
        if (!engine().counts_packets) {
            return;
        }
        if (!packet::is_flow(spec_.key)) {
            return report({"engine", "key", "first"}, in_quotes(engine().name) + " " + flow_keys());
        }
        if (spec_.first < engine().least_first || spec_.first > engine().most_first) {
            const bool first = written("first");
            report({first ? "first" : "engine", first ? "engine" : "first", "key"},
                   fmt::format("{} counts packets of a flow; allowed: first from {}", engine_text(),
                               from_to(engine().least_first, engine().most_first)));
        }
    }

    // Frames without an IP packet are compared one by one.
    void check_non_ip() {
        const bool frames = spec_.non_ip == packet::NonIp::kFrame;
        if (spec_.key == packet::KeyMode::kFrame) {
            if (frames || written("non_ip")) {
                report({"non_ip", "key"},
                       fmt::format("key {} compares every frame by all of its bytes; leave it out",
                                   in_quotes(name_of(spec_.key))));
            }
        } else if (frames && spec_.first > 1) {
            report({"non_ip", "key", "first"}, "compares frames one by one, and first lets " +
                                                   std::to_string(spec_.first) +
                                                   R"( of each pass; allowed: "pass", or first 1)");
        }
    }

    void check_tags() {
        if (spec_.key == packet::KeyMode::kFrame && written("tags")) {
            report({"tags", "key"}, "key " + in_quotes(name_of(spec_.key)) +
                                        " compares every frame by all of its bytes, tags too; "
                                        "leave it out");
        }
    }

    void check_tunnels() {
        const bool frames = spec_.key == packet::KeyMode::kFrame;
        if (frames && (spec_.tunnels.any() || written("tunnels"))) {
            return report({"tunnels", "key"},
                          fmt::format("key {} compares every frame by all of its bytes, those of "
                                      "its tunnels too; leave it out",
                                      in_quotes(name_of(spec_.key))));
        }
        if (written("vxlan_ports") && !spec_.tunnels.has(packet::Encapsulation::kVxlan)) {
            report({"vxlan_ports", "tunnels"},
                   R"(say where else VXLAN is looked for; they need "vxlan" among tunnels, )"
                   R"(or tunnels "all")");
        }
        for (const std::uint16_t port : spec_.vxlan_ports) {
            if (packet::Tunnels::is_taken(port)) {
                report({"vxlan_ports"}, std::to_string(port) +
                                            " is a port of the encapsulations already; leave it "
                                            "out");
            }
        }
        if (written("tenant") && !spec_.tunnels.any()) {
            report({"tenant", "tunnels"},
                   "says whether the identifier of a tunnel counts; it needs tunnels");
        }
    }

    void check_key_bytes() {
        if (!spec_.key_bytes) {
            return;
        }
        if (spec_.key != packet::KeyMode::kPacket) {
            report({"key_bytes", "key"},
                   fmt::format("is how much of a packet counts; it needs key {}{}",
                               in_quotes(name_of(packet::KeyMode::kPacket)),
                               packet::is_flow(spec_.key)
                                   ? ": a flow is no more than addresses and ports"
                                   : ": a frame counts whole"));
        } else if (*spec_.key_bytes < packet::kMinKeyBytes ||
                   *spec_.key_bytes > packet::kMaxKeyBytes) {
            report({"key_bytes"}, fmt::format("{}; allowed: {}", *spec_.key_bytes,
                                              from_to(packet::kMinKeyBytes, packet::kMaxKeyBytes)));
        }
    }

    // Costs of mistakes matter to rule "penalty" alone.
    void check_costs() {
        for (const std::string_view field : {"false_drop_cost", "leak_cost", "class"}) {
            if (spec_.rule != Rule::kPenalty && written(field)) {
                report({field, "rule"}, R"(is weighed by rule "penalty" alone; leave it out, or )"
                                        "use that");
            }
        }
    }

    void check_rule() {
        if (spec_.rule != Rule::kMatch && !engine().estimates_chance) {
            const auto able = engines_that([](const auto& row) { return row.estimates_chance; });
            report({"rule", "engine", "max_false_drop"},
                   engine_text() +
                       (spec_.engine == Engine::kExact ? " knows every match for certain"
                                                       : " cannot judge a match") +
                       R"(; allowed: "match", or with engine )" + alternatives(able, "") +
                       R"( "bound" and "penalty")");
        } else if (spec_.rule == Rule::kBound && !spec_.max_false_drop) {
            report({"rule", "engine", "max_false_drop"},
                   R"("bound" next to a geometry needs max_false_drop)");
        }
    }

    void check_on_full() {
        if (!spec_.on_full) {
            return;
        }
        const OnFullChoice& choice = engine().on_full;
        FieldNames fields{"on_full", "engine", "rule", "max_false_drop", "geometry"};
        if (choice.count == 0) {
            return report(fields, engine_text() +
                                      " forgets its oldest packet when it is full; leave on_full "
                                      "out");
        }
        if (!choice.contains(*spec_.on_full)) {
            return report(fields, fmt::format("{} is not what {} can; allowed with it: {}",
                                              in_quotes(name_of(*spec_.on_full)), engine_text(),
                                              on_full_names(choice)));
        }
        if (spec_.geometry && !spec_.max_false_drop) {
            return report(fields,
                          "next to a geometry needs max_false_drop, which says when the filter is "
                          "full");
        }
        if (spec_.on_full == OnFull::kDoubt && spec_.rule == Rule::kMatch) {
            report(fields, R"("doubt" forwards matches that may be accidents, and rule "match" )"
                           R"(takes none for one; allowed with it: "shrink")");
        }
    }

    FilterSpec spec_;
    const FieldNames& written_;
    std::vector<SpecProblem> found_;
};

}  // namespace

void fill_defaults(FilterSpec& spec) {
    const EngineInfo& engine = info_of(spec.engine);
    if (!spec.rule) {
        spec.rule = engine.estimates_chance && spec.max_false_drop ? Rule::kBound : Rule::kMatch;
    }
    if (!spec.on_full && engine.on_full.count != 0 && spec.max_false_drop) {
        spec.on_full = engine.on_full.list[0];
    }
}

std::vector<SpecProblem> problems_of(const FilterSpec& spec, const FieldNames& written) {
    return Checks(spec, written).all();
}

bool is_false_drop(double value) {
    return value > 0 && value <= kMostFalseDrop;
}

std::string false_drops_allowed() {
    return fmt::format("above 0 up to {}, as in {}", short_number(kMostFalseDrop),
                       kDefaultFalseDropText);
}

std::string alternatives(std::span<const std::string_view> names, const std::string& before) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + before + in_quotes(names[i]);
    }
    return text;
}

}  // namespace unecho::engines
