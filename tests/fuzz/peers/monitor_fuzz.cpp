// SPDX-License-Identifier: BSD-3-Clause
// Any peer as an appliance's telemetry socket, for `unecho status`, `serve` and `reload`. Readings
// end, and result in text without control characters, JSON, and valid Prometheus metrics.
//
// Each line of an input is an answer: a command, a space and the JSON that answers it; after a "!",
// the whole message. Later lines of a command answer later queries, and the last one stays.
// "greeting" is a command too. A healthy appliance answers commands without a line.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "base/os/persistent_file.h"
#include "base/utf8.h"
#include "monitor/client/appliance_poller.h"
#include "monitor/server/metrics.h"
#include "monitor/status/status_text.h"
#include "unit/monitor/seen.h"

namespace {

using namespace unecho;
using monitor::Json;

constexpr unsigned kLooks = 2;
constexpr std::size_t kWidth = 80;

void check(bool condition) {
    if (!condition) {
        std::abort();
    }
}

class Peer {
  public:
    void begin(std::string_view input) {
        lines_.clear();
        std::istringstream all{std::string(input)};
        for (std::string line; std::getline(all, line);) {
            const bool whole = line.starts_with('!');
            const std::size_t end = std::min(line.find(' '), line.size());
            const std::string command = line.substr(whole ? 1 : 0, end - (whole ? 1 : 0));
            const std::string rest = line.substr(std::min(end + 1, line.size()));
            lines_[command].push_back(whole ? rest : message(command, rest));
        }
        asked_.clear();
    }

    void connect(int socket) {
        std::array<int, 2> ends{};
        check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) ==
              0);
        check(dup2(ends[0], socket) == socket);
        ::close(ends[0]);
        end_ = Descriptor(ends[1]);
        answer("greeting");
    }

    // An empty message closes the connection.
    void answer(const std::string& command) {
        const std::string said = next(command);
        if (said.empty() ||
            ::write(end_.get(), said.data(), said.size()) != static_cast<ssize_t>(said.size())) {
            end_ = Descriptor();
        }
    }

  private:
    static std::string message(const std::string& command, const std::string& value) {
        return "{\"" + command.substr(0, command.find(',')) + "\": " + value + "}";
    }

    static Json table(const Json& list) {
        Json out = Json::object();
        for (const Json& item : list) {
            out[std::to_string(out.size())] = item;
        }
        return out;
    }

    static std::string usual(const std::string& command) {
        static const Json seen = monitor::healthy();
        if (command == "greeting") {
            return R"({"version": "DPDK", "pid": 1, "max_output_len": 16384})";
        }
        Json answer;
        if (command == "/unecho/help") {
            answer = monitor::help();
        } else if (command == "/unecho/kinds") {
            answer = monitor::kinds();
        } else if (command == "/unecho/reload") {
            answer = {{"accepted", 1}, {"text", {"nothing changes\n"}}};
        } else if (command == "/unecho/audit,0") {
            answer = seen["filters"][0]["audit"];
        } else if (command == "/unecho/paths") {
            answer = table(monitor::two_paths());
        } else if (command == "/unecho/counters") {
            answer = seen["counters"];
            answer["reasons"] = seen["reasons"];
        } else if (command.starts_with("/unecho/")) {
            const Json& value = monitor::member(seen, command.substr(8));
            answer = value.is_array() ? table(value) : value;
        }
        return message(command, answer.dump());
    }

    std::string next(const std::string& command) {
        const auto found = lines_.find(command);
        if (found == lines_.end()) {
            const auto [known, fresh] = usual_.try_emplace(command);
            if (fresh) {
                known->second = usual(command);
            }
            return known->second;
        }
        const std::size_t turn = asked_[command]++;
        return found->second[std::min(turn, found->second.size() - 1)];
    }

    std::map<std::string, std::vector<std::string>> lines_;
    std::map<std::string, std::size_t> asked_;
    std::map<std::string, std::string> usual_;
    Descriptor end_;
};

Peer& peer() {
    static Peer instance;
    return instance;
}

void check_line(std::string_view line) {
    check(printable(line) == line && valid_utf8(line) == line);
}

void check_lines(std::string_view text, std::size_t width) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        check_line(line);
        std::size_t characters = 0;
        for (const char c : line) {
            characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
        }
        check(characters <= width);
    }
}

