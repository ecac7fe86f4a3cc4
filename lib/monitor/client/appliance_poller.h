// SPDX-License-Identifier: BSD-3-Clause
// Queries one appliance again and again: keeps the connection, connects anew after a restart, and
// keeps an hour of history, also in a file. One thread calls look(); any thread may read.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "monitor/client/appliance_status.h"
#include "monitor/client/discovery.h"
#include "monitor/client/telemetry_client.h"
#include "monitor/server/history.h"
#include "monitor/server/history_file.h"

namespace unecho::monitor {

class AppliancePoller {
  public:
    // From stop on, no call waits any more. folder: keeps the history; null: only memory does.
    AppliancePoller(TelemetrySocket place, const std::atomic<bool>& stop,
                    std::shared_ptr<const HistoryFolder> folder = nullptr);

    // Query the appliance once. Return false if the socket is not that of an unecho, and none is
    // expected there.
    bool look();
    // Return what went wrong with the history's file since the last call; "" if nothing did.
    std::string take_problem() { return std::exchange(problem_, {}); }
    // Remove the history's file. Call when no thread calls look() any more.
    void remove_history();

    // From any thread: report an appliance even before it first answers, or no longer.
    void expect(bool expected) { expected_ = expected; }
    [[nodiscard]] bool expected() const { return expected_; }
    // From any thread: look there from now on.
    void set_socket(const std::string& path);
    [[nodiscard]] std::string socket() const;

    void set_timeout(Nanoseconds patience);
    // Judge the health over so much of the past, at most an hour.
    void set_span(Nanoseconds span) { span_ = span; }
    // Tell the appliance that an incident is taken care of.
    Status acknowledge(const Finding& finding);

    // Return the last known status; null before the first.
    [[nodiscard]] std::shared_ptr<const ApplianceStatus> seen() const;
    [[nodiscard]] std::string history(std::size_t seconds) const;
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    Result<Json> query_once(Nanoseconds deadline);
    Status connect(Nanoseconds deadline);
    Status query_history(Nanoseconds uptime);
    void record_reply(Json seen, Nanoseconds took);
    void open_history(Nanoseconds now);
    template <typename AddSample>
    void publish(AddSample&& add_sample);
    bool record_failure(const Error& error);
    [[nodiscard]] bool is_same_process(const Json& seen) const;

    const std::string name_;
    const std::atomic<bool>& stop_;
    std::atomic<bool> expected_{false};
    std::optional<HistoryFile> file_;
    bool opened_ = false;  // the file's history was taken over
    std::string problem_;
    std::string unkept_;           // why the history is not kept; "" if it is
    Nanoseconds unkept_from_ = 0;  // since 1970
    Nanoseconds timeout_ = kReplyTimeout;
    Nanoseconds span_ = kJudgedSpan;
    Json before_;  // the counters a span and an hour ago
    Json hour_;
    bool queried_history_ = false;  // on this connection
    std::optional<TelemetryClient> client_;
    std::shared_ptr<const CounterDescriptions> descriptions_;
    ApplianceStatus last_;
    bool known_ = false;  // some reply came from an unecho
    bool ended_ = false;  // the connection broke, and no reply came since

    mutable std::mutex mutex_;  // guards the members below
    std::string socket_;
    std::shared_ptr<const ApplianceStatus> seen_;
    History history_;
};

}  // namespace unecho::monitor
