// SPDX-License-Identifier: BSD-3-Clause
#include "config/validate.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "base/humanize.h"
#include "config/fields.h"
#include "config/message_text.h"
#include "config/names.h"
#include "dedup/engines/planning/spec_problems.h"

namespace unecho::config {
namespace {

// The names of all ports, all filters or all routes.
struct Names {
    std::string kind;  // "port"
    std::vector<std::string_view> list;
    std::map<std::string_view, std::size_t> index;  // of the first with that name
    bool complete = true;  // false: a name was unreadable, so an unknown name may be that one
};

template <typename Items>
Names collect_names(Draft& draft, const std::string& kind, const Items& items) {
    Names names;
    names.kind = kind;
    names.complete = draft.sound(kind);
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string& name = items[i].name;
        if (name.empty()) {
            names.complete = false;
            continue;
        }
        const auto [first, fresh] = names.index.emplace(name, i);
        if (fresh) {
            names.list.push_back(name);
        } else {
            draft.report(key_of(kind, i, "name"),
                         fmt::format("{} is the name of {} already", in_quotes(name),
                                     element(kind, first->second)));
        }
    }
    return names;
}

// Return nothing for an unknown name. Report it, unless it may be one that could not be read.
std::optional<std::size_t> look_up(Draft& draft, const Names& names, const std::string& path,
                                   std::string_view name) {
    if (!draft.sound(path)) {
        return std::nullopt;
    }
    if (const auto found = names.index.find(name); found != names.index.end()) {
        return found->second;
    }
    if (names.complete && !names.list.empty()) {
        const std::string hint = suggestion(name, names.list);
        draft.report(path, fmt::format("no {} is named {}{} known: {}", names.kind, in_quotes(name),
                                       hint.empty() ? ";" : hint, list_in_quotes(names.list)));
    }
    draft.distrust(path);
    return std::nullopt;
}

void check_sections(Draft& draft) {
    const auto need = [&draft](const std::string& section, bool present) {
        if (!present && draft.sound(section)) {
            draft.report(section, fmt::format("at least one [[{}]] is needed", section));
        }
    };
    need("port", !draft.config.ports.empty());
    need("filter", !draft.config.filters.empty());
    need("route", !draft.config.routes.empty());
}

void check_port_names(Draft& draft) {
    for (std::size_t i = 0; i < draft.config.ports.size(); ++i) {
        const std::string& name = draft.config.ports[i].name;
        if (name == "drop" || name == "pass") {
            draft.report(key_of("port", i, "name"),
                         in_quotes(name) + " cannot name a port, on_echo gives it a meaning");
        }
    }
}

// Builds the paths of keys in a table: a filter's or a geometry's.
struct Keys {
    Draft& draft;
    std::string table;

    [[nodiscard]] std::string path(std::string_view key) const {
        return std::string(table).append(".").append(key);
    }
    [[nodiscard]] bool given(std::string_view key) const { return draft.given(path(key)); }
    [[nodiscard]] bool sound(std::string_view key) const { return draft.sound(path(key)); }
    void report(std::string_view key, std::string_view message) const {
        draft.report(path(key), message);
    }
};

// Check that each key of a geometry is one that its engine needs or allows.
void check_presence(const Keys& keys, const engines::EngineInfo& engine) {
    const std::string name = in_quotes(engine.name);
    Geometry geometry;
    for (const Field& field : fields_of(geometry)) {
        const bool given = keys.given(field.name);
        if (engine.geometry.needs(field.name) && !given && keys.sound(field.name)) {
            keys.report(field.name, fmt::format("is missing; engine {} needs it", name));
        }
        if (!engine.geometry.takes(field.name) && given) {
            keys.report(field.name, fmt::format("engine {} has none; leave it out", name));
        }
    }
}

void check_blocks(const Keys& keys, const Geometry& geometry) {
    if (!keys.sound("block_bits") || !keys.sound("segment_bits")) {
        return;
    }
    if (geometry.segment_bits % geometry.block_bits != 0) {
        keys.report("segment_bits", fmt::format("{} bits are not a multiple of block_bits, {}",
                                                geometry.segment_bits, geometry.block_bits));
    }
}

void check_fingerprint_bits(const Keys& keys, unsigned bits, const engines::EngineInfo& engine) {
    const auto& choices = engine.geometry.fingerprint_bits;
    if (!keys.sound("fingerprint_bits") || !keys.given("fingerprint_bits") ||
        std::find(choices.begin(), choices.end(), bits) != choices.end()) {
        return;
    }
    std::string allowed;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        allowed += i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ";
        allowed += std::to_string(choices.at(i));
    }
    keys.report("fingerprint_bits", fmt::format("{}; allowed: {}", bits, allowed));
}

