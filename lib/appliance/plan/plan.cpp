// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "appliance/eal/lcores.h"
#include "appliance/plan/devices.h"
#include "appliance/plan/rss.h"
#include "appliance/plan/shared_flows_plan.h"
#include "appliance/topology/worker_taps.h"
#include "base/join_text.h"
#include "base/os/user_group.h"
#include "packets/headers.h"

namespace unecho::appliance {
namespace {

// The rotation timer is some tens of microseconds late on an ordinary kernel. For a tick or
// generation shorter than this, that delay is no longer small.
constexpr Nanoseconds kShortTurn = 500 * kMicrosecond;
// On a shared CPU the kernel now and then keeps a thread waiting for some milliseconds.
constexpr Nanoseconds kOrdinaryGap = 10 * kMillisecond;

constexpr std::uint16_t kHeadroom = 128;                  // RTE_PKTMBUF_HEADROOM
constexpr std::uint16_t kStandardRoom = 2048;             // holds any frame of the standard MTU
constexpr std::uint16_t kFrameOverhead = 14 + 4 + 2 * 4;  // Ethernet, FCS, two tags
constexpr std::uint32_t kMinMbufs = 16383;
constexpr std::uint32_t kCachedMbufs = 512;  // per lcore in the pool's cache, rounded up

// Cards hash at most an IPv6 header and the ports behind it; IPv4 headers are shorter.
constexpr std::uint32_t kHashedBytes = packet::kIpv6Header + packet::kPorts;

using Problems = std::vector<config::Problem>;

std::string path(const char* table, std::size_t index, const char* key) {
    return std::string(table) + "[" + std::to_string(index) + "]." + key;
}

// Plan workers (still without queues), the control thread, and DPDK's map of both.
void plan_lcores(const config::Config& config, const Machine& machine, Plan& plan,
                 Problems& problems) {
    if (machine.cpus.empty()) {
        problems.push_back(
            {0, "workers.lcores", "this process may run on no CPU that can be named"});
        return;
    }
    const auto usable = [&](LcoreId cpu, const char* key) {
        if (std::binary_search(machine.cpus.begin(), machine.cpus.end(), cpu)) {
            return;
        }
        (machine.is_other_host ? plan.missing_here : problems)
            .push_back({0, key,
                        fmt::format("CPU {} is not there; this process may use {}", cpu,
                                    join_text(machine.cpus, ", ",
                                              [](LcoreId cpu) { return std::to_string(cpu); }))});
    };
    const std::vector<LcoreId> lcores =
        config.workers.lcores.value_or(std::vector<LcoreId>{machine.cpus.back()});
    for (const LcoreId lcore : lcores) {
        usable(lcore, "workers.lcores");
        plan.workers.push_back({lcore, {}});
    }
    plan.main_cpu = config.control.lcore.value_or(machine.cpus.front());
    usable(plan.main_cpu, "control.lcore");
    plan.main_lcore = eal::main_lcore_for(plan.main_cpu, lcores);
    plan.lcore_map = eal::lcore_map(plan.main_lcore, plan.main_cpu, lcores);
}

// The environment overrides the configuration, so that tests can force every kernel.
void plan_isa(const config::Config& config, const Machine& machine, Plan& plan,
              Problems& problems) {
    const std::string_view configured =
        config::kIsaWishNames.at(static_cast<std::size_t>(config.workers.isa));
    const std::string wanted = machine.isas.forced.value_or(std::string(configured));
    const std::string where = machine.isas.forced ? "UNECHO_ISA" : "workers.isa";
    const Result<filter::Isa> found = machine.isas.of(wanted);
    plan.isa = found ? *found : *machine.isas.of("auto");
    plan.isa_reason = machine.isas.reason(plan.isa, found && wanted != "auto" ? where : "");
    if (found) {
        return;
    }
    const std::string text = found.error().context;
    if (found.error().code == Errc::kUnsupported && machine.is_other_host) {
        plan.missing_here.push_back(
            {0, where, fmt::format("{}; planned with {}", text, filter::name_of(plan.isa))});
    } else {
        problems.push_back({0, where, text});
    }
}

// A start looks for the group itself.
void check_group(const config::Config& config, const Machine& machine, Problems& missing) {
    if (!config.run.telemetry_group || !machine.is_other_host) {
        return;
    }
    const Result<gid_t> found = group_named(*config.run.telemetry_group);
    if (!found) {
        missing.push_back({0, "run.telemetry_group", found.error().context});
    }
}

// Warn if the kernel may interrupt a worker for longer than this filter's window.
std::optional<std::string> note_on_gaps(const std::vector<WorkerPlan>& workers,
                                        const std::vector<LcoreId>& scheduled,
                                        const engines::FilterPlan& filter) {
    for (const WorkerPlan& worker : workers) {
        if (std::find(scheduled.begin(), scheduled.end(), worker.lcore) != scheduled.end()) {
            return fmt::format(
                "filter \"{}\": the kernel may keep a worker from CPU {} for longer than {}; what "
                "waits then is remembered longer (late echoes). Isolate it (isolcpus)",
                filter.name, worker.lcore, format_duration(filter.window));
        }
    }
    return std::nullopt;
}

// Explain why a filter's memory on all workers exceeds the configured memory; nothing if it fits.
std::optional<std::string> why_too_large(const engines::FilterPlan& filter,
                                         const std::optional<std::uint64_t>& allowed,
                                         unsigned workers) {
    const std::uint64_t total = filter.instance_bytes * workers;
    if (!allowed || total <= *allowed) {
        return std::nullopt;
    }
    return fmt::format(
        "{} is too little: {} needs {} on {} worker(s) for this window, rate and max_false_drop{}",
        format_size(*allowed), filter.engine().name, format_size(total), workers,
        filter.repeats
            ? fmt::format(", of it {} for packets without an ID (unidentified)",
                          format_size(filter::UnionRule::bytes(*filter.repeats) * workers))
            : "");
}

// Return how many packets queues, rings and caches can hold at one time.
std::uint64_t mbufs_needed(const config::Workers& wanted, const std::vector<PortPlan>& ports,
                           const std::vector<WorkerPlan>& workers) {
    const std::uint64_t n = workers.size();
    std::uint64_t needed = kCachedMbufs * (n + 1);
    for (const PortPlan& port : ports) {
        needed += std::uint64_t{port.setup.rx_queues} * port.setup.rx_descriptors +
                  std::uint64_t{port.setup.tx_queues} * port.setup.tx_descriptors;
    }
    for (const WorkerPlan& worker : workers) {
        // Packets that a full ring refused wait with their receiver: up to a burst per source.
        needed += n > 1 ? worker.rx.size() * wanted.burst : 0;
    }
    // Between each two workers, in each direction: a ring of packets to decide and one to transmit.
    return needed + 2 * n * (n - 1) * wanted.ring_size;
}

void plan_buffers(const config::Config& config, Plan& plan, Problems& problems) {
    const std::uint64_t workers = plan.workers.size();
    const std::uint64_t least_ring = config.workers.burst * workers;
    if (workers > 1 && config.workers.ring_size < least_ring) {
        problems.push_back(
            {0, "workers.ring_size",
             fmt::format("{} is too small: a ring must take a burst from every worker, at least {}",
                         config.workers.ring_size, std::bit_ceil(least_ring))});
    }
    const std::uint64_t needed = mbufs_needed(config.workers, plan.ports, plan.workers);
    // A pool is most compact with 2^n - 1 buffers.
    const std::uint64_t natural = std::max<std::uint64_t>(kMinMbufs, std::bit_ceil(needed) - 1);
    if (config.run.mbufs && *config.run.mbufs < needed) {
        problems.push_back(
            {0, "run.mbufs",
             fmt::format("{} is too few: the queues and rings hold {}; leave it out for {}",
                         *config.run.mbufs, needed, natural)});
    }
    plan.mbufs = config.run.mbufs.value_or(static_cast<std::uint32_t>(natural));
    std::uint16_t mtu = 0;
    for (const PortPlan& port : plan.ports) {
        mtu = std::max(mtu, port.setup.mtu);
    }
    plan.data_room = static_cast<std::uint16_t>(
        kHeadroom + std::max<unsigned>(kStandardRoom, mtu + kFrameOverhead));
}

// Return true if the facts of all receiving ports come from the devices themselves.
bool probed(const std::vector<PortPlan>& ports) {
    return std::all_of(ports.begin(), ports.end(),
                       [](const PortPlan& port) { return !port.receives || port.facts.probed; });
}

// Plans ports and everything between them: queues, filters, taps.
class Planner {
  public:
    Planner(const config::Config& config, const Machine& machine,
            const std::vector<eal::DeviceInfo>& facts)
        : config_(config), machine_(machine), facts_(facts) {}

