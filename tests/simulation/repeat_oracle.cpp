// SPDX-License-Identifier: BSD-3-Clause
#include "repeat_oracle.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace unecho::test {

using filter::RepeatCounters;

// With more looks of a key than this, the rule may not follow all.
constexpr std::size_t kMaxLooks = 200;

RepeatOracle::RepeatOracle(const filter::UnionSpec& spec)
    : spec_(spec),
      capacity_(std::bit_ceil(spec.looks)),
      accepted_capacity_(std::bit_ceil(spec.identified + 1)) {}

bool RepeatOracle::is_within(const Moment& then, const Moment& now, Nanoseconds limit) {
    if (is_one_burst(then, now)) {
        return limit > 0;
    }
    const Nanoseconds least = now.lo - std::min(now.lo, then.hi);
    const Nanoseconds most = now.hi - std::min(now.hi, then.lo);
    if (least < limit && most >= limit) {
        throw Unknown();
    }
    return most < limit;
}

// A full table drops the oldest look for a new one.
bool RepeatOracle::is_remembered(const Transmission& one) const {
    const bool maybe = pushed_lo_ - one.pushed_lo < capacity_;
    if (maybe && pushed_hi_ - one.pushed_hi >= capacity_) {
        throw Unknown();
    }
    return maybe;
}

bool RepeatOracle::is_doubled(const Population& population) {
    if (!population.known) {
        throw Unknown();
    }
    return population.first >= 32 && population.doubled > 0.75 * population.first &&
           population.first > 0.25 * (population.first + population.even);
}

void RepeatOracle::add_first(Population& population) {
    population.first += 1;
    if (population.first + population.even > 1024) {
        population.first /= 2;
        population.doubled /= 2;
        population.even /= 2;
    }
}

// Find the point's latest first look before this one. It belonged to a cycle if it was doubled and
// the key returns within twice the distance of its two looks.
void RepeatOracle::judge_cycle(Key& key, const Transmission* present, const Sight& sight,
                               Population& population) {
    for (auto one = key.live.rbegin(); one != key.live.rend(); ++one) {
        const auto found = one->looks.find(sight.point);
        if (&*one == present || one->twin || found == one->looks.end()) {
            continue;
        }
        Look& look = found->second;
        if (look.second && !look.even && !is_one_burst(look.first, *look.second)) {
            const Moment& second = *look.second;
            const Nanoseconds shortest = second.lo - std::min(second.lo, look.first.hi);
            const Nanoseconds longest = second.hi - look.first.lo;
            const bool is_even = is_within(second, sight.at, 2 * shortest);
            if (is_even != is_within(second, sight.at, 2 * longest) || shortest == 0) {
                throw Unknown();
            }
            if (is_even) {
                look.even = true;
                population.first -= 1;
                population.doubled -= 1;
                population.even += 1;
            }
        }
        break;
    }
    add_first(population);
}

void RepeatOracle::push(bool opens, const Moment& at) {
    if (pushed_lo_ == pushed_hi_ && ring_.size() == capacity_) {
        try {
            if (ring_.front().opens && is_within(ring_.front().at, at, spec_.window)) {
                count(&RepeatCounters::forgotten);
            }
        } catch (const Unknown&) {
            ++counted_.most.forgotten;
        }
        ring_.pop_front();
    } else if (pushed_hi_ >= capacity_) {
        ++counted_.most.forgotten;
    }
    if (pushed_lo_ == pushed_hi_) {
        ring_.push_back({opens, at});
    }
    ++pushed_lo_;
    ++pushed_hi_;
}

void RepeatOracle::count(std::uint64_t RepeatCounters::*counter) {
    ++(counted_.least.*counter);
    ++(counted_.most.*counter);
}

RepeatOracle::Counted RepeatOracle::take_counted() {
    return std::exchange(counted_, {});
}

void RepeatOracle::doubt_all(Nanoseconds now) {
    doubted_ = std::max(doubted_, now + spec_.window);
    populations_known_ = false;
    populations_.clear();
    accepted_.clear();
}