void check_geometry(const Keys& filter_keys, const Geometry& geometry, Engine engine) {
    if (!filter_keys.sound("engine") || !filter_keys.sound("geometry")) {
        return;
    }
    for (const std::string_view key : {"rate", "memory"}) {
        if (filter_keys.given(key)) {
            filter_keys.report(key,
                               "cannot stand next to geometry; allowed: either targets (rate, "
                               "memory) or geometry");
        }
    }
    const engines::EngineInfo& info = engines::info_of(engine);
    if (!info.geometry.any()) {
        const auto able = engines::engines_that([](const auto& row) { return row.geometry.any(); });
        return filter_keys.report("geometry", "needs " + engines::alternatives(able, "engine = "));
    }
    const Keys keys{filter_keys.draft, filter_keys.path("geometry")};
    check_presence(keys, info);
    if (const unsigned most = info.geometry.most_k;
        most != 0 && keys.sound("k") && geometry.k > most) {
        keys.report("k", fmt::format("{}; allowed with engine {}: 1 to {}", geometry.k,
                                     in_quotes(info.name), most));
    }
    if (info.geometry.takes("l") && keys.sound("k") && keys.sound("l") &&
        geometry.k + geometry.l > kMostSegments) {
        keys.report("l", fmt::format("k + l is {}; allowed: at most {}", geometry.k + geometry.l,
                                     kMostSegments));
    }
    if (info.geometry.takes("block_bits")) {
        check_blocks(keys, geometry);
    }
    if (info.geometry.takes("fingerprint_bits")) {
        check_fingerprint_bits(keys, geometry.fingerprint_bits, info);
    }
}

void check_classes(const Keys& keys, const Filter& filter) {
    std::map<unsigned, std::size_t> holder;  // by code point
    for (std::size_t i = 0; i < filter.classes.size(); ++i) {
        const TrafficClass& traffic = filter.classes[i];
        const Keys own{keys.draft, element(keys.path("class"), i)};
        if (!own.given("false_drop_cost") && !own.given("leak_cost") &&
            own.sound("false_drop_cost") && own.sound("leak_cost")) {
            keys.draft.report(own.table,
                              "has no cost of its own; needed: false_drop_cost, leak_cost or both");
        }
        for (std::size_t code = 0; own.sound("dscp") && code < traffic.dscp.size(); ++code) {
            const auto [held, fresh] = holder.emplace(traffic.dscp[code], i);
            if (!fresh) {
                keys.draft.report(
                    element(own.path("dscp"), code),
                    fmt::format("{} is in {} already; a code point can be in one class",
                                traffic.dscp[code], element(keys.path("class"), held->second)));
            }
        }
    }
}

// Report fields that contradict each other, unless one they depend on could not be read.
void check_fields(const Keys& keys, const Filter& filter) {
    Filter sample;
    engines::FieldNames source_values;
    for (const Field& field : fields_of(sample)) {
        if (keys.given(field.name)) {
            source_values.push_back(field.name);
        }
    }
    for (const engines::SpecProblem& problem : engines::problems_of(filter, source_values)) {
        if (std::all_of(problem.fields.begin(), problem.fields.end(),
                        [&](std::string_view field) { return keys.sound(field); })) {
            keys.report(problem.fields.front(), problem.what);
        }
    }
}