    tl::expected<Plan, std::vector<config::Problem>> make() {
        plan_.name = config_.run.name;
        plan_.telemetry_group = config_.run.telemetry_group;
        if (config_.run.clock == config::Clock::kTsc) {
            plan_.state_dir = config_.state.dir;
        }
        check_group(config_, machine_, plan_.missing_here);
        plan_.stall_threshold = config_.run.stall_threshold;
        plan_lcores(config_, machine_, plan_, problems_);
        plan_ports();
        plan_groups();
        plan_routes();
        if (!problems_.empty()) {
            return tl::unexpected(std::move(problems_));
        }
        plan_steering();
        plan_rx();
        plan_tx();
        plan_isa(config_, machine_, plan_, problems_);
        plan_filters();
        plan_all_shared_flows();
        plan_taps();
        plan_audits();
        plan_buffers(config_, plan_, problems_);
        if (!problems_.empty()) {
            return tl::unexpected(std::move(problems_));
        }
        return std::move(plan_);
    }

  private:
    void problem(int line, std::string key, std::string message) {
        problems_.push_back({line, std::move(key), std::move(message)});
    }

    [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(plan_.workers.size()); }

    void plan_ports() {
        for (std::size_t i = 0; i < config_.ports.size(); ++i) {
            const config::Port& port = config_.ports[i];
            PortPlan out;
            out.name = port.name;
            out.device = device_of(port);
            out.facts = facts_[i];
            out.setup.rx_descriptors = port.rx_descriptors;
            out.setup.tx_descriptors = port.tx_descriptors;
            out.setup.mtu = port.mtu;
            out.setup.promiscuous = port.promiscuous;
            if (port.mtu > out.facts.max_mtu) {
                // Another host may have another version of the driver.
                (machine_.is_other_host ? plan_.missing_here : problems_)
                    .push_back({port.line, path("port", i, "mtu"),
                                fmt::format("{} is more than the device can: at most {}", port.mtu,
                                            out.facts.max_mtu)});
            }
            plan_.ports.push_back(std::move(out));
        }
    }

