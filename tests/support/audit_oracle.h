// SPDX-License-Identifier: BSD-3-Clause
// The verdicts that an audit must give, computed from the definitions alone. It keeps every packet
// of every key and searches all of them for each verdict. It shares only types with the audit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "filters/audit/audit.h"

namespace unecho::test {

struct AuditOracleSpec {
    Nanoseconds window = 0;
    Nanoseconds slack = 0;
    Nanoseconds grace = 0;
    bool refresh = false;
    unsigned first = 1;
};

class AuditOracle {
  public:
    explicit AuditOracle(const AuditOracleSpec& spec) : spec_(spec) {}

    // achieved: the achieved window of the filter at the time of its answer. The oracle does not
    // look for causes: a miss that has one is always reported as kMissLoad.
    filter::Verdict observe(std::uint64_t key, Nanoseconds now, filter::Answer answer,
                            Nanoseconds achieved) {
        std::vector<Packet>& packets = packets_[key];
        const filter::Verdict verdict = confidence(packets, now, answer, achieved);
        packets.push_back({now, answer, achieved});
        return verdict;
    }

  private:
    struct Packet {
        Nanoseconds time;
        filter::Answer answer;
        Nanoseconds achieved;
    };
    static constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

    // Return the age of the N-th last packet whose answer satisfies `counts`, or kNever if there
    // are fewer. N is spec_.first.
    template <typename Counts>
    Nanoseconds nth_age(const std::vector<Packet>& packets, Nanoseconds now, Counts counts) const {
        unsigned left = spec_.first;
        for (auto packet = packets.rbegin(); packet != packets.rend(); ++packet) {
            if (counts(packet->answer) && --left == 0) {
                return now - packet->time;
            }
        }
        return kNever;
    }

    // Return the number of packets in the latest run, that is, in which each packet `joins` the one
    // before it (policy refresh).
    template <typename Joins>
    std::size_t run(const std::vector<Packet>& packets, Joins joins) const {
        std::size_t n = packets.empty() ? 0 : 1;
        for (std::size_t i = packets.size(); i-- > 1; ++n) {
            if (!joins(packets[i].time - packets[i - 1].time, packets[i].achieved)) {
                break;
            }
        }
        return n;
    }

    filter::Verdict confidence(const std::vector<Packet>& packets, Nanoseconds now,
                               filter::Answer answer, Nanoseconds achieved) const {
        using filter::Answer;
        using filter::Verdict;
        const Nanoseconds reach = spec_.window + spec_.slack + spec_.grace;
        Nanoseconds sure = kNever;
        Nanoseconds maybe = kNever;
        bool certain = false;
        if (spec_.refresh) {
            const Nanoseconds last = packets.empty() ? kNever : now - packets.back().time;
            const auto whole = run(packets, [&](Nanoseconds gap, Nanoseconds kept) {
                return gap < std::min(kept, spec_.window);
            });
            const auto most =
                run(packets, [&](Nanoseconds gap, Nanoseconds) { return gap < reach; });
            sure = maybe = most >= spec_.first ? last : kNever;
            certain = whole >= spec_.first && last < std::min(achieved, spec_.window);
        } else {
            sure = nth_age(packets, now, [&](Answer one) {
                return one == Answer::kNew || (one == Answer::kDoubt && spec_.first == 1);
            });
            maybe = nth_age(packets, now, [](Answer one) { return one != Answer::kEcho; });
            certain = sure < std::min(achieved, spec_.window);
        }
        const bool dropped = !packets.empty() && packets.back().answer == Answer::kEcho &&
                             now - packets.back().time < reach;
        if (answer == Answer::kEcho) {
            return maybe < spec_.window                 ? Verdict::kEcho
                   : maybe < spec_.window + spec_.slack ? Verdict::kSlackEcho
                   : maybe < reach                      ? Verdict::kLateEcho
                   : dropped                            ? Verdict::kOverdue
                                                        : Verdict::kFalseDrop;
        }
        const bool inside = sure < spec_.window;
        if (answer == Answer::kDoubt) {
            return inside          ? Verdict::kDoubtOfEcho
                   : maybe < reach ? Verdict::kSlackDoubt
                                   : Verdict::kDoubtOfNew;
        }
        return certain         ? Verdict::kMiss
               : inside        ? Verdict::kMissLoad
               : maybe < reach ? Verdict::kSlackNew
                               : Verdict::kNew;
    }

    AuditOracleSpec spec_;
    std::map<std::uint64_t, std::vector<Packet>> packets_;
};

}  // namespace unecho::test
