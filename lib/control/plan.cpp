// SPDX-License-Identifier: BSD-3-Clause
#include "control/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <utility>

#include "control/devices.h"
#include "control/worker_taps.h"
#include "eal/lcores.h"

namespace unecho::control {
namespace {

// A rotation timer on an ordinary kernel is some tens of microseconds late; below this length of
// what it turns, a tick or a generation, that is no longer small.
constexpr Nanoseconds kShortTurn = 500 * kMicrosecond;
// A thread on a CPU with others is kept waiting for some milliseconds now and then.
constexpr Nanoseconds kOrdinaryGap = 10 * kMillisecond;

constexpr std::uint16_t kHeadroom = 128;                  // RTE_PKTMBUF_HEADROOM
constexpr std::uint16_t kStandardRoom = 2048;             // holds any frame of the standard MTU
constexpr std::uint16_t kFrameOverhead = 14 + 4 + 2 * 4;  // Ethernet, FCS, two tags
constexpr std::uint32_t kLeastMbufs = 16383;
constexpr std::uint32_t kCachedMbufs = 512;  // per lcore in the pool's cache, rounded up

class Planner {
  public:
    Planner(const config::Config& config, const Machine& machine,
            const std::vector<eal::DeviceFacts>& facts)
        : config_(config), machine_(machine), facts_(facts) {}

    tl::expected<Plan, std::vector<config::Problem>> make() {
        plan_lcores();
        plan_ports();
        plan_routes();
        if (!problems_.empty()) {
            return tl::unexpected(std::move(problems_));
        }
        plan_steering();
        plan_rx();
        plan_tx();
        plan_isa();
        plan_filters();
        plan_taps();
        plan_buffers();
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

    [[nodiscard]] static std::string path(const char* table, std::size_t index, const char* key) {
        return std::string(table) + "[" + std::to_string(index) + "]." + key;
    }

    void plan_lcores() {
        if (machine_.cpus.empty()) {
            problem(0, "workers.lcores", "this process may run on no CPU that can be named");
            return;
        }
        std::string available;
        for (const LcoreId cpu : machine_.cpus) {
            available += (available.empty() ? "" : ", ") + std::to_string(cpu);
        }
        const auto usable = [&](LcoreId cpu, const char* key) {
            if (std::binary_search(machine_.cpus.begin(), machine_.cpus.end(), cpu)) {
                return;
            }
            const std::string message =
                "CPU " + std::to_string(cpu) + " is not there; this process may use " + available;
            if (machine_.may_differ) {
                plan_.notes.push_back(std::string(key) + ": " + message);
            } else {
                problem(0, key, message);
            }
        };
        const std::vector<LcoreId> lcores =
            config_.workers.lcores.value_or(std::vector<LcoreId>{machine_.cpus.back()});
        for (const LcoreId lcore : lcores) {
            usable(lcore, "workers.lcores");
            plan_.workers.push_back({lcore, {}});
        }
        plan_.main_cpu = config_.control.lcore.value_or(machine_.cpus.front());
        usable(plan_.main_cpu, "control.lcore");
        plan_.main_lcore = eal::main_lcore_for(plan_.main_cpu, lcores);
        plan_.lcore_map = eal::lcore_map(plan_.main_lcore, plan_.main_cpu, lcores);
    }

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
                problem(port.line, path("port", i, "mtu"),
                        std::to_string(port.mtu) + " is more than the device can: at most " +
                            std::to_string(out.facts.max_mtu));
            }
            plan_.ports.push_back(std::move(out));
        }
    }

    void plan_routes() {
        for (const config::Route& route : config_.routes) {
            plan_.routes.push_back(
                {route.from, route.to, route.filter, route.on_echo, route.divert_to});
            for (const PortIndex port : route.from) {
                plan_.ports[port].receives = true;
            }
            plan_.ports[route.to].transmits = true;
            if (route.on_echo == config::EchoAction::kDivert) {
                plan_.ports[route.divert_to].transmits = true;
            }
        }
    }

