// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/ports/port.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <net/if.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_version.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "appliance/eal/ports/capabilities.h"
#include "appliance/eal/ports/kernel_interface.h"
#include "appliance/eal/ports/packet_sockets.h"
#include "appliance/eal/session.h"
#include "appliance/eal/stale_socket.h"
#include "base/join_text.h"
#include "base/os/errno_code.h"

namespace unecho::eal {
namespace {

// Repeating 0x6d5a makes the Toeplitz hash symmetric: both directions of a flow get one value (Woo
// and Park, "Scalable TCP session monitoring with symmetric RSS", 2012). All ports of a route get
// the same key, so that copies on different ports meet as well.
constexpr std::array<std::uint8_t, 2> kSymmetricUnit{0x6d, 0x5a};
constexpr std::size_t kMaxRssKey = 64;
constexpr std::uint8_t kUsualRssKey = 40;  // for drivers that report none

constexpr std::uint64_t kRssTypes = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 |
                                    RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
                                    RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 |
                                    RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP |
                                    RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_NONFRAG_IPV6_OTHER;

std::string driver_names() {
    return join_text(known_drivers(), ", ", &Driver::name);
}

// Flags of a kernel interface, if it exists and can be queried.
struct InterfaceFlags {
    int error = 0;  // errno, if there are no flags
    std::optional<int> flags;
};

InterfaceFlags flags_of(unsigned index) noexcept {
    ifreq request{};
    if (if_indextoname(index, request.ifr_name) == nullptr) {
        return {errno == ENXIO ? ENODEV : errno, std::nullopt};
    }
    const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) {
        return {errno, std::nullopt};
    }
    InterfaceFlags found;
    if (ioctl(control, SIOCGIFFLAGS, &request) == 0) {
        found.flags = request.ifr_flags;
    } else {
        found.error = errno;
    }
    close(control);
    return found;
}

// Return true if a kernel interface is up and has a carrier, or if nothing is known.
bool interface_is_running(unsigned index) noexcept {
    const InterfaceFlags found = flags_of(index);
    return found.error != ENODEV && (!found.flags || (*found.flags & IFF_RUNNING) != 0);
}

// Return what DPDK logged last, on one line.
std::string log_tail() {
    std::string log = take_log();
    std::replace(log.begin(), log.end(), '\n', ' ');
    while (!log.empty() && log.back() == ' ') {
        log.pop_back();
    }
    return log.empty() ? "" : fmt::format(" [{}]", log);
}

std::uint16_t number_of(const Device& device, std::string_view arg, std::uint16_t absent = 1) {
    const std::string value = device.last(arg, "");
    std::uint16_t number = absent;
    std::from_chars(value.data(), value.data() + value.size(), number);
    return number;
}

// Return one queue for each file, and one if there is no file.
std::uint16_t queues_of(const Device& device, std::string_view file_arg) {
    return static_cast<std::uint16_t>(std::max<std::size_t>(device.values_of(file_arg).size(), 1));
}

// net_null and net_tap accept an RSS configuration but do not hash.
bool only_claims_rss(std::string_view driver) {
    return driver == "net_null" || driver == "net_tap";
}

std::array<std::uint8_t, kMaxRssKey> symmetric_key() {
    std::array<std::uint8_t, kMaxRssKey> key{};
    for (std::size_t i = 0; i < key.size(); ++i) {
        key[i] = kSymmetricUnit[i % 2];
    }
    return key;
}

std::uint8_t rss_key_size(const rte_eth_dev_info& info) {
    return info.hash_key_size == 0
               ? kUsualRssKey
               : static_cast<std::uint8_t>(std::min<std::size_t>(info.hash_key_size, kMaxRssKey));
}

// Cards that can hash the packet inside a tunnel may do so by default; keys are of the outermost
// packet.
std::uint64_t outermost(const rte_eth_dev_info& info) {
    return (info.flow_type_rss_offloads & RTE_ETH_RSS_LEVEL_MASK) != 0 ? RTE_ETH_RSS_LEVEL_OUTERMOST
                                                                       : 0;
}

// Return a table with all entries selected.
std::vector<rte_eth_rss_reta_entry64> whole_table(std::uint16_t entries) {
    std::vector<rte_eth_rss_reta_entry64> table((entries + RTE_ETH_RETA_GROUP_SIZE - 1) /
                                                RTE_ETH_RETA_GROUP_SIZE);
    for (unsigned i = 0; i < entries; ++i) {
        table[i / RTE_ETH_RETA_GROUP_SIZE].mask |= std::uint64_t{1}
                                                   << (i % RTE_ETH_RETA_GROUP_SIZE);
    }
    return table;
}

// Return the largest MTU with which rte_eth_dev_configure() does not refuse the length of frames.
// Drivers that name no MTU report the largest number.
std::uint16_t longest_mtu(const rte_eth_dev_info& info) {
    constexpr std::uint32_t kOverhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
    const bool named = info.max_mtu != UINT16_MAX && info.max_rx_pktlen > info.max_mtu;
    return named || info.max_rx_pktlen <= kOverhead
               ? info.max_mtu
               : static_cast<std::uint16_t>(
                     std::min<std::uint32_t>(info.max_mtu, info.max_rx_pktlen - kOverhead));
}

std::string failure_text(const char* what, int code) {
    return fmt::format("{} ({})", what, std::strerror(code < 0 ? -code : code));
}

}  // namespace