// --- Prometheus' text format ---------------------------------------------------------------------

std::string_view take_name(std::string_view& line) {
    const std::size_t end = std::min(
        line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:"),
        line.size());
    const std::string_view name = line.substr(0, end);
    check(!name.empty() && (name[0] < '0' || name[0] > '9'));
    line.remove_prefix(end);
    return name;
}

void take(std::string_view& line, std::string_view expected) {
    check(line.starts_with(expected));
    line.remove_prefix(expected.size());
}

void take_labels(std::string_view& line) {
    if (!line.starts_with('{')) {
        return;
    }
    do {
        line.remove_prefix(1);
        take_name(line);
        take(line, "=\"");
        while (!line.starts_with('"')) {
            check(!line.empty());
            line.remove_prefix(line[0] == '\\' ? 2 : 1);
        }
        line.remove_prefix(1);
    } while (line.starts_with(','));
    take(line, "}");
}

void check_metrics(const std::string& text) {
    std::set<std::string> types;
    std::set<std::string> samples;
    std::istringstream lines(text);
    for (std::string whole; std::getline(lines, whole);) {
        check_line(whole);
        std::string_view line = whole;
        if (line.starts_with("# HELP ")) {
            continue;
        }
        if (line.starts_with("# TYPE ")) {
            line.remove_prefix(7);
            check(types.emplace(take_name(line)).second);
            check(line == " counter" || line == " gauge" || line == " histogram");
            continue;
        }
        take_name(line);
        take_labels(line);
        check(samples.insert(whole.substr(0, whole.size() - line.size())).second);
        take(line, " ");
        const std::string value(line);
        char* end = nullptr;
        static_cast<void>(std::strtod(value.c_str(), &end));
        check(!value.empty() && *end == '\0');
    }
}

// --- what is made of readings ------------------------------------------------------------------

void check_looks() {
    static const std::atomic<bool> stop{false};
    monitor::AppliancePoller watch({"taps", "/run/dpdk/taps/dpdk_telemetry.v2"}, stop);
    Json before;
    for (unsigned i = 0; i < kLooks; ++i) {
        watch.look();
        const auto seen = watch.seen();
        const Json history = Json::parse("{" + watch.history(3600) + "}", nullptr, false);
        check(history.is_object());
        if (seen == nullptr) {
            continue;
        }
        check_line(seen->problem);
        check(Json::parse(monitor::dump_json(monitor::to_json(*seen)), nullptr, false).is_object());
        const monitor::SnapshotPair looks{before, seen->seen, before.is_null() ? 0 : kSecond};
        check_lines(monitor::status_text(*seen, looks, {.colours = false, .width = kWidth}),
                    kWidth);
        const std::string line = monitor::check_text(*seen);
        check(line.starts_with("UNECHO ") && line.ends_with('\n'));
        check_line(std::string_view(line).substr(0, line.size() - 1));
        check(std::count(line.begin(), line.end(), '|') == 1);  // before performance data
        for (const monitor::Finding& finding : seen->health.findings) {
            check_line(monitor::sentences(finding, seen->answered));
        }
        check_metrics(monitor::metrics_text({seen}));
        before = seen->seen;
    }
}

void check_reload() {
    auto client = monitor::TelemetryClient::connect("/run/dpdk/taps/dpdk_telemetry.v2");
    if (!client) {
        return check_line(client.error().context);
    }
    const auto answer = client->query("/unecho/reload", monitor::TelemetryClient::Text::kLines);
    if (!answer) {
        return check_line(answer.error().context);
    }
    for (const Json& piece : monitor::member(*answer, "text")) {
        const std::string text = piece.is_string() ? piece.get<std::string>() : "";
        check(escaped_lines(text) == text);
    }
}

}  // namespace

// Replace those of the system (--wrap, see meson.build).

extern "C" int __wrap_connect(int socket, const sockaddr* /*address*/, socklen_t /*size*/) {
    peer().connect(socket);
    return 0;
}

extern "C" ssize_t __wrap_send(int /*socket*/, const void* command, std::size_t size,
                               int /*flags*/) {
    peer().answer(std::string(static_cast<const char*>(command), size));
    return static_cast<ssize_t>(size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    peer().begin(input);
    check_looks();
    peer().begin(input);
    check_reload();
    return 0;
}
