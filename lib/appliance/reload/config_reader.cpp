// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/reload/config_reader.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace unecho::appliance {

struct ConfigReader::Shared {
    explicit Shared(std::function<WantedResult()> of) : read(std::move(of)) {}

    const std::function<WantedResult()> read;
    std::mutex mutex;
    std::condition_variable changed;
    bool reading = false;  // a thread still is, for this or an earlier reading
    bool stopped = false;
    std::optional<Result<WantedResult>> result;
};

ConfigReader::ConfigReader(std::function<WantedResult()> read)
    : shared_(std::make_shared<Shared>(std::move(read))) {}

ConfigReader::~ConfigReader() {
    stop();
}

void ConfigReader::stop() {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopped = true;
    shared_->changed.notify_all();
}

Result<WantedResult> ConfigReader::read(Nanoseconds patience) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience);
    Shared& shared = *shared_;
    std::unique_lock lock(shared.mutex);
    const auto ended = [&] { return !shared.reading || shared.stopped; };
    const auto late = [&] {
        return fail(Errc::kBusy,
                    shared.stopped ? std::string("it is stopping")
                                   : "cannot be read: no answer for " + format_duration(patience));
    };
    shared.changed.wait_until(lock, until, ended);
    if (shared.reading || shared.stopped) {
        return late();
    }
    shared.result.reset();
    try {
        std::thread([of = shared_] {
            std::optional<Result<WantedResult>> result;
            try {
                result.emplace(of->read());
            } catch (const std::bad_alloc&) {
                result.emplace(fail(Errc::kNoMemory, ""));
            } catch (const std::exception& error) {  // a bug: keep the running configuration
                result.emplace(fail(Errc::kIo, std::string("cannot be read: ") + error.what()));
            }
            const std::lock_guard done(of->mutex);
            of->result = std::move(result);
            of->reading = false;
            of->changed.notify_all();
        }).detach();
    } catch (const std::system_error&) {
        return fail(Errc::kIo, "cannot be read: no thread can be started");
    }
    shared.reading = true;  // the thread waits for the lock at its end
    shared.changed.wait_until(lock, until, ended);
    if (shared.reading || shared.stopped) {
        return late();
    }
    return std::move(*shared.result);
}

}  // namespace unecho::appliance