DeviceInfo assumed_device_info(const Device& device) {
    DeviceInfo facts;
    facts.driver = device.driver();
    if (device.is_pci()) {
        facts.max_rx_queues = kMaxQueues;
        facts.max_tx_queues = kMaxQueues;
        facts.rss_types = kRssTypes;
        facts.reta_size = 128;
        return facts;
    }
    if (const Driver* known = device.known_driver()) {
        facts.max_rx_queues = facts.max_tx_queues = known->queues;
#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
        facts.max_mtu = known->max_mtu;
#endif
    }
    if (device.has_files()) {
        facts.max_rx_queues = queues_of(device, "rx_pcap");
        facts.max_tx_queues = queues_of(device, "tx_pcap");
    } else if (device.is("net_af_packet")) {
        facts.max_rx_queues = facts.max_tx_queues = number_of(device, "qpairs");
    }
    return facts;
}

Error Port::error(std::string_view step, int code) const {
    const int number = code < 0 ? -code : code;
    if (number == EPERM || number == EACCES || number == EINVAL) {
        if (const auto denied = permission_error()) {
            return *denied;
        }
    }
    const Errc kind = errc_from_errno(number);
    const auto remedy = [&]() -> std::string_view {
        switch (kind) {
            case Errc::kPermission:
                return "; run as root or grant the capability the driver needs";
            case Errc::kBusy:
                return "; somebody else holds it";
            case Errc::kNotFound:
                return device_.is_pci()
                           ? "; is it bound to a DPDK driver (dpdk-devbind.py --status)?"
                           : "; does what its arguments name exist?";
            case Errc::kNoMemory:
                return "; raise -m in [eal] args or reserve hugepages";
            default:
                return {};
        }
    };
    std::string context = fmt::format("port \"{}\" ({}): ", name_, device_.name);
    context.append(step).append(": ").append(std::strerror(number)).append(remedy());
    return {kind, context + log_tail()};
}

// Drivers return EINVAL, or nothing specific, when the kernel returned EPERM.
std::optional<Error> Port::permission_error() const {
    const std::string missing = missing_capabilities(device_.capabilities());
    if (missing.empty()) {
        return std::nullopt;
    }
    return Error{Errc::kPermission,
                 fmt::format("port \"{}\": {} missing for {}: run as root, or grant what {} needs "
                             "(AmbientCapabilities of systemd, setpriv){}",
                             name_, missing, device_.name, device_.driver(), log_tail())};
}