    // The ports of a group, and the two sides of a link, are one point of observation: an equal
    // packet there is a repeat.
    void plan_groups() {
        std::vector<std::size_t> least(plan_.ports.size());
        std::iota(least.begin(), least.end(), 0);
        const auto join = [&](std::size_t a, std::size_t b) {
            const std::size_t from = std::max(least[a], least[b]);
            std::replace(least.begin(), least.end(), from, std::min(least[a], least[b]));
        };
        for (std::size_t i = 0; i < config_.ports.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (!config_.ports[i].group.empty() &&
                    config_.ports[i].group == config_.ports[j].group) {
                    join(i, j);
                }
            }
        }
        for (const config::Route& route : config_.routes) {
            for (const config::Route& back : config_.routes) {
                const bool link = std::count(route.from.begin(), route.from.end(), back.to) != 0 &&
                                  std::count(back.from.begin(), back.from.end(), route.to) != 0;
                if (link && !route.allow_repeat_drop_on_link) {
                    join(route.to, back.to);
                }
            }
        }
        for (std::size_t i = 0; i < plan_.ports.size(); ++i) {
            // planted: rule-ignores-group
            plan_.ports[i].group = static_cast<std::uint32_t>(least[i]);
        }
    }

    void plan_routes() {
        for (const config::Route& route : config_.routes) {
            plan_.routes.push_back({route.from, route.to, route.filter, route.on_echo,
                                    route.divert_to, std::nullopt, route.name});
            for (const PortIndex port : route.from) {
                plan_.ports[port].receives = true;
            }
            plan_.ports[route.to].transmits = true;
            if (names_port(route.on_echo)) {
                plan_.ports[route.divert_to].transmits = true;
            }
        }
    }

