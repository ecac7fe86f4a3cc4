// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/looks/look.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/prefetch.h"

namespace unecho::compare {

Result<LookStore> LookStore::make(std::size_t inputs, std::uint64_t most_of_each, bool contents) {
    auto memory = MappedMemory::make(inputs * most_of_each * bytes_per_look(contents),
                                     MappedMemory::Touch::kLater);
    UNECHO_TRY(memory);
    return LookStore(std::move(*memory), inputs, most_of_each, contents);
}

LookStore::LookStore(MappedMemory memory, std::size_t inputs, std::uint64_t most, bool contents)
    : memory_(std::move(memory)),
      looks_(reinterpret_cast<Look*>(memory_.bytes().data())),
      contents_(contents ? reinterpret_cast<Digest*>(looks_ + inputs * most) : nullptr),
      most_(most),
      counts_(inputs) {}

std::uint64_t LookStore::count() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

namespace {

constexpr LookIndex kNoLook = ~LookIndex{0};

// Chains of looks with equal digests, in the order of their indices.
class Chains {
  public:
    explicit Chains(const LookStore& looks)
        : looks_(looks),
          slots_(std::bit_ceil(std::max<std::uint64_t>(looks.count() + looks.count() / 4, 16))),
          next_(looks.count(), kNoLook),
          follows_(looks.count()),
          shift_(64U - static_cast<unsigned>(std::countr_zero(slots_.size()))) {
        std::uint64_t before = 0;
        for (std::size_t input = 0; input < looks.inputs(); ++input) {
            base_.push_back(before);
            before += looks.count_of(input);
        }
        for (std::size_t input = looks.inputs(); input-- > 0;) {
            insert(input);
        }
    }

    // position: of a look among all looks.
    [[nodiscard]] bool is_first(std::uint64_t position) const { return !follows_[position]; }
    [[nodiscard]] LookIndex after(std::uint64_t position) const { return next_[position]; }
    [[nodiscard]] std::size_t input_of(LookIndex look) const {
        std::size_t input = 0;
        while (input + 1 < base_.size() && look >= looks_.first_of(input + 1)) {
            ++input;
        }
        return input;
    }
    [[nodiscard]] std::uint64_t position_of(LookIndex look, std::size_t input) const {
        return base_[input] + (look - looks_.first_of(input));
    }

  private:
    struct Slot {
        std::uint32_t mark = 0;
        LookIndex first = kNoLook;
    };

    [[nodiscard]] std::uint64_t home(Digest digest) const { return digest >> shift_; }

    // Return the slot of the digest, or a free one.
    [[nodiscard]] Slot& slot_of(Digest digest) {
        const auto mark = static_cast<std::uint32_t>(digest);
        std::uint64_t at = home(digest);
        while (slots_[at].first != kNoLook &&
               (slots_[at].mark != mark || looks_[slots_[at].first].digest != digest)) {
            at = (at + 1) & (slots_.size() - 1);
        }
        slots_[at].mark = mark;
        return slots_[at];
    }

    void insert(std::size_t input) {
        constexpr std::uint64_t kAhead = 16;
        const LookIndex first = looks_.first_of(input);
        for (std::uint64_t i = looks_.count_of(input); i-- > 0;) {
            if (i >= kAhead) {
                prefetch_line(
                    &slots_[home(looks_[static_cast<LookIndex>(first + i - kAhead)].digest)]);
            }
            const auto look = static_cast<LookIndex>(first + i);
            Slot& slot = slot_of(looks_[look].digest);
            if (slot.first != kNoLook) {
                follows_[position_of(slot.first, input_of(slot.first))] = true;
            }
            next_[base_[input] + i] = std::exchange(slot.first, look);
        }
    }

    const LookStore& looks_;
    std::vector<Slot> slots_;
    std::vector<LookIndex> next_;  // of the same digest; by position among all looks
    std::vector<bool> follows_;    // another look of the same digest
    std::vector<std::uint64_t> base_;
    unsigned shift_;
};

}  // namespace

KeyGroups::KeyGroups(const LookStore& looks) : looks_(&looks) {
    const Chains chains(looks);
    const auto rank = [&](LookIndex one) {
        return std::tuple(looks[one].point, looks[one].time, one);
    };
    const auto before = [&](LookIndex x, LookIndex y) { return rank(x) < rank(y); };
    order_.reserve(looks.count());
    std::uint64_t position = 0;
    for (std::size_t input = 0; input < looks.inputs(); ++input) {
        const LookIndex first = looks.first_of(input);
        for (std::uint64_t i = 0; i < looks.count_of(input); ++i, ++position) {
            if (!chains.is_first(position)) {
                continue;
            }
            const auto begin = static_cast<std::ptrdiff_t>(order_.size());
            begins_.push_back(static_cast<std::uint32_t>(begin));
            order_.push_back(static_cast<LookIndex>(first + i));
            // Looks of different inputs are in order.
            bool ordered = true;
            std::size_t last = input;
            for (LookIndex at = chains.after(position); at != kNoLook;) {
                order_.push_back(at);
                const std::size_t of = chains.input_of(at);
                ordered = ordered && of != last;
                last = of;
                at = chains.after(chains.position_of(at, of));
            }
            if (!ordered && !std::is_sorted(order_.begin() + begin, order_.end(), before)) {
                std::sort(order_.begin() + begin, order_.end(), before);
            }
        }
    }
    begins_.push_back(static_cast<std::uint32_t>(order_.size()));
}

}  // namespace unecho::compare