// rte_vdev_init() returns -1 for most failures inside a driver, so the circumstances must tell
// more.
Error Port::creation_error(int code) const {
    const std::string who = fmt::format("port \"{}\" ({}): ", name_, device_.name);
    const Driver* known = device_.known_driver();
    if (code != -1) {
        return error("not created", code);
    }
    if (known == nullptr) {
        return {Errc::kNotFound,
                fmt::format("{}DPDK has no driver \"{}\", or it refused; known here: {}{}", who,
                            device_.driver(), driver_names(), log_tail())};
    }
    if (const auto denied = permission_error()) {
        return *denied;
    }
    return {Errc::kInvalidArgument,
            fmt::format("{}the driver refused \"{}\"; do its arguments, files, interfaces and "
                        "sockets exist, and does nobody else hold them?{}",
                        who, device_.args_text(), log_tail())};
}

Result<Port> Port::open(const std::string& name, const Device& device) {
    Port port(name, device, RTE_MAX_ETHPORTS);
    port.open_ = false;
    take_log();
    UNECHO_TRY(port.claim_interface());
    port.remove_stale_sockets();
    if (!device.is_pci()) {
        const Result<std::string> args = port.driver_args();
        UNECHO_TRY(args);
        const int code = rte_vdev_init(device.name.c_str(), args->c_str());
        if (code != 0) {
            port.remove_stale_sockets();  // left by a driver that fails after bind()
            return tl::unexpected(port.creation_error(code));
        }
    }
    if (rte_eth_dev_get_port_by_name(device.name.c_str(), &port.id_) != 0) {
        if (!device.is_pci()) {
            rte_vdev_uninit(device.name.c_str());
        }
        return tl::unexpected(port.error("no such device", ENODEV));
    }
    port.open_ = true;
    UNECHO_TRY(port.find_mode());
    return port;
}

Result<std::string> Port::driver_args() {
    Device given = device_;
    for (auto& [key, value] : given.args) {
        const bool writes = key == "tx_pcap";
        if (!device_.has_files() || (!writes && key != "rx_pcap") ||
            value.find_first_of(",=[]") == std::string::npos) {
            continue;
        }
        // O_PATH neither truncates nor waits for the other end of a pipe.
        Descriptor file(::open(value.c_str(), O_PATH | O_CLOEXEC));
        if (file.get() < 0 && errno == ENOENT && writes) {
            constexpr mode_t kNewFile = 0666;
            file = Descriptor(
                ::open(value.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFile));
        }
        if (file.get() < 0) {
            return tl::unexpected(error(fmt::format("{}: {}", key, value), errno));
        }
        value = "/proc/self/fd/" + std::to_string(file.get());
        files_.push_back(std::move(file));
    }
    return given.args_text();
}

// An unknown mode cannot be restored, so a port whose mode cannot be read is not used. Of an
// interface in another namespace (a container) nothing is known, but the driver cannot change it
// either.
Status Port::find_mode() {
    rte_eth_dev_info info{};
    if (const int code = rte_eth_dev_info_get(id_, &info); code != 0) {
        return tl::unexpected(error("its properties cannot be read", code));
    }
    if (info.if_index == 0) {
        return {};
    }
    const InterfaceFlags found = flags_of(info.if_index);
    if (found.error == ENODEV) {
        return {};
    }
    if (!found.flags) {
        return tl::unexpected(error("the flags of its interface cannot be read", found.error));
    }
    was_promiscuous_ = (*found.flags & IFF_PROMISC) != 0;
    return {};
}

// An AF_XDP driver removes the XDP program from the interface when it closes, in any case. A second
// user would cut off the first one, even by a start that fails.
Status Port::claim_interface() {
    const std::string interface = device_.last("iface", "");
    if (!device_.is("net_af_xdp") || interface.empty()) {
        if (!device_.is("net_tap")) {
            for (const std::string& shared : device_.interfaces()) {
                claims_.push_back(InterfaceClaim::share(shared));
            }
        }
        return {};
    }
    auto claim = InterfaceClaim::take(interface);
    if (!claim) {
        if (const auto denied = permission_error()) {
            return tl::unexpected(*denied);
        }
        return fail(claim.error().code, fmt::format("port \"{}\" ({}): {}", name_, device_.name,
                                                    claim.error().context));
    }
    claims_.push_back(std::move(*claim));
    return check_queues(interface);
}

