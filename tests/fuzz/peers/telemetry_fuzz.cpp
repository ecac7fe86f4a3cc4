// SPDX-License-Identifier: BSD-3-Clause
// Any peer as a client of an appliance's telemetry. On the socket of [run] telemetry_group each
// request gets one answer of ASCII JSON, at most as long as announced, and changes nothing. On
// DPDK's socket each command gets an answer or an error.
//
// Each line of an input is a request. A line that begins with "+" happens before it: a text from
// outside that becomes an event and the outcome of a reload.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <rte_telemetry.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "appliance/stats/monitor_server.h"
#include "appliance/stats/stats_fold.h"
#include "appliance/stats/telemetry.h"
#include "base/os/persistent_file.h"
#include "base/utf8.h"
#include "unit/appliance/plans.h"

namespace {

using namespace unecho;

constexpr std::size_t kLongestAnswer = 16384;
constexpr std::size_t kLongestCommand = 1024;

void check(bool condition) {
    if (!condition) {
        std::abort();
    }
}

std::map<std::string, telemetry_cb>& registered() {
    static std::map<std::string, telemetry_cb> instance;
    return instance;
}

// DPDK frees nested containers when it prints the outer one.
std::vector<rte_tel_data*>& containers() {
    static std::vector<rte_tel_data*> instance;
    return instance;
}

rte_tel_data* new_data() {
    static const auto original =
        reinterpret_cast<rte_tel_data* (*)()>(dlsym(RTLD_NEXT, "rte_tel_data_alloc"));
    return original();
}

class Appliance {
  public:
    Appliance() {
        listening_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        // Bound without a name, the socket gets a unique one.
        address_.sun_family = AF_UNIX;
        check(bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address_),
                   sizeof(address_.sun_family)) == 0);
        size_ = sizeof(address_);
        check(getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address_), &size_) == 0);
        check(listen(listening_.get(), 4) == 0);
        auto started =
            appliance::MonitorServer::start(listening_.get(), appliance::answer_read_command);
        check(started.has_value());
        server_ = std::move(*started);
    }

    [[nodiscard]] Descriptor client() const {
        Descriptor out(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        check(connect(out.get(), reinterpret_cast<const sockaddr*>(&address_), size_) == 0);
        check(nlohmann::json::parse(heard(out))["max_output_len"] == kLongestAnswer);
        return out;
    }

    // Receive a message; "" if the connection was closed.
    static std::string heard(const Descriptor& client) {
        std::string text(2 * kLongestAnswer, ' ');
        ssize_t n = 0;
        do {  // libFuzzer's timer interrupts
            n = recv(client.get(), text.data(), text.size(), 0);
        } while (n < 0 && errno == EINTR);
        text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return text;
    }

    // Start anew.
    void begin() {
        events_.emplace();
        said_.clear();
        attach();
    }
    void happens(const std::string& text) {
        telemetry_.reset();
        events_->add(appliance::event::kRoot, text);
        said_ = text;
        attach();  // drops the cached answer
    }
    [[nodiscard]] unsigned reloads() const { return reloads_; }

  private:
    void attach() {
        telemetry_.reset();
        auto attached =
            appliance::Telemetry::attach(plan_, [this] { return report(); },
                                         {[this](bool) {
                                              ++reloads_;
                                              return appliance::ReloadAnswer{true, said_};
                                          },
                                          [this](std::uint64_t number) {
                                              ++reloads_;
                                              return appliance::ReloadAnswer{false, said_, number};
                                          }});
        check(attached.has_value());
        telemetry_.emplace(std::move(*attached));
    }
    appliance::StatsReport report() {
        appliance::StatsReport out = appliance::empty_report(plan_);
        out.events = events_->all();
        appliance::finish(out);
        return out;
    }

    appliance::Plan plan_ = appliance::plan_of(
        appliance::taps_to_tool(), appliance::machine_with({0}),
        appliance::all_of(appliance::taps_to_tool(), appliance::device("net_null")));
    std::optional<appliance::EventLog> events_;
    std::string said_;
    unsigned reloads_ = 0;
    std::optional<appliance::Telemetry> telemetry_;
    sockaddr_un address_{};
    socklen_t size_ = 0;
    Descriptor listening_;
    std::unique_ptr<appliance::MonitorServer> server_;
};

void check_answer(const std::string& request, const std::string& answer) {
    check(!answer.empty() && answer.size() <= kLongestAnswer);
    for (const char c : answer) {
        check(c >= 0x20 && c < 0x7F);
    }
    const auto said = nlohmann::json::parse(answer, nullptr, false);
    check(said.is_object() && said.size() == 1);
    const std::string name = request.substr(0, request.find(','));
    const auto known = registered().find(name);
    check(said.begin()->is_null() || known != registered().end());
    if (known != registered().end()) {
        check(said.begin().key() == name);
    }
}

// Split at the first comma as DPDK's socket does: the rest is the parameter.
void ask_by_dpdk(const std::string& request) {
    const std::size_t comma = std::min(request.find(','), request.size());
    const std::string name = request.substr(0, comma);
    const auto found = registered().find(name);
    if (found == registered().end()) {
        return;
    }
    const std::string parameter = request.substr(std::min(comma + 1, request.size()));
    rte_tel_data* const data = new_data();
    check(data != nullptr);
    check(found->second(name.c_str(), parameter.empty() ? nullptr : parameter.c_str(), data) <= 0);
    for (rte_tel_data* const container : containers()) {
        rte_tel_data_free(container);
    }
    containers().clear();
    rte_tel_data_free(data);
}

}  // namespace

// Replace DPDK's functions: the program's own are found first.

extern "C" rte_tel_data* rte_tel_data_alloc() {
    return containers().emplace_back(new_data());
}

extern "C" int rte_telemetry_register_cmd(const char* cmd, telemetry_cb fn, const char* /*help*/) {
    if (std::string_view(cmd).starts_with("/unecho/")) {  // DPDK registers its own here too
        registered()[cmd] = fn;
    }
    return 0;
}

// The server's thread waits for nobody here (--wrap, see meson.build).
extern "C" int __real_ppoll(pollfd* descriptors, nfds_t number, const timespec* longest,
                            const sigset_t* signals);
extern "C" int __wrap_ppoll(pollfd* descriptors, nfds_t number, const timespec* /*longest*/,
                            const sigset_t* signals) {
    const timespec none{};
    return __real_ppoll(descriptors, number, &none, signals);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Appliance appliance;
    appliance.begin();
    Descriptor client = appliance.client();
    std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('+')) {
            appliance.happens(line.substr(1));
            continue;
        }
        const unsigned reloads = appliance.reloads();
        const bool sent = !line.empty() && send(client.get(), line.data(), line.size(),
                                                MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
        const std::string answer = sent ? Appliance::heard(client) : "";
        check(appliance.reloads() == reloads);
        if (sent && line.size() <= kLongestCommand) {
            check_answer(line, answer);
        } else {
            check(answer.empty());
            client = appliance.client();
        }
        ask_by_dpdk(line);
    }
    return 0;
}