    [[nodiscard]] std::string obstacle_to_rss() const {
        if (config_.run.clock == config::Clock::kCapture) {
            return "captures are merged by time on one worker";
        }
        for (const config::Filter& filter : config_.filters) {
            if (filter.tunnels.any()) {
                return "filter \"" + filter.name +
                       "\" keys on packets inside tunnels, and cards hash the headers outside";
            }
            if (filter.key_bytes && *filter.key_bytes < kHashedBytes) {
                return fmt::format(
                    "filter \"{}\" keys on {} bytes, and cards hash the ports behind them",
                    filter.name, *filter.key_bytes);
            }
        }
        return rss_obstacle(plan_.ports, workers());
    }

    void plan_steering() {
        if (workers() == 1) {
            plan_.steering = SteeringMode::kSingle;
            plan_.steering_reason = "one worker sees every packet";
            return;
        }
        const std::string obstacle = obstacle_to_rss();
        if (config_.workers.steering == config::SteeringMode::kRss && !obstacle.empty()) {
            problem(0, "workers.steering",
                    "\"rss\" is not possible: " + obstacle + "; allowed here: \"auto\", \"ring\"");
        }
        if (config_.workers.steering == config::SteeringMode::kRing) {
            plan_.steering = SteeringMode::kRing;
            plan_.steering_reason = "asked for; packets go to their owner through rings";
        } else if (obstacle.empty()) {
            plan_.steering = SteeringMode::kRss;
            plan_.steering_reason =
                "every port hashes with the same symmetric key; what cards hash differently goes "
                "to its owner through rings";
            if (!probed(plan_.ports)) {
                plan_.steering_reason += "; rings for all if a card answers otherwise at start";
            }
        } else {
            plan_.steering = SteeringMode::kRing;
            plan_.steering_reason = obstacle + "; packets go to their owner through rings";
        }
    }

    void plan_rx() {
        std::uint64_t types = ~std::uint64_t{0};
        for (const PortPlan& port : plan_.ports) {
            types &= port.receives ? port.facts.rss_types : types;
        }
        unsigned next = 0;
        for (std::size_t r = 0; r < plan_.routes.size(); ++r) {
            for (const PortIndex index : plan_.routes[r].from) {
                PortPlan& port = plan_.ports[index];
                const config::Port& wanted = config_.ports[index];
                const bool rss = plan_.steering == SteeringMode::kRss;
                const unsigned queues = rss ? workers() : wanted.rx_queues.value_or(1);
                check_queues(index, "rx_queues", wanted.rx_queues, queues, port.facts.max_rx_queues,
                             rss);
                port.setup.rx_queues = static_cast<std::uint16_t>(queues);
                port.setup.rss_types = rss ? types : 0;
                for (QueueId queue = 0; queue < queues; ++queue) {
                    const bool capture = config_.run.clock == config::Clock::kCapture;
                    const unsigned worker = capture ? 0 : rss ? queue : next++ % workers();
                    plan_.workers[worker].rx.push_back({index, queue, static_cast<RouteIndex>(r)});
                }
            }
        }
    }

    void check_queues(std::size_t index, const char* key, const std::optional<std::uint16_t>& asked,
                      unsigned queues, unsigned most, bool rss) {
        const int line = config_.ports[index].line;
        if (rss && asked && *asked != queues) {
            problem(line, path("port", index, key),
                    fmt::format("{} does not fit RSS over {} workers; allowed: {}, or leave it out",
                                *asked, workers(), workers()));
        }
        if (queues > most) {
            problem(line, path("port", index, key),
                    fmt::format("{} is more than the device has: at most {}", queues, most));
        }
    }