// Check the requirements on a filter whose flows are shared between sites.
void check_root(const Keys& keys, const Filter& filter, const Run& run) {
    const Keys own{keys.draft, keys.path("root")};
    bool said = false;  // one reason is enough
    const auto need = [&](std::string_view path, bool holds, const std::string& what) {
        if (!said && keys.draft.sound(std::string(path)) && !holds) {
            keys.draft.report(own.table, what);
            said = true;
        }
    };
    need(keys.path("key"), packet::is_flow(filter.key),
         R"(is for flows; it needs key = "flow" or key = "flow-bidir")");
    need(keys.path("first"), filter.first > 1,
         "needs first of 2 or more: the packet for which others are asked is forwarded, so only "
         "later ones can be dropped");
    need(keys.path("window"), filter.window >= kSecond,
         "needs a window of 1s or longer, not " + format_duration(filter.window));
    need(keys.path("non_ip"), filter.non_ip == packet::NonIp::kPass, R"(needs non_ip = "pass")");
    need("run.clock", run.clock == Clock::kTsc,
         R"(needs [run] clock = "tsc": sites share the present)");
    if (own.sound("redis") && filter.root->redis.empty()) {
        own.report("redis", "is empty; allowed: one or more nodes, as \"192.0.2.1:6379\"");
    }
    if (own.sound("user") && filter.root->user && !own.given("password_file")) {
        own.report("user", "needs password_file");
    }
}

void name_roots(Draft& draft) {
    std::map<std::string_view, std::size_t> holder;
    for (std::size_t i = 0; i < draft.config.filters.size(); ++i) {
        Filter& filter = draft.config.filters[i];
        if (!filter.root) {
            continue;
        }
        if (filter.root->name.empty()) {
            filter.root->name = filter.name;
        }
        const auto [held, fresh] = holder.emplace(filter.root->name, i);
        if (!fresh) {
            draft.report(
                key_of("filter", i, "root.name"),
                fmt::format("{} is the name of the root of {} already",
                            in_quotes(filter.root->name), element("filter", held->second)));
        }
    }
}

void check_filters(Draft& draft) {
    for (std::size_t i = 0; i < draft.config.filters.size(); ++i) {
        Filter& filter = draft.config.filters[i];
        const Keys keys{draft, element("filter", i)};
        if (filter.geometry) {
            check_geometry(keys, *filter.geometry, filter.engine);
        } else if (keys.sound("geometry")) {
            if (!filter.rate && !keys.given("rate") && keys.sound("rate")) {
                keys.report("rate",
                            "is missing; without geometry the planned rate is needed, as in "
                            "\"1Mpps\"");
            }
            filter.max_false_drop = filter.max_false_drop.value_or(kDefaultFalseDrop);
        }
        check_classes(keys, filter);
        if (filter.root) {
            check_root(keys, filter, draft.config.run);
        }
        check_fields(keys, filter);
        engines::fill_defaults(filter);
    }
}

// The routes with their names looked up.
struct Resolved {
    std::vector<std::vector<std::size_t>> from;
    std::vector<std::optional<std::size_t>> to;
    std::vector<std::optional<std::size_t>> filter;
    std::map<std::size_t, std::size_t> reader;  // port -> the route that receives from it
    std::vector<bool> port_used;
    std::vector<bool> filter_used;
};

bool contains(const std::vector<std::size_t>& list, std::size_t value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

void resolve_from(Draft& draft, const Names& ports, Resolved& resolved, std::size_t route) {
    const std::vector<std::string>& names = draft.route_names[route].from;
    const std::string list = key_of("route", route, "from");
    if (names.empty() && draft.sound(list)) {
        draft.report(list, "is empty; allowed: one or more port names");
    }
    std::vector<std::size_t>& from = resolved.from[route];
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string path = element(list, i);
        const std::optional<std::size_t> port = look_up(draft, ports, path, names[i]);
        if (!port) {
            continue;
        }
        resolved.port_used[*port] = true;
        const auto [reader, fresh] = resolved.reader.emplace(*port, route);
        if (contains(from, *port)) {
            draft.report(path, in_quotes(names[i]) + " is in the list already");
        } else if (!fresh) {
            draft.report(
                path,
                fmt::format("port {} is read by {} already; a port can be in the from of one route",
                            in_quotes(names[i]), element("route", reader->second)));
        } else {
            from.push_back(*port);
            draft.config.routes[route].from.push_back(static_cast<PortIndex>(*port));
        }
    }
}

