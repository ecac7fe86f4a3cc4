// SPDX-License-Identifier: BSD-3-Clause
// The exact answers of a sliding window, computed from the definition with ordered maps of keys and
// times. It shares nothing with the filters under test. Time is any non-decreasing number:
// nanoseconds or generations.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>

namespace unecho::test {

inline constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

// The time of each key's last insertion.
class References {
  public:
    void insert(std::uint64_t key, std::uint64_t now) { last_[key] = now; }

    // Return the age of the key's last insertion; empty if there was none.
    [[nodiscard]] std::optional<std::uint64_t> age(std::uint64_t key, std::uint64_t now) const {
        const auto found = last_.find(key);
        if (found == last_.end()) {
            return std::nullopt;
        }
        return now - found->second;
    }

    void clear() { last_.clear(); }

  private:
    std::map<std::uint64_t, std::uint64_t> last_;
};

// Passes the first n packets of a key in each window. An age of exactly `window` is outside.
class WindowOracle {
  public:
    enum class Policy { kFixed, kRefresh };

    explicit WindowOracle(std::uint64_t window, Policy policy = Policy::kFixed, unsigned first = 1)
        : window_(window), policy_(policy), first_(first) {}

    // Return true for an echo.
    bool observe(std::uint64_t key, std::uint64_t now) {
        return policy_ == Policy::kFixed ? see_fixed(key, now) : see_refresh(key, now);
    }

    void clear() {
        accepted_.clear();
        episodes_.clear();
    }

  private:
    struct Episode {
        std::uint64_t last_seen = 0;
        unsigned accepted = 0;
    };

    [[nodiscard]] bool inside(std::uint64_t age) const {
        return window_ == kForEver || age < window_;
    }

    // Return true if `first` packets of the key were accepted in the window.
    bool see_fixed(std::uint64_t key, std::uint64_t now) {
        std::deque<std::uint64_t>& times = accepted_[key];
        while (!times.empty() && !inside(now - times.front())) {
            times.pop_front();
        }
        if (times.size() >= first_) {
            return true;
        }
        times.push_back(now);
        return false;
    }

    // Packets less than a window apart form one episode, whose first `first` packets are accepted.
    bool see_refresh(std::uint64_t key, std::uint64_t now) {
        Episode& episode = episodes_[key];
        if (!inside(now - episode.last_seen)) {
            episode.accepted = 0;
        }
        episode.last_seen = now;
        if (episode.accepted >= first_) {
            return true;
        }
        ++episode.accepted;
        return false;
    }

    std::uint64_t window_;
    Policy policy_;
    unsigned first_;
    std::map<std::uint64_t, std::deque<std::uint64_t>> accepted_;
    std::map<std::uint64_t, Episode> episodes_;
};

}  // namespace unecho::test
