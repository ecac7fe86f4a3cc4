// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/paths/matching.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <tuple>
#include <utility>

namespace unecho::compare {
namespace {

// The looks of a point that are no duplicates.
std::vector<LookIndex> looks_of(std::span<const LookIndex> group, const LookStore& looks,
                                std::uint8_t point) {
    std::vector<LookIndex> out;
    for (const LookIndex look : group) {
        if (looks[look].point == point && looks[look].duplicate == 0) {
            out.push_back(look);
        }
    }
    return out;
}

// The looks at a key. Most keys have one look at each point.
struct Sides {
    LookIndex a = 0;  // a look at each, if there is one
    LookIndex b = 0;
    std::size_t count_a = 0;
    std::size_t count_b = 0;

    Sides(const LookStore& looks, std::span<const LookIndex> group, std::uint8_t point_a,
          std::uint8_t point_b) {
        for (const LookIndex index : group) {
            const Look& look = looks[index];
            if (look.duplicate != 0) {
                continue;
            }
            if (look.point == point_a) {
                a = index;
                ++count_a;
            } else if (look.point == point_b) {
                b = index;
                ++count_b;
            }
        }
    }
    [[nodiscard]] bool single() const { return count_a == 1 && count_b == 1; }
};

class Matcher {
  public:
    Matcher(const LookStore& looks, const KeyGroups& groups, std::uint8_t a, std::uint8_t b,
            const MatchRules& rules)
        : looks_(looks), groups_(groups), a_(a), b_(b), rules_(rules) {
        out_.matched.assign(looks.end(), false);
    }

    Matches match(const Hosts& hosts) {
        divide();
        const FirstGuess guess = first_guess();
        const ClockRules rules{rules_.clocks, rules_.mirror, guess.equal, rules_.tick};
        align(guess.line);
        out_.fit = fit_clocks(out_.list, hosts, rules);
        if (!out_.list.empty() && is_far(out_.fit.clock.line)) {
            divide();
            align(out_.fit.clock.line);
            out_.fit = fit_clocks(out_.list, hosts, rules);
        }
        out_.far = guess.far;
        return std::move(out_);
    }

  private:
    // Find the keys that both points saw: those with one look at each become the list, others are
    // put aside.
    void divide() {
        out_.list.clear();
        out_.list.reserve(groups_.count());
        several_.clear();
        groups_.for_each([&](std::span<const LookIndex> group) {
            const Sides sides(looks_, group, a_, b_);
            if (sides.single()) {
                out_.list.push_back(match_of(looks_, sides.a, sides.b));
            } else if (sides.count_a != 0 && sides.count_b != 0) {
                several_.push_back(group);
            }
        });
    }

    [[nodiscard]] FirstGuess first_guess() const {
        if (rules_.nat) {
            std::vector<Match> by_content;
            for_each_content([&](std::span<const LookIndex> group) {
                if (const Sides sides(looks_, group, a_, b_); sides.single()) {
                    by_content.push_back(match_of(looks_, sides.a, sides.b));
                }
            });
            if (by_content.size() > out_.list.size()) {
                return guess_clocks(by_content, rules_.window, rules_.clocks == Clocks::kSame);
            }
        }
        return guess_clocks(out_.list, rules_.window, rules_.clocks == Clocks::kSame);
    }

    // Return true if looks were aligned along a line that is not this one.
    [[nodiscard]] bool is_far(const ClockLine& line) const {
        const auto window = static_cast<std::int64_t>(rules_.window);
        return std::any_of(out_.list.begin(), out_.list.end(), [&](const Match& match) {
            return std::abs(line.at(match.time) - line_.at(match.time)) > window / 8;
        });
    }

    // Keep of the list what is near enough, and add the matches of other keys.
    void align(const ClockLine& line) {
        line_ = line;
        std::erase_if(out_.list, [&](const Match& match) {
            return std::abs(match.difference - line.at(match.time)) >
                   static_cast<std::int64_t>(rules_.window);
        });
        Aligner aligner(looks_, line, rules_.window);
        for (const std::span<const LookIndex> group : several_) {
            aligner.align(looks_of(group, looks_, a_), looks_of(group, looks_, b_), out_.list);
        }
        mark_matched();
        out_.translated_from = out_.list.size();
        if (rules_.nat) {
            for_each_content([&](std::span<const LookIndex> group) {
                aligner.align(looks_of(group, looks_, a_), looks_of(group, looks_, b_), out_.list);
            });
            mark_matched();
        }
    }

    void mark_matched() {
        out_.matched.assign(out_.matched.size(), false);
        for (const Match& match : out_.list) {
            out_.matched[match.a] = out_.matched[match.b] = true;
        }
    }

    // Call visit(looks) for each content, with its unmatched looks in order of time.
    template <typename Visit>
    void for_each_content(Visit visit) const {
        std::vector<std::pair<Digest, LookIndex>> left;
        for_each_unmatched(looks_, out_.matched, a_, b_, [&](LookIndex index) {
            if (looks_.content(index) != 0) {
                left.emplace_back(looks_.content(index), index);
            }
        });
        std::sort(left.begin(), left.end(), [&](const auto& x, const auto& y) {
            const auto rank = [&](const auto& one) {
                return std::tuple(one.first, looks_[one.second].time, one.second);
            };
            return rank(x) < rank(y);
        });
        std::vector<LookIndex> group;
        for (std::size_t i = 0; i < left.size(); ++i) {
            group.push_back(left[i].second);
            if (i + 1 == left.size() || left[i + 1].first != left[i].first) {
                visit(std::span<const LookIndex>(group));
                group.clear();
            }
        }
    }

    const LookStore& looks_;
    const KeyGroups& groups_;
    std::uint8_t a_;
    std::uint8_t b_;
    MatchRules rules_;
    std::vector<std::span<const LookIndex>> several_;
    ClockLine line_;  // along which looks were aligned
    Matches out_;
};

}  // namespace

Matches match_points(const LookStore& looks, const KeyGroups& groups, const Hosts& hosts,
                     std::uint8_t a, std::uint8_t b, const MatchRules& rules) {
    return Matcher(looks, groups, a, b, rules).match(hosts);
}

}  // namespace unecho::compare