void resolve_to(Draft& draft, const Names& ports, Resolved& resolved, std::size_t route) {
    const std::string path = key_of("route", route, "to");
    const std::string& name = draft.route_names[route].to;
    const std::optional<std::size_t> port = look_up(draft, ports, path, name);
    resolved.to[route] = port;
    if (!port) {
        return;
    }
    resolved.port_used[*port] = true;
    draft.config.routes[route].to = static_cast<PortIndex>(*port);
    if (contains(resolved.from[route], *port)) {
        draft.report(path, in_quotes(name) + " is in from as well: its packets would loop");
    }
}

void resolve_filter(Draft& draft, const Names& filters, Resolved& resolved, std::size_t route) {
    const std::optional<std::size_t> filter =
        look_up(draft, filters, key_of("route", route, "filter"), draft.route_names[route].filter);
    resolved.filter[route] = filter;
    if (filter) {
        resolved.filter_used[*filter] = true;
        draft.config.routes[route].filter = static_cast<FilterIndex>(*filter);
    }
}

void resolve_on_echo(Draft& draft, const Names& ports, Resolved& resolved, std::size_t index) {
    Route& route = draft.config.routes[index];
    const std::string& name = draft.route_names[index].on_echo;
    const std::string path = key_of("route", index, "on_echo");
    const auto& named = pipeline::kEchoActionNames;
    if (const auto found = std::find(named.begin(), named.end(), name); found != named.end()) {
        route.on_echo = static_cast<EchoAction>(found - named.begin());
        return;
    }
    Names actions = ports;
    actions.kind = fmt::format("action ({}) or port", list_in_quotes(named));
    actions.list.insert(actions.list.begin(), named.begin(), named.end());
    const std::optional<std::size_t> port = look_up(draft, actions, path, name);
    if (!port) {
        return;
    }
    route.on_echo = EchoAction::kDivert;
    route.divert_to = static_cast<PortIndex>(*port);
    resolved.port_used[*port] = true;
    if (contains(resolved.from[index], *port)) {
        draft.report(path, in_quotes(name) + " is in from as well: its echoes would loop");
    } else if (resolved.to[index] == port) {
        draft.report(path, in_quotes(name) + R"( is where "to" sends all the rest; write "pass")");
    }
}

// A path is of ports of its route.
void resolve_path(Draft& draft, const Names& ports, const Resolved& resolved, std::size_t index) {
    const std::vector<std::string>& names = draft.route_names[index].path;
    const std::string list = key_of("route", index, "path");
    std::vector<PortIndex>& path = draft.config.routes[index].path;
    if (draft.given(list) && draft.sound(list) &&
        (names.size() < 2 || names.size() > kMaxPathPorts)) {
        draft.report(list, fmt::format("has {}; allowed: 2 to {}",
                                       format_quantity(names.size(), "port"), kMaxPathPorts));
        return;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string place = element(list, i);
        const std::optional<std::size_t> port = look_up(draft, ports, place, names[i]);
        if (!port) {
            continue;
        }
        const auto found = static_cast<PortIndex>(*port);
        if (!contains(resolved.from[index], *port)) {
            draft.report(
                place,
                fmt::format("{} is not in from; allowed: ports that this route receives from",
                            in_quotes(names[i])));
        } else if (std::find(path.begin(), path.end(), found) != path.end()) {
            draft.report(place, in_quotes(names[i]) + " is in the list already");
        } else {
            path.push_back(found);
        }
    }
}