// Packets that arrive in a queue without a socket stay with the kernel: lost for the route, and if
// the interface is in a bridge, they cross the link unfiltered.
Status Port::check_queues(const std::string& interface) const {
    const std::uint32_t queues = receive_queues(interface);
    const unsigned first = number_of(device_, "start_queue", 0);
    const unsigned taken = number_of(device_, "queue_count");
    if (first == 0 && taken >= queues) {
        return {};
    }
    return fail(Errc::kInvalidArgument,
                "port \"" + name_ + "\" (" + device_.name + "): " + interface + " receives from " +
                    std::to_string(queues) + " queue(s) and this device takes " +
                    std::to_string(taken) + " from queue " + std::to_string(first) +
                    " on: what arrives in the others would pass by; give the interface one "
                    "(ethtool -L " +
                    interface + " combined 1, or rx 1) and leave start_queue away");
}

// Remove the socket of a memif server that was killed. An abstract name leaves no file.
void Port::remove_stale_sockets() const {
    if (!device_.is("net_memif")) {
        return;
    }
    if (const MemifEnd end = memif_end(device_); end.server && end.socket_is_file) {
        remove_stale_socket(end.socket);
    }
}

Port::~Port() {
    if (open_) {
        end();
    }
}

int Port::end() noexcept {
    stop();
    const int left = leave_as_found();
    rte_eth_dev_close(id_);
    if (!device_.is_pci()) {
        rte_vdev_uninit(device_.name.c_str());
    }
    open_ = false;
    return left;
}

Status Port::close() {
    const int code = open_ ? end() : 0;
    if (code == 0) {
        return {};
    }
    const char* const left = was_promiscuous_.value_or(false)
                                 ? "its interface is not promiscuous any more, as it was before"
                                 : "its interface stays promiscuous, as it was not before";
    return fail(Errc::kIo,
                fmt::format("port \"{}\" ({}): {}", name_, device_.name, failure_text(left, code)));
}

Port::Port(Port&& other) noexcept
    : name_(std::move(other.name_)),
      device_(std::move(other.device_)),
      id_(other.id_),
      claims_(std::move(other.claims_)),
      files_(std::move(other.files_)),
      open_(std::exchange(other.open_, false)),
      started_(std::exchange(other.started_, false)),
      was_promiscuous_(other.was_promiscuous_),
      packet_sockets_(std::move(other.packet_sockets_)),
      dropped_(other.dropped_),
      counted_(other.counted_) {}

Result<DeviceInfo> Port::facts() const {
    rte_eth_dev_info info{};
    if (const int code = rte_eth_dev_info_get(id_, &info); code != 0) {
        return tl::unexpected(error("its properties cannot be read", code));
    }
    DeviceInfo facts;
    facts.probed = true;
    facts.driver = info.driver_name == nullptr ? device_.driver() : info.driver_name;
    facts.max_rx_queues = std::min<std::uint16_t>(info.max_rx_queues, kMaxQueues);
    facts.max_tx_queues = std::min<std::uint16_t>(info.max_tx_queues, kMaxQueues);
    facts.max_mtu = longest_mtu(info);
    if (!only_claims_rss(facts.driver) && (info.flow_type_rss_offloads & kRssTypes) != 0) {
        facts.rss_types = info.flow_type_rss_offloads & kRssTypes;
        facts.reta_size = info.reta_size;
    }
    facts.socket = rte_eth_dev_socket_id(id_);
    return facts;
}

// rss: null without RSS.
Status Port::configure(const PortSetup& setup, const rte_eth_dev_info& info,
                       rte_eth_rss_conf* rss) {
    rte_eth_conf conf{};
    conf.rxmode.mtu = setup.mtu;
    conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
    conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    if (rss != nullptr) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf = *rss;
        conf.rxmode.offloads |= info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_RSS_HASH;
    }
    const int code = rte_eth_dev_configure(id_, setup.rx_queues, setup.tx_queues, &conf);
    return code == 0 ? Status{} : tl::unexpected(error("not configured", code));
}

