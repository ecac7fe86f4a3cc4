// SPDX-License-Identifier: BSD-3-Clause
#include "peers/dpdk_peers.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_malloc.h>
#include <rte_member.h>

#include "common/engines.h"
#include "common/machine.h"
#include "peers/exact_sets.h"

namespace unecho::bench {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

// Return the bytes allocated from DPDK's heaps.
std::uint64_t heap_bytes() {
    std::uint64_t bytes = 0;
    for (int socket = 0; socket < RTE_MAX_NUMA_NODES; ++socket) {
        rte_malloc_socket_stats stats{};
        if (rte_malloc_get_socket_stats(socket, &stats) == 0) {
            bytes += stats.heap_allocsz_bytes;
        }
    }
    return bytes;
}

Pages heap_pages() {
    return rte_eal_has_hugepages() != 0 ? Pages::kHuge : Pages::kPlain;
}

using KeyPointers = std::array<const void*, kBurst>;

void point_at(std::span<const Digest> digests, KeyPointers& keys) noexcept {
    for (std::size_t i = 0; i < digests.size(); ++i) {
        keys[i] = &digests[i];
    }
}

struct MemberDeleter {
    void operator()(rte_member_setsum* member) const { rte_member_free(member); }
};
using Member = std::unique_ptr<rte_member_setsum, MemberDeleter>;

Result<Member> make_member(rte_member_parameters params, const char* name) {
    params.name = name;
    params.key_len = sizeof(Digest);
    params.prim_hash_seed = 1;
    params.sec_hash_seed = 11;
    params.socket_id = SOCKET_ID_ANY;
    rte_member_setsum* made = rte_member_create(&params);
    if (made == nullptr) {
        return fail(Errc::kNoMemory, std::string("rte_member_create: ") + rte_strerror(rte_errno));
    }
    return Member(made);
}

constexpr member_set_t kSet = 1;
constexpr unsigned kSketchRows = 5;
constexpr std::uint64_t kMaxSketchBytes = 1536 * kMiB;

class MemberCache {
  public:
    explicit MemberCache(Member member) : member_(std::move(member)) {}

    void advance(filter::Moment /*moment*/) noexcept {}
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        KeyPointers keys;
        std::array<member_set_t, kBurst> sets;
        point_at(digests, keys);
        rte_member_lookup_bulk(member_.get(), keys.data(),
                               static_cast<std::uint32_t>(digests.size()), sets.data());
        std::uint64_t echoes = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            const bool echo = sets[i] != RTE_MEMBER_NO_MATCH;
            echoes |= std::uint64_t{echo} << i;
            if (!echo) {
                rte_member_add(member_.get(), keys[i], kSet);
            }
        }
        return echoes;
    }

  private:
    Member member_;
};

// Two filters of a kind in turn; a turn clears the older one.
class MemberPair {
  public:
    MemberPair(Member active, Member older)
        : active_(std::move(active)), older_(std::move(older)) {}

    void advance(filter::Moment moment) noexcept {
        if (moment.generation != generation_) {
            generation_ = moment.generation;
            std::swap(active_, older_);
            rte_member_reset(active_.get());
        }
    }

  protected:
    [[nodiscard]] const rte_member_setsum* active() const noexcept { return active_.get(); }
    [[nodiscard]] const rte_member_setsum* older() const noexcept { return older_.get(); }

  private:
    Member active_;
    Member older_;
    std::uint64_t generation_ = 0;
};

class MemberVbf : public MemberPair {
  public:
    using MemberPair::MemberPair;

    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        KeyPointers keys;
        std::array<member_set_t, kBurst> young;
        std::array<member_set_t, kBurst> old;
        point_at(digests, keys);
        const auto n = static_cast<std::uint32_t>(digests.size());
        rte_member_lookup_bulk(active(), keys.data(), n, young.data());
        rte_member_lookup_bulk(older(), keys.data(), n, old.data());
        std::uint64_t echoes = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            const bool echo = (young[i] | old[i]) != RTE_MEMBER_NO_MATCH;
            echoes |= std::uint64_t{echo} << i;
            if (!echo) {
                rte_member_add(active(), keys[i], kSet);
            }
        }
        return echoes;
    }
};

class MemberSketch : public MemberPair {
  public:
    using MemberPair::MemberPair;

    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        std::uint64_t echoes = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            std::uint64_t young = 0;
            std::uint64_t old = 0;
            rte_member_query_count(active(), &digests[i], &young);
            rte_member_query_count(older(), &digests[i], &old);
            const bool echo = (young | old) != 0;
            echoes |= std::uint64_t{echo} << i;
            if (!echo) {
                rte_member_add(active(), &digests[i], kSet);
            }
        }
        return echoes;
    }
};

struct HashDeleter {
    void operator()(rte_hash* hash) const { rte_hash_free(hash); }
};
using Hash = std::unique_ptr<rte_hash, HashDeleter>;

class HashWindow {
  public:
    HashWindow(Hash hash, std::uint64_t keys, std::unique_ptr<Arena> arena)
        : hash_(std::move(hash)),
          arena_(std::move(arena)),
          ring_(keys, ArenaAllocator<Digest>(*arena_)) {}

    void advance(filter::Moment /*moment*/) noexcept {}
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        KeyPointers keys;
        std::array<std::int32_t, kBurst> positions;
        point_at(digests, keys);
        rte_hash_lookup_bulk(hash_.get(), keys.data(), static_cast<std::uint32_t>(digests.size()),
                             positions.data());
        std::uint64_t echoes = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            const bool echo = positions[i] >= 0;
            echoes |= std::uint64_t{echo} << i;
            if (!echo) {
                replace_oldest(digests[i]);
            }
        }
        return echoes;
    }

  private:
    void replace_oldest(Digest digest) noexcept {
        if (ring_.full()) {
            const Digest oldest = ring_.oldest(0);
            rte_hash_del_key(hash_.get(), &oldest);
        }
        rte_hash_add_key(hash_.get(), &digest);
        ring_.push(digest);
    }

    Hash hash_;
    std::unique_ptr<Arena> arena_;
    ExpiryRing<ArenaAllocator<Digest>> ring_;
};