Resolved resolve_routes(Draft& draft, const Names& ports, const Names& filters) {
    const std::size_t routes = draft.config.routes.size();
    Resolved resolved;
    resolved.from.resize(routes);
    resolved.to.resize(routes);
    resolved.filter.resize(routes);
    resolved.port_used.resize(draft.config.ports.size());
    resolved.filter_used.resize(draft.config.filters.size());
    for (std::size_t i = 0; i < routes; ++i) {
        resolve_from(draft, ports, resolved, i);
        resolve_to(draft, ports, resolved, i);
        resolve_filter(draft, filters, resolved, i);
        resolve_on_echo(draft, ports, resolved, i);
        resolve_path(draft, ports, resolved, i);
    }
    return resolved;
}

// Return the route of the other direction of a link, from this one's end to its start.
std::optional<std::size_t> way_back(const Resolved& resolved, std::size_t route) {
    for (std::size_t back = 0; resolved.to[route] && back < resolved.to.size(); ++back) {
        if (back != route && resolved.to[back] &&
            contains(resolved.from[back], *resolved.to[route]) &&
            contains(resolved.from[route], *resolved.to[back])) {
            return back;
        }
    }
    return std::nullopt;
}

// On a link, equal packets in two VLANs of a trunk are two packets, so tags are compared. Taps see
// one packet in several VLANs.
void choose_tags(Draft& draft, const Resolved& resolved) {
    for (std::size_t i = 0; i < draft.config.routes.size(); ++i) {
        if (!resolved.filter[i] || !way_back(resolved, i)) {
            continue;
        }
        Filter& filter = draft.config.filters[*resolved.filter[i]];
        const Keys keys{draft, element("filter", *resolved.filter[i])};
        if (!keys.given("tags") && filter.key != packet::KeyMode::kFrame) {
            filter.tags = packet::Tags::kCompare;
        }
    }
}

// Paths are measured by the audit of a filter that compares packets, and one filter knows one path.
void check_paths(Draft& draft, const Resolved& resolved) {
    std::map<std::size_t, std::size_t> holder;  // filter -> the route that states its path
    for (std::size_t i = 0; i < draft.config.routes.size(); ++i) {
        const Keys keys{draft, element("route", i)};
        const std::optional<std::size_t>& filter = resolved.filter[i];
        const bool stated = keys.given("path");
        const bool all = draft.config.routes[i].path_packets == PathPackets::kAll;
        if (all && !stated && keys.sound("path_packets")) {
            keys.report("path_packets",
                        "\"all\" needs path: where it is not stated, the audit finds it for the "
                        "packets of its sample");
        }
        if (all && filter && draft.config.filters[*filter].first != 1 &&
            keys.sound("path_packets")) {
            keys.report("path_packets", fmt::format("\"all\" needs first = 1 in filter {}",
                                                    in_quotes(draft.config.filters[*filter].name)));
        }
        if (!filter || (!stated && !keys.given("max_path_loss") && !keys.given("max_path_delay"))) {
            continue;
        }
        const std::string key = stated                        ? "path"
                                : keys.given("max_path_loss") ? "max_path_loss"
                                                              : "max_path_delay";
        if (!keys.sound(key)) {
            continue;
        }
        const auto [held, fresh] = holder.emplace(*filter, i);
        const Filter& judged = draft.config.filters[*filter];
        const std::optional<Nanoseconds>& delay = draft.config.routes[i].max_path_delay;
        if (delay && *delay > judged.window && keys.sound("max_path_delay")) {
            keys.report(
                "max_path_delay",
                fmt::format("is longer than the window of filter {}, {}: a packet that takes "
                            "longer than that counts as missing",
                            in_quotes(judged.name), format_duration(judged.window)));
        }
        if (!draft.config.audit.enabled) {
            keys.report(key, "needs the audit, which measures paths: audit.enabled = true");
        } else if (packet::is_flow(draft.config.filters[*filter].key)) {
            keys.report(key, fmt::format("filter {} compares flows; paths are measured by filters "
                                         "with key = \"packet\" or \"frame\"",
                                         in_quotes(draft.config.filters[*filter].name)));
        } else if (!fresh) {
            keys.report(key,
                        fmt::format("{} has a path with filter {} already; use a filter of its own",
                                    element("route", held->second),
                                    in_quotes(draft.config.filters[*filter].name)));
        }
    }
}