// Virtual devices that cannot change their MTU keep it; the frames are what counts.
Status Port::set_mtu(std::uint16_t mtu) {
    const int code = rte_eth_dev_set_mtu(id_, mtu);
    if (code == 0 || code == -ENOTSUP) {
        return {};
    }
    if (!device_.is_pci()) {
        take_log();
        return {};
    }
    return tl::unexpected(error("mtu " + std::to_string(mtu), code));
}

Status Port::start(const PortSetup& setup, rte_mempool* pool) {
    rte_eth_dev_info info{};
    if (const int code = rte_eth_dev_info_get(id_, &info); code != 0) {
        return tl::unexpected(error("its properties cannot be read", code));
    }
    auto key = symmetric_key();
    rte_eth_rss_conf rss{};
    rss.rss_key = key.data();
    rss.rss_key_len = rss_key_size(info);
    rss.rss_hf = setup.rss_types | outermost(info);
    const bool hashes = setup.rss_types != 0;
    UNECHO_TRY(configure(setup, info, hashes ? &rss : nullptr));
    UNECHO_TRY(set_mtu(setup.mtu));
    UNECHO_TRY(setup_queues(setup, pool));
    if (const int code = rte_eth_dev_start(id_); code != 0) {
        return tl::unexpected(error("not started", code));
    }
    started_ = true;
    if (device_.is("net_af_packet")) {
        discard_earlier(setup.rx_queues);
    }
    find_packet_sockets(info);
    if (hashes) {
        fit_rss(rss, setup.rx_queues, info.reta_size);
    }
    const int code =
        setup.promiscuous ? rte_eth_promiscuous_enable(id_) : rte_eth_promiscuous_disable(id_);
    // Not every driver knows the mode (rings, captures): these see every frame anyway. A virtual
    // function may be refused it, and still gets the frames addressed to it.
    if (code != 0 && code != -ENOTSUP && !device_.is_pci()) {
        return tl::unexpected(error("promiscuous mode", code));
    }
    take_log();
    return {};
}

// The sockets receive from every interface between their creation and their binding, loopback
// included. Such packets must not be forwarded. All packets until then came before the start.
void Port::discard_earlier(std::uint16_t queues) noexcept {
    constexpr unsigned kMost = 1U << 16;  // no ring has more frames
    std::array<rte_mbuf*, 32> mbufs{};
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
        unsigned taken = 0;
        std::uint16_t n = 0;
        do {
            n = rte_eth_rx_burst(id_, queue, mbufs.data(), mbufs.size());
            rte_pktmbuf_free_bulk(mbufs.data(), n);
            taken += n;
        } while (n == mbufs.size() && taken < kMost);
    }
}

// Drops before the start are not losses of this port.
void Port::find_packet_sockets(const rte_eth_dev_info& info) {
#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
    if (device_.is("net_af_packet") && info.if_index != 0) {
        packet_sockets_ = packet_sockets_on(static_cast<int>(info.if_index));
        take_drops(packet_sockets_);
    }
#else
    static_cast<void>(info);
#endif
}

Status Port::setup_queues(const PortSetup& setup, rte_mempool* pool) {
    std::uint16_t rx_descriptors = setup.rx_descriptors;
    std::uint16_t tx_descriptors = setup.tx_descriptors;
    if (const int code = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_descriptors, &tx_descriptors);
        code != 0) {
        return tl::unexpected(error("descriptors", code));
    }
    const int socket = rte_eth_dev_socket_id(id_);
    const auto numa = static_cast<unsigned>(socket < 0 ? 0 : socket);
    for (QueueId queue = 0; queue < setup.rx_queues; ++queue) {
        const int code = rte_eth_rx_queue_setup(id_, queue, rx_descriptors, numa, nullptr, pool);
        if (code != 0) {
            return tl::unexpected(error("rx queue " + std::to_string(queue), code));
        }
    }
    for (QueueId queue = 0; queue < setup.tx_queues; ++queue) {
        const int code = rte_eth_tx_queue_setup(id_, queue, tx_descriptors, numa, nullptr);
        if (code != 0) {
            return tl::unexpected(error("tx queue " + std::to_string(queue), code));
        }
    }
    return {};
}