    // Why RSS cannot bring all copies of a key to one worker; empty if it can.
    [[nodiscard]] std::string obstacle_to_rss() const {
        std::uint64_t types = ~std::uint64_t{0};
        std::uint16_t reta = 0;
        std::string driver;
        for (const PortPlan& port : plan_.ports) {
            if (!port.receives) {
                continue;
            }
            const std::string who = "port \"" + port.name + "\" (" + port.facts.driver + ")";
            if (!port.facts.rss_refused.empty()) {
                return port.facts.rss_refused;
            }
            if (!port.facts.rss()) {
                return who + " does not hash packets over queues";
            }
            if (port.facts.max_rx_queues < workers()) {
                return who + " has " + std::to_string(port.facts.max_rx_queues) +
                       " rx queues for " + std::to_string(workers()) + " workers";
            }
            if (!driver.empty() && driver != port.facts.driver) {
                return who + " and a port of " + driver +
                       " may mean different things by the same packet types";
            }
            driver = port.facts.driver;
            types &= port.facts.rss_types;
            if (reta != 0 && reta != port.facts.reta_size && !std::has_single_bit(workers())) {
                return "the ports' redirection tables differ in size and the number of workers is "
                       "no power of two";
            }
            reta = port.facts.reta_size;
        }
        return types == 0 ? "the ports have no packet type in common that they hash by" : "";
    }

    [[nodiscard]] bool probed() const {
        return std::all_of(plan_.ports.begin(), plan_.ports.end(), [](const PortPlan& port) {
            return !port.receives || port.facts.probed;
        });
    }