Disposition RepeatOracle::see(const Sight& sight) {
    Key& key = keys_[sight.key];
    const Counted before = counted_;
    try {
        if (sight.at.lo < std::max(key.doubted, doubted_)) {
            throw Unknown();
        }
        return judge(sight, key);
    } catch (const Unknown&) {
        counted_ = before;
        for (const auto& row : filter::kRepeatCounters) {
            ++(counted_.most.*row.value);
        }
        key.live.clear();
        key.doubted = sight.at.hi + spec_.window;
        if (has_evidence()) {
            populations_[sight.population].known = false;
        }
        ++pushed_hi_;  // one that may or may not have been added
        return Disposition::kUnknown;
    }
}

Disposition RepeatOracle::judge(const Sight& sight, Key& key) {
    std::deque<Transmission>& live = key.live;
    while (!live.empty() &&
           (!is_remembered(live.front()) || !is_within(live.front().at, sight.at, spec_.window))) {
        live.pop_front();
    }
    std::size_t looks = 0;
    for (const Transmission& one : live) {
        looks += one.looks.size();
    }
    if (looks > kMaxLooks) {
        throw Unknown();
    }
    Population* population = nullptr;
    if (has_evidence()) {
        population =
            &populations_.try_emplace(sight.population, Population{.known = populations_known_})
                 .first->second;
    }
    Transmission* unanswered = nullptr;
    const Look* last = nullptr;
    bool twin = false;
    bool third = false;
    for (Transmission& one : live) {
        const auto found = one.looks.find(sight.point);
        if (found == one.looks.end()) {
            unanswered = &one;
            break;
        }
        Look& look = found->second;
        last = &look;
        if (spec_.same_port == 0 || !is_within(look.first, sight.at, spec_.same_port)) {
            continue;
        }
        if (look.count == 0 || look.count >= spec_.views) {
            third |= look.count != 0;
            continue;
        }
        if (look.tags != sight.tags && look.tags != 0 && sight.tags != 0) {
            continue;
        }
        const bool trusted = population == nullptr || is_doubled(*population);
        if (population != nullptr && !look.second && !one.twin) {
            look.second = sight.at;
            population->doubled += 1;
            if (!trusted) {
                twin = true;
                ++look.count;
            }
        }
        if (trusted) {
            ++look.count;
            count(&RepeatCounters::second_looks);
            return Disposition::kCopy;
        }
    }
    if (population != nullptr && !twin && (unanswered == nullptr || !unanswered->twin)) {
        judge_cycle(key, unanswered, sight, *population);
    }
    Look look;
    look.first = sight.at;
    look.tags = sight.tags;
    look.ttl = sight.ttl;
    if (unanswered != nullptr) {
        // Without second looks, the opening look holds the first answer.
        const bool in_opening_look = spec_.same_port == 0 && unanswered->looks.size() == 1;
        unanswered->looks[sight.point] = look;
        if (!in_opening_look) {
            push(false, sight.at);
        }
        return Disposition::kCopy;
    }
    if (last != nullptr) {
        count(twin ? &RepeatCounters::untrusted_looks : &RepeatCounters::kept_repeats);
        if (third && !twin) {
            count(&RepeatCounters::third_looks);
        }
        if (sight.ttl < last->ttl) {
            count(&RepeatCounters::loop_suspects);
        }
    }
    look.count = twin ? 0 : 1;
    push(true, sight.at);
    live.push_back({sight.at, pushed_lo_, pushed_hi_, twin, {{sight.point, look}}});
    return Disposition::kKept;
}

void RepeatOracle::observe_identified(const Sight& sight, Disposition fate) {
    if (!has_evidence()) {
        return;
    }
    Population& population =
        populations_.try_emplace(sight.population, Population{.known = populations_known_})
            .first->second;
    if (fate == Disposition::kKept) {
        accepted_[sight.key] = {++accepted_pushed_, sight.at, sight.point, false};
        add_first(population);
        return;
    }
    const auto found = accepted_.find(sight.key);
    if (fate == Disposition::kUnknown || found == accepted_.end()) {
        population.known = false;
        accepted_.erase(sight.key);
        ++accepted_pushed_;  // one that may or may not have been added
        return;
    }
    Accepted& accepted = found->second;
    try {
        if (accepted_pushed_ - accepted.number >= accepted_capacity_) {
            throw Unknown();
        }
        if (accepted.point == sight.point && !accepted.doubled &&
            is_within(accepted.at, sight.at, spec_.same_port)) {
            accepted.doubled = true;
            population.doubled += 1;
        }
    } catch (const Unknown&) {
        population.known = false;
        accepted_.erase(found);
    }
}

}  // namespace unecho::test
