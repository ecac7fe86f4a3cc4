// SPDX-License-Identifier: BSD-3-Clause
#include "filters/repeats/union_rule.h"

#include <array>
#include <atomic>
#include <bit>
#include <optional>
#include <type_traits>

namespace unecho::filter {
namespace {

std::uint64_t looks_of(const UnionParams& params) noexcept {
    return std::bit_ceil(params.spec().looks);
}

std::uint64_t identified_of(const UnionParams& params) noexcept {
    return std::bit_ceil(params.has_evidence() ? params.spec().identified + 1 : 1);
}

std::uint64_t populations_of(const UnionParams& params) noexcept {
    return params.has_evidence() ? std::bit_ceil(params.spec().populations) : 0;
}

// Return true if two looks can show one frame. A port that mirrors a trunk may remove the tags.
constexpr bool may_be_one(std::uint32_t tags, std::uint32_t others) noexcept {
    return tags == others || tags == 0 || others == 0;  // planted: rule-second-look-of-another-vlan
}

}  // namespace

template <typename Node>
std::uint64_t BasicUnionRule<Node>::bytes(const UnionParams& params) noexcept {
    return ChainedRing<Node>::bytes(looks_of(params)) +
           ChainedRing<Accepted>::bytes(identified_of(params)) +
           MirrorEvidence::bytes(populations_of(params));
}

template <typename Node>
BasicUnionRule<Node>::BasicUnionRule(const UnionParams& params, std::span<std::byte> memory,
                                     Contents contents) noexcept
    : params_(params),
      looks_(looks_of(params), params.spec().grows, memory, contents),
      accepted_(identified_of(params), params.spec().grows,
                memory.subspan(ChainedRing<Node>::bytes(looks_of(params))), contents),
      evidence_(populations_of(params),
                memory.subspan(ChainedRing<Node>::bytes(looks_of(params)) +
                               ChainedRing<Accepted>::bytes(identified_of(params))),
                contents),
      kept_(params.spec().window) {}

template <typename Node>
bool BasicUnionRule<Node>::is_consistent(const UnionParams& params,
                                         std::span<std::byte> memory) noexcept {
    return ChainedRing<Node>::is_consistent(looks_of(params), memory) &&
           ChainedRing<Accepted>::is_consistent(
               identified_of(params), memory.subspan(ChainedRing<Node>::bytes(looks_of(params))));
}

// The looks of a packet's point at transmissions of the packet's key.
template <typename Node>
struct BasicUnionRule<Node>::Past {
    std::optional<Sequence> newest;  // its newest look at a live transmission
    std::optional<Sequence> plain;   // the same, ignoring transmissions opened by an untrusted look
    std::optional<Sequence> oldest;  // the oldest live transmission; used if the point has no look
    std::uint8_t ttl = 0;            // of the newest look
    bool third = false;              // a transmission within same_port has all its views already
    unsigned recent = 0;             // number of its looks within same_port, newest first
    std::array<Sequence, kMaxRecent> looks;
};

// Drop at most two nodes. A packet adds one, so the rest follows; until then its age excludes it.
template <typename Node>
void BasicUnionRule<Node>::expire(Nanoseconds now) noexcept {
    for (unsigned i = 0; i < 2 && looks_.live() != 0; ++i) {
        const Look& oldest = looks_[looks_.tail()];
        const bool opens = (oldest.flags & Look::kOpens) != 0;
        if (opens ? is_young(oldest.time, now) : looks_.is_live(oldest.link)) {
            break;
        }
        looks_.drop_tail();
    }
}

// Search the chain from the newest look to older ones.
template <typename Node>
auto BasicUnionRule<Node>::past_of(Nanoseconds now, const Observation& seen) noexcept -> Past {
    const UnionSpec& spec = params_.spec();
    const bool judges = params_.has_evidence();
    // Once the point's newest looks are known, older ones than this do not matter.
    const Nanoseconds reach = judges ? 3 * spec.same_port : spec.same_port;
    Past past;
    unsigned steps = 0;
    for (Sequence at = looks_.head(seen.digest); looks_.is_live(at); at = looks_.older(at)) {
        const Look& look = looks_[at];
        if (look.digest != seen.digest) {
            continue;
        }
        const bool opens = (look.flags & Look::kOpens) != 0;
        if ((opens && !is_young(look.time, now)) || ++steps > spec.most_steps) {
            break;  // everything after it is too old as well
        }
        if (opens) {  // planted: rule-answers-newest((opens && !past.oldest))
            past.oldest = at;
        }
        if (spec.same_port == 0) {
            // A look in its own node may be newer than one in the opening look of a later
            // transmission: search until transmissions are older than the one that is known.
            if (past.newest && !is_newer(at, transmission_of(*past.newest))) {
                break;
            }
            const bool answered = (look.flags & Look::kAnswered) != 0 && look.apart == seen.point;
            if (!answered && look.point != seen.point) {
                continue;
            }
            const Sequence transmission = answered ? at : transmission_of(at);
            if (looks_.is_live(transmission) && is_young(looks_[transmission].time, now) &&
                (!past.newest || is_newer(transmission, transmission_of(*past.newest)))) {
                past.newest = at;
                past.ttl = answered ? look.count : look.ttl;
            }
            continue;
        }
        const bool known = past.newest && (past.plain || !judges);
        if (known && now - look.time >= reach) {
            break;
        }
        if (look.point != seen.point) {
            continue;
        }
        const Sequence transmission = transmission_of(at);
        if (!looks_.is_live(transmission) || !is_young(looks_[transmission].time, now)) {
            continue;  // a look at a forgotten transmission
        }
        if (!past.newest) {
            past.newest = at;
            past.ttl = look.ttl;
        }
        if (!past.plain && (looks_[transmission].flags & Look::kTwin) == 0) {
            past.plain = at;
        }
        if (now - look.time < spec.same_port && past.recent < kMaxRecent) {
            past.looks[past.recent++] = at;
        }
    }
    return past;
}

// Note the point's look at a transmission: in its opening look if there is room, else in a node.
template <typename Node>
void BasicUnionRule<Node>::note_look(Nanoseconds now, const Observation& seen,
                                     const OriginalPacket& packet, Sequence transmission) noexcept {
    Look& opened = looks_[transmission];
    if (params_.spec().same_port != 0 || (opened.flags & Look::kAnswered) != 0) {
        remember(now, seen, packet, transmission, 0);
        return;
    }
    opened.apart = seen.point;
    opened.count = seen.ttl;
    // A process that is killed here leaves a look without an answer.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    opened.flags |= Look::kAnswered;
}

template <typename Node>
void BasicUnionRule<Node>::answer(Sequence transmission) noexcept {
    const Node& opened = looks_[transmission];
    // Memory left by a killed process or another version may hold any byte here.
    answered_port_ = opened.port % kMaxPorts;
    if constexpr (std::is_same_v<Node, SightedLook>) {
        answered_ = {opened.time, opened.number, static_cast<std::uint32_t>(opened.file)};
    }
}

// Return true if the packet is a second look at a transmission that its point saw within same_port,
// the oldest first. twin: set if it looks like one but is not trusted.
template <typename Node>
bool BasicUnionRule<Node>::second_look(Nanoseconds now, const Observation& seen, Past& past,
                                       MirrorEvidence::Population* population,
                                       bool& twin) noexcept {
    for (unsigned i = past.recent; i-- > 0;) {
        Look& look = looks_[past.looks[i]];
        const Sequence transmission = transmission_of(past.looks[i]);
        if (look.count >= params_.spec().views) {  // planted: rule-views-off-by-one
            past.third |= look.count != Look::kNever;
            continue;
        }
        if (!may_be_one(look.tags, seen.tags)) {
            continue;
        }
        bool trusted = true;
        if (population != nullptr) {
            trusted = population->is_doubled();
            if ((look.flags & Look::kJudged) == 0 &&
                (looks_[transmission].flags & Look::kTwin) == 0) {
                look.flags |= Look::kJudged;
                look.apart = static_cast<std::uint32_t>(now - look.time);
                population->doubled += 1;
                if (!trusted) {
                    twin = true;
                    ++look.count;
                }
            }
        }
        if (trusted) {
            ++look.count;
            ++counters_.second_looks;  // planted: rule-second-look-not-counted
            answer(transmission);
            return true;
        }
    }
    return false;
}

// before: the point's previous look at a transmission that no untrusted second look opened.
template <typename Node>
void BasicUnionRule<Node>::first_look(Nanoseconds now, std::optional<Sequence> before,
                                      MirrorEvidence::Population& population) noexcept {
    if (before) {
        Look& look = looks_[*before];
        // planted: rule-cycle-is-evidence
        if ((look.flags & Look::kJudged) != 0 && look.apart > 0 &&
            now - (look.time + look.apart) < 2 * Nanoseconds{look.apart}) {
            look.apart = 0;
            population.first -= 1;
            population.doubled -= 1;
            population.even += 1;
        }
    }
    population.look();
}

template <typename Node>
auto BasicUnionRule<Node>::remember(Nanoseconds now, const Observation& seen,
                                    const OriginalPacket& packet, Sequence transmission,
                                    std::uint8_t flags) noexcept -> Sequence {
    if (looks_.is_full()) {
        const Look& oldest = looks_[looks_.tail()];
        if ((oldest.flags & Look::kOpens) != 0 && is_young(oldest.time, now)) {
            ++counters_.forgotten;  // planted: rule-forgotten-not-counted
            kept_.forget(oldest.time, now);
        }
    }
    Node node{};
    node.digest = seen.digest;
    node.time = now;
    node.link = transmission;
    node.point = seen.point;
    node.tags = seen.tags;
    node.count = (flags & Look::kTwin) != 0 ? Look::kNever : 1;
    node.flags = flags;
    node.ttl = seen.ttl;
    node.port = seen.port;
    if constexpr (std::is_same_v<Node, SightedLook>) {
        node.number = packet.number;
        node.file = packet.file;
    }
    return looks_.push(node);
}

template <typename Node>
bool BasicUnionRule<Node>::observe(Nanoseconds now, const Observation& seen,
                                   const OriginalPacket& packet) noexcept {
    expire(now);
    MirrorEvidence::Population* const population =
        params_.has_evidence() ? &evidence_.of(seen.population) : nullptr;
    Past past = past_of(now, seen);
    bool twin = false;
    if (past.recent != 0 && second_look(now, seen, past, population, twin)) {
        return true;
    }
    // The point has shown the oldest transmissions of the key; `next` is the oldest not shown.
    std::optional<Sequence> next = past.oldest;
    std::optional<Sequence> last;
    if (past.newest) {
        last = transmission_of(*past.newest);
        const Sequence behind = looks_[*last].link;
        next = behind == *last ? std::nullopt : std::optional(behind);
    }
    const bool counts =
        population != nullptr && !twin && (!next || (looks_[*next].flags & Look::kTwin) == 0);
    if (counts) {
        first_look(now, past.plain, *population);
    }
    if (next) {
        answer(*next);
        note_look(now, seen, packet, *next);
        return true;
    }
    if (last) {
        ++(twin ? counters_.untrusted_looks : counters_.kept_repeats);
        counters_.third_looks += std::uint64_t{past.third && !twin};
        counters_.loop_suspects += std::uint64_t{seen.ttl < past.ttl};
    }
    const std::uint8_t flags = twin ? Look::kOpens | Look::kTwin : Look::kOpens;
    const Sequence opened = remember(now, seen, packet, 0, flags);
    looks_[opened].link = opened;
    if (last && looks_.is_live(*last)) {
        looks_[*last].link = opened;
    }
    return false;
}

template <typename Node>
void BasicUnionRule<Node>::observe_identified(Nanoseconds now, const Observation& seen,
                                              bool copy) noexcept {
    MirrorEvidence::Population& population = evidence_.of(seen.population);
    if (!copy) {
        accepted_.push({seen.digest, now, 0, seen.point, 0, 0});
        population.look();
        return;
    }
    for (Sequence at = accepted_.head(seen.digest); accepted_.is_live(at);
         at = accepted_.older(at)) {
        Accepted& accepted = accepted_[at];
        if (accepted.digest != seen.digest) {
            continue;
        }
        if (accepted.point == seen.point && accepted.doubled == 0 &&
            now - accepted.time < params_.spec().same_port) {
            accepted.doubled = 1;
            population.doubled += 1;
        }
        return;
    }
}

template class BasicUnionRule<Look>;
template class BasicUnionRule<SightedLook>;

}  // namespace unecho::filter