// A filter that by its nature drops live traffic of a link must be allowed by name.
void check_links(Draft& draft, const Resolved& resolved) {
    for (std::size_t i = 0; i < draft.config.routes.size(); ++i) {
        const Keys keys{draft, element("route", i)};
        const Route& route = draft.config.routes[i];
        const std::optional<std::size_t> back = way_back(resolved, i);
        if (!resolved.filter[i] || !keys.sound("on_echo") || !info_of(route.on_echo).takes_out ||
            !back) {
            continue;
        }
        const Filter& filter = draft.config.filters[*resolved.filter[i]];
        const std::string link = fmt::format("{} and {} make a link, and filter {}", keys.table,
                                             element("route", *back), in_quotes(filter.name));
        if (packet::is_flow(filter.key) && !route.allow_flow_drop_on_link &&
            keys.sound("allow_flow_drop_on_link")) {
            keys.report("on_echo",
                        link +
                            " takes every later packet of a flow out of it: a 5-tuple is not a "
                            "packet's identity. Use key = \"packet\" or on_echo = \"pass\"; if "
                            "live traffic shall lose them, allow_flow_drop_on_link = true");
        }
        if (filter.non_ip == packet::NonIp::kFrame && !route.allow_non_ip_drop_on_link &&
            keys.sound("allow_non_ip_drop_on_link")) {
            keys.report("on_echo",
                        link +
                            " takes equal frames without an IP packet out of it: STP, LLDP, "
                            "CFM, GOOSE and ARP repeat theirs on purpose. Use non_ip = \"pass\" "
                            "or on_echo = \"pass\"; if live traffic shall lose them, "
                            "allow_non_ip_drop_on_link = true");
        }
        const bool drops_repeats =
            filter.repeats == packet::Repeats::kDrop ||
            filter.point.value_or(packet::Point::kPort) != packet::Point::kPort ||
            filter.same_port.value_or(0) != 0;
        if (!packet::is_flow(filter.key) && drops_repeats && !route.allow_repeat_drop_on_link &&
            keys.sound("allow_repeat_drop_on_link")) {
            keys.report("on_echo",
                        link +
                            " takes equal packets without an ID out of it, which may have been "
                            "sent again (IPv6, IPv4 with ID 0). Leave out repeats, point and "
                            "same_port, or use on_echo = \"pass\"; if live traffic shall lose "
                            "them, allow_repeat_drop_on_link = true");
        }
        if (filter.tunnels.any() && !route.allow_tunnel_drop_on_link &&
            keys.sound("allow_tunnel_drop_on_link")) {
            keys.report("on_echo",
                        link +
                            " takes equal packets in other tunnels out of it: a broadcast that "
                            "is sent to each end of an overlay would reach one. Use tunnels = "
                            "\"none\" or on_echo = \"pass\"; if live traffic shall lose them, "
                            "allow_tunnel_drop_on_link = true");
        }
    }
}