    void plan_tx() {
        for (std::size_t i = 0; i < plan_.ports.size(); ++i) {
            PortPlan& port = plan_.ports[i];
            const config::Port& wanted = config_.ports[i];
            const unsigned natural =
                port.transmits ? std::min<unsigned>(workers(), port.facts.max_tx_queues) : 1;
            const unsigned queues = wanted.tx_queues.value_or(natural);
            check_queues(i, "tx_queues", wanted.tx_queues, queues, port.facts.max_tx_queues, false);
            port.setup.tx_queues = static_cast<std::uint16_t>(std::max(queues, 1U));
        }
    }

    void plan_filters() {
        for (std::size_t i = 0; i < config_.filters.size(); ++i) {
            const config::Filter& wanted = config_.filters[i];
            auto planned = engines::plan_filter(
                leaf_of(wanted), {.instances = workers(),
                                  .may_clear = config_.run.clock == config::Clock::kCapture,
                                  .isa = plan_.isa,
                                  .core_cache = machine_.core_cache});
            if (!planned) {
                problem(wanted.line, fmt::format("filter[{}]", i), planned.error().context);
                continue;
            }
            engines::FilterPlan out = std::move(*planned);
            if (auto why = why_too_large(out, wanted.memory, workers())) {
                problem(wanted.line, path("filter", i, "memory"), std::move(*why));
            }
            const bool rotates =
                config_.run.clock == config::Clock::kTsc && out.engine().by_generation;
            if (rotates && out.clock.length < kShortTurn) {
                plan_.notes.push_back(
                    fmt::format("filter \"{}\": a {} of {} is short for the rotation timer; the "
                                "achieved window will be noticeably longer",
                                out.name, out.prediction.phases > 1 ? "tick" : "generation",
                                format_duration(out.clock.length)));
            }
            if (config_.run.clock == config::Clock::kTsc && out.window < kOrdinaryGap) {
                if (auto note = note_on_gaps(plan_.workers, machine_.scheduled, out)) {
                    plan_.notes.push_back(std::move(*note));
                }
            }
            if (!out.key.tunnels.any() && is_fed_by_cards(i)) {
                out.key.checksums = packet::Checksums::kAsTheyAre;
            }
            if (out.key.tunnels.any() && workers() > 1) {
                plan_.notes.push_back("filter \"" + out.name +
                                      "\": packets inside tunnels choose the worker, so those of "
                                      "one tunnel may leave in another order than they came; "
                                      "those of a flow inside do not");
            }
            plan_.filters.push_back(std::move(out));
        }
    }

    // Return true if physical cards receive all packets of this filter. Such packets have complete
    // checksums, so the key need not handle partial ones. Packets from the host, or from virtual
    // machines through a virtual card, may lack them.
    [[nodiscard]] bool is_fed_by_cards(std::size_t filter) const {
        constexpr std::array<std::string_view, 6> kVirtual{
            "net_virtio", "net_vmxnet3", "net_netvsc", "net_failsafe", "net_ena", "net_gve"};
        return std::all_of(
            config_.routes.begin(), config_.routes.end(), [&](const config::Route& route) {
                return route.filter != filter ||
                       std::all_of(route.from.begin(), route.from.end(), [&](PortIndex port) {
                           const PortPlan& of = plan_.ports[port];
                           return of.device.is_pci() &&
                                  std::find(kVirtual.begin(), kVirtual.end(), of.facts.driver) ==
                                      kVirtual.end();
                       });
            });
    }

    // The filter gets half of max_false_drop, and the shared flow store the other half.
    [[nodiscard]] static engines::FilterSpec leaf_of(const config::Filter& wanted) {
        engines::FilterSpec leaf = wanted;
        if (wanted.root && leaf.max_false_drop) {
            *leaf.max_false_drop /= 2;
        }
        return leaf;
    }