// Spread alike on every port: entry i to queue i mod n. Some drivers accept a key only while they
// run, and a table that cannot be written may be right already: rss() reports the result.
void Port::fit_rss(rte_eth_rss_conf& conf, std::uint16_t queues, std::uint16_t reta_size) const {
    rte_eth_dev_rss_hash_update(id_, &conf);
    std::vector<rte_eth_rss_reta_entry64> table = whole_table(reta_size);
    for (unsigned i = 0; i < reta_size; ++i) {
        table[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
            static_cast<std::uint16_t>(i % queues);
    }
    rte_eth_dev_rss_reta_update(id_, table.data(), reta_size);
}

RssSettings Port::rss() const {
    RssSettings answer;
    rte_eth_dev_info info{};
    if (const int code = rte_eth_dev_info_get(id_, &info); code != 0) {
        answer.failure = failure_text("does not tell its properties", code);
        return answer;
    }
    std::array<std::uint8_t, kMaxRssKey> key{};
    rte_eth_rss_conf conf{};
    conf.rss_key = key.data();
    conf.rss_key_len = rss_key_size(info);
    if (const int code = rte_eth_dev_rss_hash_conf_get(id_, &conf); code != 0) {
        answer.failure = failure_text("does not tell its key", code);
        return answer;
    }
    std::vector<rte_eth_rss_reta_entry64> table = whole_table(info.reta_size);
    if (const int code = rte_eth_dev_rss_reta_query(id_, table.data(), info.reta_size); code != 0) {
        answer.failure = failure_text("does not tell its redirection table", code);
        return answer;
    }
    answer.key.assign(key.begin(),
                      key.begin() + std::min<std::size_t>(conf.rss_key_len, key.size()));
    answer.types = conf.rss_hf & kRssTypes;
    for (unsigned i = 0; i < info.reta_size; ++i) {
        answer.table.push_back(
            table[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE]);
    }
    return answer;
}

// Drivers set the promiscuous flag of a kernel interface, where it outlives the process. They open
// a socket for it; if that fails now, it may work at the next try.
int Port::leave_as_found() const noexcept {
    if (!was_promiscuous_) {
        return 0;
    }
    const auto put_back =
        *was_promiscuous_ ? rte_eth_promiscuous_enable : rte_eth_promiscuous_disable;
    int code = put_back(id_);
    if (code != 0) {
        code = put_back(id_);
    }
    const bool is_gone = code == -ENODEV || code == -ENXIO;
    return is_gone ? 0 : code;
}

void Port::stop() noexcept {
    if (std::exchange(started_, false)) {
        rte_eth_dev_stop(id_);
    }
}

bool Port::link_up() const noexcept {
    rte_eth_link link{};
    rte_eth_dev_info info{};
    if (rte_eth_link_get_nowait(id_, &link) != 0) {
        return false;
    }
    bool up = link.link_status == RTE_ETH_LINK_UP;
    // af_packet and af_xdp report their link as up, whatever the interface does.
    if (up && rte_eth_dev_info_get(id_, &info) == 0 && info.if_index != 0) {
        up = interface_is_running(info.if_index);
    }
    return up;
}

DeviceCounters Port::device_counters() noexcept {
    rte_eth_stats stats{};
    if (rte_eth_stats_get(id_, &stats) == 0) {  // else nothing new is known
        dropped_ += take_drops(packet_sockets_);
        counted_ = {stats.imissed + dropped_, stats.rx_nombuf, stats.ierrors, stats.oerrors};
    }
    return counted_;
}

}  // namespace unecho::eal