// The defaults of repeats depend on the routes. On a link no packet is dropped that does not
// identify its transmission; a single port may mirror both directions.
void settle_repeats(Draft& draft, const Resolved& resolved) {
    for (std::size_t f = 0; f < draft.config.filters.size(); ++f) {
        Filter& filter = draft.config.filters[f];
        const Keys keys{draft, element("filter", f)};
        const bool may_keep = !packet::is_flow(filter.key);
        filter.repeats =
            filter.repeats.value_or(may_keep ? packet::Repeats::kKeep : packet::Repeats::kDrop);
        if (!filter.keeps_repeats()) {
            continue;
        }
        std::size_t ports = 0;
        bool link = false;
        for (std::size_t r = 0; r < resolved.filter.size(); ++r) {
            if (resolved.filter[r] == f) {
                ports += resolved.from[r].size();
                link |= way_back(resolved, r).has_value();
            }
        }
        filter.point = filter.point.value_or(link ? packet::Point::kPort : packet::Point::kLink);
        filter.same_port = filter.same_port.value_or(
            ports == 1 && !link ? std::min(kDefaultSamePort, filter.window) : 0);
        if (keys.sound("same_port") && keys.sound("window") && *filter.same_port > filter.window) {
            keys.report("same_port", fmt::format("{} is longer than the window, {}",
                                                 format_duration(*filter.same_port),
                                                 format_duration(filter.window)));
        }
    }
}

void check_taps(Draft& draft) {
    for (std::size_t i = 0; i < draft.config.routes.size(); ++i) {
        const Keys keys{draft, element("route", i)};
        const bool asked = draft.config.routes[i].report_taps;
        if (!keys.sound("report_taps")) {
            continue;
        }
        for (const char* const key : {"report_window", "report_flows"}) {
            if (!asked && keys.given(key) && keys.sound(key)) {
                keys.report(key, "plans what report_taps counts; it needs report_taps = true");
            }
        }
        const std::size_t taps = draft.route_names[i].from.size();
        if (asked && keys.sound("from") && taps != 2) {
            keys.report("report_taps", fmt::format("tells two taps apart, and from has {}; "
                                                   "allowed: with exactly two ports in from",
                                                   taps));
        }
    }
}

void check_state(Draft& draft) {
    const std::optional<std::string>& dir = draft.config.state.dir;
    if (!dir || !draft.sound("state.dir")) {
        return;
    }
    if (!dir->starts_with('/')) {
        draft.report("state.dir",
                     in_quotes(*dir) +
                         " is not allowed; allowed: an absolute path of a folder in tmpfs or "
                         "hugetlbfs, as \"/run/unecho/state\"");
    }
}

void check_unused(Draft& draft, const Resolved& resolved) {
    bool ports_known = draft.sound("route") && !draft.config.routes.empty();
    bool filters_known = ports_known;
    for (std::size_t i = 0; i < draft.config.routes.size(); ++i) {
        filters_known = filters_known && resolved.filter[i];
        for (const std::string_view key : {"from", "to", "on_echo"}) {
            ports_known = ports_known && draft.sound(key_of("route", i, key));
        }
    }
    const auto report = [&draft](const std::string& kind, std::size_t i, const std::string& name) {
        const std::string path = key_of(kind, i, "name");
        if (draft.sound(path)) {
            draft.report(path, fmt::format("{} {} is used by no route", kind, in_quotes(name)));
        }
    };
    for (std::size_t i = 0; ports_known && i < resolved.port_used.size(); ++i) {
        if (!resolved.port_used[i]) {
            report("port", i, draft.config.ports[i].name);
        }
    }
    for (std::size_t i = 0; filters_known && i < resolved.filter_used.size(); ++i) {
        if (!resolved.filter_used[i]) {
            report("filter", i, draft.config.filters[i].name);
        }
    }
}

}  // namespace

void validate(Draft& draft) {
    check_sections(draft);
    const Names ports = collect_names(draft, "port", draft.config.ports);
    const Names filters = collect_names(draft, "filter", draft.config.filters);
    collect_names(draft, "route", draft.config.routes);
    check_port_names(draft);
    check_run_names(draft);
    check_filters(draft);
    name_roots(draft);
    const Resolved resolved = resolve_routes(draft, ports, filters);
    choose_tags(draft, resolved);
    check_links(draft, resolved);
    check_paths(draft, resolved);
    settle_repeats(draft, resolved);
    check_taps(draft);
    check_state(draft);
    check_unused(draft, resolved);
    name_routes(draft);
    check_devices(draft);
}

}  // namespace unecho::config