    void plan_all_shared_flows() {
        plan_.roots.resize(config_.filters.size());
        for (std::size_t i = 0; i < config_.filters.size(); ++i) {
            if (!config_.filters[i].root) {
                continue;
            }
            SharedFlowsProblem found;
            std::vector<std::string> missing;
            if (auto plan =
                    plan_shared_flows(config_.filters[i], machine_.is_other_host, missing, found)) {
                plan_.roots[i] = std::move(plan);
                for (std::string& what : missing) {
                    plan_.missing_here.push_back(
                        {config_.filters[i].line, path("filter", i, "root"), std::move(what)});
                }
            } else {
                problem(config_.filters[i].line, path("filter", i, ("root" + found.key).c_str()),
                        found.what);
            }
        }
    }

    void plan_taps() {
        for (std::size_t i = 0; i < config_.routes.size(); ++i) {
            const config::Route& wanted = config_.routes[i];
            if (!wanted.report_taps) {
                continue;
            }
            TapPlan out;
            out.window = wanted.report_window.value_or(config_.filters[wanted.filter].window);
            out.flows = wanted.report_flows.value_or(config::kDefaultReportFlows);
            const auto sized = sizing::size_tap_report(static_cast<std::uint64_t>(
                std::ceil(static_cast<double>(out.flows) * engines::share_of(workers()))));
            if (sized) {
                out.geometry = *sized;
            }
            const auto bytes = sized ? bytes_of(out) : tl::unexpected(sized.error());
            if (!bytes) {
                problem(wanted.line, path("route", i, "report_flows"), bytes.error().context);
                continue;
            }
            out.instance_bytes = *bytes;
            plan_.routes[i].taps = out;
        }
    }

    void plan_audits() {
        plan_.audit = config_.audit;
        for (std::size_t i = 0; config_.audit.enabled && i < plan_.filters.size(); ++i) {
            const auto params = engines::plan_audit(config_.audit, plan_.filters[i], audit_of(), 1);
            if (!params) {
                problem(0, "audit.memory",
                        fmt::format("filter \"{}\": {}", plan_.filters[i].name,
                                    params.error().context));
                continue;
            }
            plan_.audits.push_back(
                {filter::Audit::bytes(*params), params->entries(), params->spec().bits});
            plan_.paths.push_back(plan_paths(i, params->spec()));
        }
    }

    // The ports of a point must follow one another.
    template <typename Add>
    void add_stated(const config::Route& route, const std::vector<std::uint32_t>& groups, Add add) {
        for (std::size_t i = 0; i < route.path.size(); ++i) {
            const std::uint32_t group = plan_.ports[route.path[i]].group;
            const auto found = std::find(groups.begin(), groups.end(), group);
            if (found != groups.end() && found + 1 != groups.end()) {
                problem(
                    route.line,
                    path("route", static_cast<std::size_t>(&route - config_.routes.data()), "path"),
                    fmt::format("comes to the point of port \"{}\" twice; ports of one group are "
                                "one point",
                                plan_.ports[route.path[i]].name));
            }
            add(route.path[i]);
        }
    }

    void check_all_packets(std::size_t filter) {
        const engines::FilterPlan& planned = plan_.filters[filter];
        const bool exact = engines::engine_of(planned.geometry) == engines::Engine::kExact;
        for (std::size_t i = 0; i < config_.routes.size(); ++i) {
            const config::Route& route = config_.routes[i];
            if (route.filter != filter || route.path_packets != config::PathPackets::kAll ||
                (exact && planned.policy == engines::Policy::kFixed)) {
                continue;
            }
            problem(route.line, path("route", i, "path_packets"),
                    fmt::format("\"all\" needs a filter with engine = \"exact\" and policy = "
                                "\"fixed\", which remembers each packet for one window; filter "
                                "\"{}\" is another",
                                planned.name));
        }
    }

