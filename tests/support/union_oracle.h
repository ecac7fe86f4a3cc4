// SPDX-License-Identifier: BSD-3-Clause
// The union rule once more, as simply as possible: unbounded lists and maps.
// filters/repeats/union_rule.h defines the terms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/units.h"
#include "filters/repeats/union_rule.h"

namespace unecho::test {

class UnionOracle {
  public:
    UnionOracle(Nanoseconds window, Nanoseconds same_port, unsigned views, bool needs_evidence)
        : window_(window),
          same_port_(same_port),
          views_(views),
          evidence_(needs_evidence && same_port > 0) {}

    // Return true for a copy and set `answered` to the time of its transmission.
    bool observe(Nanoseconds now, const filter::Observation& seen, bool identified,
                 Nanoseconds* answered = nullptr) {
        return identified ? observe_identified(now, seen) : see_unidentified(now, seen, answered);
    }

  private:
    struct Population {
        double first = 0;
        double doubled = 0;
        double even = 0;
        void look() {
            first += 1;
            if (first + even > 1024) {
                first /= 2;
                doubled /= 2;
                even /= 2;
            }
        }
        [[nodiscard]] bool is_doubled() const {
            return first >= 32 && doubled > 0.75 * first && first > 0.25 * (first + even);
        }
    };
    struct Look {
        unsigned count = 1;
        bool never = false;
        Nanoseconds first = 0;
        std::uint32_t tags = 0;
        bool judged = false;
        Nanoseconds apart = 0;
        Nanoseconds second = 0;
    };
    struct Transmission {
        Nanoseconds at = 0;
        bool twin = false;
        std::map<std::uint32_t, Look> looks;
    };
    struct Accepted {
        Nanoseconds at = 0;
        std::uint32_t point = 0;
        bool doubled = false;
    };

    [[nodiscard]] bool is_young(Nanoseconds at, Nanoseconds now) const {
        return window_ == filter::kInfiniteWindow || now - at < window_;
    }

    bool observe_identified(Nanoseconds now, const filter::Observation& seen) {
        const auto found = accepted_.find(seen.digest);
        if (found != accepted_.end() && is_young(found->second.at, now)) {
            Accepted& one = found->second;
            if (evidence_ && one.point == seen.point && !one.doubled && now - one.at < same_port_) {
                one.doubled = true;
                populations_[seen.population].doubled += 1;
            }
            return true;
        }
        accepted_[seen.digest] = {now, seen.point, false};
        if (evidence_) {
            populations_[seen.population].look();
        }
        return false;
    }

    bool see_unidentified(Nanoseconds now, const filter::Observation& seen, Nanoseconds* answered) {
        std::deque<Transmission>& waiting = transmissions_[seen.digest];
        while (!waiting.empty() && !is_young(waiting.front().at, now)) {
            waiting.pop_front();
        }
        Population* const counts = evidence_ ? &populations_[seen.population] : nullptr;
        bool twin = false;
        for (Transmission& one : waiting) {
            const auto found = one.looks.find(seen.point);
            if (found == one.looks.end()) {
                one.looks[seen.point] = {1, false, now, seen.tags};
                if (counts != nullptr && !twin && !one.twin) {
                    first_look(waiting, &one, seen.point, now, *counts);
                }
                return tell(answered, one.at);
            }
            Look& look = found->second;
            if (!look.never && look.count < views_ && now - look.first < same_port_ &&
                (look.tags == seen.tags || look.tags == 0 || seen.tags == 0)) {
                bool trusted = true;
                if (counts != nullptr) {
                    trusted = counts->is_doubled();
                    if (!look.judged && !one.twin) {
                        look.judged = true;
                        look.apart = now - look.first;
                        look.second = now;
                        counts->doubled += 1;
                        if (!trusted) {
                            twin = true;
                            ++look.count;
                        }
                    }
                }
                if (trusted) {
                    ++look.count;
                    return tell(answered, one.at);
                }
            }
        }
        Transmission opened{now, twin, {}};
        opened.looks[seen.point] = {1, twin, now, seen.tags};
        if (counts != nullptr && !twin) {
            first_look(waiting, nullptr, seen.point, now, *counts);
        }
        waiting.push_back(std::move(opened));
        return false;
    }

    static bool tell(Nanoseconds* answered, Nanoseconds at) {
        if (answered != nullptr) {
            *answered = at;
        }
        return true;
    }

    static void first_look(std::deque<Transmission>& waiting, const Transmission* present,
                           std::uint32_t point, Nanoseconds now, Population& counts) {
        for (auto one = waiting.rbegin(); one != waiting.rend(); ++one) {
            const auto found = one->looks.find(point);
            if (&*one == present || one->twin || found == one->looks.end()) {
                continue;
            }
            Look& look = found->second;
            if (look.judged && look.apart > 0 && now - look.second < 2 * look.apart) {
                look.apart = 0;
                counts.first -= 1;
                counts.doubled -= 1;
                counts.even += 1;
            }
            break;
        }
        counts.look();
    }

    Nanoseconds window_;
    Nanoseconds same_port_;
    unsigned views_;
    bool evidence_;
    std::map<Digest, Accepted> accepted_;
    std::map<Digest, std::deque<Transmission>> transmissions_;
    std::map<std::uint64_t, Population> populations_;
};

}  // namespace unecho::test