// in_turn: a pair, whose generations are whole windows.
Facts facts_for(std::string geometry, std::uint64_t keys, std::uint64_t bytes, bool in_turn) {
    Facts facts;
    facts.geometry = std::move(geometry);
    facts.bytes = bytes;
    facts.window_keys = keys;
    facts.generation_keys = in_turn ? keys : 0;
    facts.fill_keys = 2 * keys;
    return facts;
}

template <typename Pair>
Result<std::unique_ptr<Subject>> make_pair_of(const rte_member_parameters& params,
                                              std::string geometry, std::uint64_t keys,
                                              double predicted) {
    const std::uint64_t before = heap_bytes();
    auto first = make_member(params, "unecho_first");
    if (!first) {
        return tl::unexpected(first.error());
    }
    auto second = make_member(params, "unecho_second");
    if (!second) {
        return tl::unexpected(second.error());
    }
    Facts facts = facts_for(std::move(geometry), keys, heap_bytes() - before, true);
    facts.predicted = predicted;
    return std::make_unique<SubjectOf<Pair>>(facts, heap_pages(), std::move(*first),
                                             std::move(*second));
}

}  // namespace

Status start_dpdk(unsigned cpu) {
    const bool huge = free_hugepage_bytes() >= 64 * kMiB;
    std::vector<std::string> words{"peers_bench", "--lcores", "0@" + std::to_string(cpu),
                                   "--no-pci", "--no-telemetry", "--log-level=lib.eal:4",
                                   // They log what they are, and each key that does not fit.
                                   "--log-level=lib.member:1", "--log-level=lib.hash:1",
                                   "--force-max-simd-bitwidth=512"};
    if (huge) {
        words.emplace_back("--in-memory");
    } else {
        words.insert(words.end(), {"--no-huge", "--no-shconf", "-m", "3072"});
    }
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0) {
        return fail(Errc::kUnsupported, std::string("DPDK: ") + rte_strerror(rte_errno));
    }
    return {};
}

void stop_dpdk() {
    rte_eal_cleanup();
}

Result<std::unique_ptr<Subject>> make_member_cache(std::uint64_t keys, unsigned factor) {
    rte_member_parameters params{};
    params.type = RTE_MEMBER_TYPE_HT;
    params.is_cache = 1;
    params.num_keys = static_cast<std::uint32_t>(keys * factor);
    const std::uint64_t before = heap_bytes();
    auto member = make_member(params, "unecho_cache");
    if (!member) {
        return tl::unexpected(member.error());
    }
    const Facts facts = facts_for(text("rte_member HT, %u entries a key", factor), keys,
                                  heap_bytes() - before, false);
    return std::make_unique<SubjectOf<MemberCache>>(facts, heap_pages(), std::move(*member));
}

Result<std::unique_ptr<Subject>> make_member_vbf(std::uint64_t keys, double false_positives) {
    rte_member_parameters params{};
    params.type = RTE_MEMBER_TYPE_VBF;
    params.num_keys = static_cast<std::uint32_t>(keys);
    params.num_set = 1;
    params.false_positive_rate = static_cast<float>(false_positives / 2);
    return make_pair_of<MemberVbf>(params, "2 x rte_member vBF", keys, false_positives);
}

Result<std::unique_ptr<Subject>> make_member_sketch(std::uint64_t keys, double false_positives) {
    // A sketch has kRows rows of 4 / error_rate counters. A new digest is a false echo if none of
    // its counters is 0 in either of two full sketches.
    const double each = 1 - std::sqrt(1 - false_positives);
    const double taken = std::pow(each, 1.0 / kSketchRows);
    const double columns = static_cast<double>(keys) / -std::log1p(-taken);
    const auto bytes = static_cast<std::uint64_t>(2 * kSketchRows * columns * sizeof(Digest));
    if (bytes > kMaxSketchBytes) {
        return fail(Errc::kNoMemory, "would take " + std::to_string(bytes / kMiB) + " MiB");
    }
    rte_member_parameters params{};
    params.type = RTE_MEMBER_TYPE_SKETCH;
    params.error_rate = static_cast<float>(4 / columns);
    params.sample_rate = 1;
    params.top_k = 64;
    return make_pair_of<MemberSketch>(params, "2 x rte_member sketch", keys, false_positives);
}

Result<std::unique_ptr<Subject>> make_rte_hash(std::uint64_t keys) {
    rte_hash_parameters params{};
    params.name = "unecho_hash";
    // Cuckoo buckets need spare room.
    params.entries = static_cast<std::uint32_t>(keys + keys / 8);
    params.key_len = sizeof(Digest);
    params.hash_func = rte_hash_crc;
    params.socket_id = SOCKET_ID_ANY;
    const std::uint64_t before = heap_bytes();
    Hash hash(rte_hash_create(&params));
    if (hash == nullptr) {
        return fail(Errc::kNoMemory, std::string("rte_hash_create: ") + rte_strerror(rte_errno));
    }
    const std::uint64_t bytes = heap_bytes() - before + keys * sizeof(Digest);
    Facts facts = facts_for("rte_hash and a ring", keys, bytes, false);
    facts.predicted = 0;
    return std::make_unique<SubjectOf<HashWindow>>(facts, heap_pages(), std::move(hash), keys,
                                                   std::make_unique<Arena>(heap_pages()));
}

}  // namespace unecho::bench