    // Refuse keys that ask for a path: it needs two points.
    void refuse_path_of_one_point(std::size_t filter) {
        for (std::size_t i = 0; i < config_.routes.size(); ++i) {
            const config::Route& route = config_.routes[i];
            if (route.filter != filter) {
                continue;
            }
            const char* const key = !route.path.empty()    ? "path"
                                    : route.max_path_loss  ? "max_path_loss"
                                    : route.max_path_delay ? "max_path_delay"
                                                           : nullptr;
            if (key != nullptr) {
                problem(route.line, path("route", i, key),
                        fmt::format("filter \"{}\" has one point of observation, and a path needs "
                                    "two: ports of one group, and the two sides of a link, are one",
                                    plan_.filters[filter].name));
            }
        }
    }

    // Paths lead between the points of observation of a filter that compares packets.
    std::optional<engines::PathPlan> plan_paths(std::size_t filter,
                                                const filter::AuditSpec& audit) {
        engines::PathPlan out;
        out.spec.point_of.fill(pipeline::PathSpec::kNoPoint);
        std::vector<std::uint32_t> groups;
        const auto place_of = [&](PortIndex port) {
            return std::find(groups.begin(), groups.end(), plan_.ports[port].group);
        };
        const auto add = [&](PortIndex port) {
            const std::uint32_t group = plan_.ports[port].group;
            const auto found = place_of(port);
            out.spec.point_of[port] = static_cast<std::uint8_t>(found - groups.begin());
            if (found == groups.end()) {
                groups.push_back(group);
                const std::string& named = config_.ports[port].group;
                out.points.push_back(named.empty() ? plan_.ports[port].name : named);
            }
        };
        for (const config::Route& route : config_.routes) {
            if (route.filter == filter && !route.path.empty()) {
                out.spec.stated = true;
                out.spec.all = route.path_packets == config::PathPackets::kAll;
                add_stated(route, groups, add);
            }
        }
        for (const config::Route& route : config_.routes) {
            if (route.filter != filter) {
                continue;
            }
            // A stated path has the other ports of its points, too.
            for (const PortIndex port : route.from) {
                if (!out.spec.stated || place_of(port) != groups.end()) {
                    add(port);
                }
            }
            if (route.max_path_loss || route.max_path_delay || !route.path.empty()) {
                out.max_loss = route.max_path_loss;
                out.max_delay = route.max_path_delay;
            }
        }
        if (packet::is_flow(plan_.filters[filter].key.mode) || groups.size() < 2) {
            refuse_path_of_one_point(filter);
            return std::nullopt;
        }
        if (groups.size() > pipeline::kMaxPathPoints) {
            if (out.max_loss || out.max_delay) {
                problem(0, "route.path",
                        fmt::format(
                            "is missing: max_path_loss and max_path_delay need paths between "
                            "at most {} points, and filter \"{}\" has {}",
                            pipeline::kMaxPathPoints, plan_.filters[filter].name, groups.size()));
            }
            plan_.notes.push_back(fmt::format(
                "the paths between the {} points of filter \"{}\" are not measured: at most {}; "
                "state one with [route] path",
                groups.size(), plan_.filters[filter].name, pipeline::kMaxPathPoints));
            return std::nullopt;
        }
        if (out.spec.all) {
            check_all_packets(filter);
        }
        out.spec.points = static_cast<unsigned>(groups.size());
        out.spec.window = plan_.filters[filter].window;
        out.spec.late = out.max_delay.value_or(out.spec.late);
        out.spec.memory = config_.audit.memory;
        out.spec.looks_per_second = audit.samples_per_second;
        out.spec.bits = audit.bits;
        return out;
    }

    [[nodiscard]] engines::AuditOf audit_of() const {
        return config_.run.clock == config::Clock::kCapture ? engines::AuditOf::kCapture
                                                            : engines::AuditOf::kLive;
    }

    const config::Config& config_;
    const Machine& machine_;
    const std::vector<eal::DeviceInfo>& facts_;
    Plan plan_;
    Problems problems_;
};

}  // namespace

PlanResult make_plan(const config::Config& config, const Machine& machine,
                     const std::vector<eal::DeviceInfo>& facts) {
    return Planner(config, machine, facts).make();
}

}  // namespace unecho::appliance