    void plan_steering() {
        if (workers() == 1) {
            plan_.steering = Steering::kSingle;
            plan_.steering_reason = "one worker sees every packet";
            return;
        }
        const std::string obstacle = config_.run.clock == config::Clock::kCapture
                                         ? "captures are merged by time on one worker"
                                         : obstacle_to_rss();
        if (config_.workers.steering == config::Steering::kRss && !obstacle.empty()) {
            problem(0, "workers.steering",
                    "\"rss\" is not possible: " + obstacle + "; allowed here: \"auto\", \"ring\"");
        }
        if (config_.workers.steering == config::Steering::kRing) {
            plan_.steering = Steering::kRing;
            plan_.steering_reason = "asked for; packets go to their owner through rings";
        } else if (obstacle.empty()) {
            plan_.steering = Steering::kRss;
            plan_.steering_reason =
                "every port hashes with the same symmetric key; what cards hash differently goes "
                "to its owner through rings";
            if (!probed()) {
                plan_.steering_reason += "; rings for all if a card answers otherwise at start";
            }
        } else {
            plan_.steering = Steering::kRing;
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
                const bool rss = plan_.steering == Steering::kRss;
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
                    std::to_string(*asked) + " does not fit RSS over " + std::to_string(workers()) +
                        " workers; allowed: " + std::to_string(workers()) + ", or leave it out");
        }
        if (queues > most) {
            problem(line, path("port", index, key),
                    std::to_string(queues) + " is more than the device has: at most " +
                        std::to_string(most));
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

    // The environment wins over the configuration, so that tests can force every kernel.
    void plan_isa() {
        const std::string_view configured =
            config::kIsaWishNames.at(static_cast<std::size_t>(config_.workers.isa));
        const std::string wanted = machine_.isas.forced.value_or(std::string(configured));
        const std::string where = machine_.isas.forced ? "UNECHO_ISA" : "workers.isa";
        const Result<filter::Isa> found = machine_.isas.of(wanted);
        plan_.isa = found ? *found : machine_.isas.widest;
        if (found) {
            return;
        }
        const std::string text = found.error().context;
        if (found.error().code == Errc::kUnsupported && machine_.may_differ) {
            plan_.notes.push_back(where + ": " + text + "; planned with " +
                                  std::string(filter::name_of(plan_.isa)));
            return;
        }
        problem(0, where, text);
    }

    void plan_filters() {
        for (std::size_t i = 0; i < config_.filters.size(); ++i) {
            const config::Filter& wanted = config_.filters[i];
            auto planned = engines::plan_filter(
                wanted, {.instances = workers(),
                         .may_clear = config_.run.clock == config::Clock::kCapture,
                         .isa = plan_.isa});
            if (!planned) {
                problem(wanted.line, "filter[" + std::to_string(i) + "]", planned.error().context);
                continue;
            }
            engines::FilterPlan out = std::move(*planned);
            check_memory(i, out);
            const bool rotates =
                config_.run.clock == config::Clock::kTsc && out.engine().by_generation;
            if (rotates && out.clock.length < kShortTurn) {
                plan_.notes.push_back("filter \"" + out.name + "\": a " +
                                      (out.prediction.phases > 1 ? "tick" : "generation") + " of " +
                                      format_duration(out.clock.length) +
                                      " is short for the rotation timer; the achieved window will "
                                      "be noticeably longer");
            }
            if (config_.run.clock == config::Clock::kTsc && out.window < kOrdinaryGap) {
                note_gaps(out);
            }
            plan_.filters.push_back(std::move(out));
        }
    }

    void note_gaps(const engines::FilterPlan& filter) {
        const std::vector<LcoreId>& others = machine_.scheduled;
        for (const WorkerPlan& worker : plan_.workers) {
            if (std::find(others.begin(), others.end(), worker.lcore) != others.end()) {
                plan_.notes.push_back(
                    "filter \"" + filter.name + "\": the kernel may keep a worker from CPU " +
                    std::to_string(worker.lcore) + " for longer than " +
                    format_duration(filter.window) +
                    "; what waits then is remembered longer (late echoes). Isolate it (isolcpus)");
                return;
            }
        }
    }

    void check_memory(std::size_t index, const engines::FilterPlan& out) {
        const config::Filter& wanted = config_.filters[index];
        const std::uint64_t total = out.instance_bytes * workers();
        if (wanted.memory && total > *wanted.memory) {
            problem(wanted.line, path("filter", index, "memory"),
                    format_size(*wanted.memory) +
                        " is too little: " + std::string(out.engine().name) + " needs " +
                        format_size(total) + " on " + std::to_string(workers()) +
                        " worker(s) for this window, rate and max_false_drop");
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

    void plan_buffers() {
        std::uint64_t needed = kCachedMbufs * (workers() + 1);
        std::uint16_t mtu = 0;
        for (const PortPlan& port : plan_.ports) {
            needed += std::uint64_t{port.setup.rx_queues} * port.setup.rx_descriptors +
                      std::uint64_t{port.setup.tx_queues} * port.setup.tx_descriptors;
            mtu = std::max(mtu, port.setup.mtu);
        }
        for (const WorkerPlan& worker : plan_.workers) {
            // What a full ring refused waits with its receiver, a burst of each source.
            needed += workers() > 1 ? worker.rx.size() * config_.workers.burst : 0;
        }
        // One ring each way between two workers to decide, one to transmit.
        needed += std::uint64_t{2} * workers() * (workers() - 1) * config_.workers.ring_size;
        const std::uint64_t least_ring = std::uint64_t{config_.workers.burst} * workers();
        if (workers() > 1 && config_.workers.ring_size < least_ring) {
            problem(0, "workers.ring_size",
                    std::to_string(config_.workers.ring_size) +
                        " is too small: a ring must take a burst from every worker, at least " +
                        std::to_string(std::bit_ceil(least_ring)));
        }
        // A pool is most compact at a power of two less one.
        const std::uint64_t natural =
            std::max<std::uint64_t>(kLeastMbufs, std::bit_ceil(needed) - 1);
        if (config_.run.mbufs && *config_.run.mbufs < needed) {
            problem(0, "run.mbufs",
                    std::to_string(*config_.run.mbufs) + " is too few: the queues and rings hold " +
                        std::to_string(needed) + "; leave it out for " + std::to_string(natural));
        }
        plan_.mbufs = config_.run.mbufs.value_or(static_cast<std::uint32_t>(natural));
        plan_.data_room = static_cast<std::uint16_t>(
            kHeadroom + std::max<unsigned>(kStandardRoom, mtu + kFrameOverhead));
    }

    const config::Config& config_;
    const Machine& machine_;
    const std::vector<eal::DeviceFacts>& facts_;
    Plan plan_;
    std::vector<config::Problem> problems_;
};

}  // namespace

tl::expected<Plan, std::vector<config::Problem>> make_plan(
    const config::Config& config, const Machine& machine,
    const std::vector<eal::DeviceFacts>& facts) {
    return Planner(config, machine, facts).make();
}

}  // namespace unecho::control
