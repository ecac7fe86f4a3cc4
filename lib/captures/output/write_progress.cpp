// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/write_progress.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace unecho::capture {
namespace {

constexpr std::size_t kMaxOutputs = 8;  // pipes and the like, at a time
constexpr std::size_t kMostName = 256;

// Changed by its output only. The handler reads it once it has a name.
struct Counts {
    std::atomic<bool> taken{false};
    std::atomic<std::size_t> name_size{0};  // 0: not registered
    std::array<char, kMostName> name{};
    std::atomic<std::uint64_t> packets{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> on_their_way{0};
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

std::array<Counts, kMaxOutputs> counts;
std::atomic<std::uint64_t> finished_files{0};

Counts* slot_of(int slot) {
    return slot < 0 ? nullptr : &counts[static_cast<std::size_t>(slot)];
}

// A text of bounded size. Leaves out what does not fit.
class Text {
  public:
    explicit Text(std::span<char> to) : to_(to) {}

    Text& add(std::string_view more) {
        const std::size_t count = std::min(more.size(), to_.size() - size_);
        std::copy_n(more.data(), count, to_.data() + size_);
        size_ += count;
        return *this;
    }
    Text& add(std::uint64_t number) {
        std::array<char, 32> digits{};
        std::size_t at = digits.size();
        for (unsigned count = 0; count == 0 || number != 0; number /= 10) {
            if (count != 0 && count % 3 == 0) {
                digits[--at] = ',';
            }
            digits[--at] = static_cast<char>('0' + number % 10);
            ++count;
        }
        return add(std::string_view(digits.data() + at, digits.size() - at));
    }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    std::span<char> to_;
    std::size_t size_ = 0;
};

}  // namespace

int register_output(std::string_view name) noexcept {
    for (std::size_t i = 0; i < counts.size(); ++i) {
        Counts& slot = counts[i];
        if (slot.taken.exchange(true)) {
            continue;
        }
        const std::size_t size = std::min(name.size(), kMostName);
        std::copy_n(name.data(), size, slot.name.data());
        slot.packets = slot.bytes = slot.on_their_way = 0;
        slot.name_size = size;
        return static_cast<int>(i);
    }
    return -1;
}

void forget_output(int slot) noexcept {
    if (Counts* const known = slot_of(slot); known != nullptr) {
        known->name_size = 0;
        known->taken = false;
    }
}

void begin_write(int slot, std::size_t bytes) noexcept {
    if (Counts* const known = slot_of(slot); known != nullptr) {
        known->on_their_way = bytes;
    }
}

void end_write(int slot, std::size_t bytes) noexcept {
    if (Counts* const known = slot_of(slot); known != nullptr) {
        known->bytes += bytes;
        known->on_their_way = 0;
    }
}

void count_packets_written(int slot, std::uint64_t packets) noexcept {
    if (Counts* const known = slot_of(slot); known != nullptr) {
        known->packets = packets;
    }
}

WriteProgress written(int slot) noexcept {
    const Counts* const known = slot_of(slot);
    return known == nullptr ? WriteProgress() : WriteProgress{known->packets, known->bytes};
}

void count_finished_file() noexcept {
    ++finished_files;
}

std::size_t format_write_progress(std::span<char> text) noexcept {
    Text out(text);
    if (const std::uint64_t files = finished_files; files != 0) {
        out.add("; ").add(files).add(files == 1 ? " file was finished" : " files were finished");
    }
    for (const Counts& slot : counts) {
        const std::size_t name_size = slot.name_size;
        if (name_size == 0) {
            continue;
        }
        const std::uint64_t on_their_way = slot.on_their_way;
        out.add("; ").add(std::string_view(slot.name.data(), name_size)).add(" got ");
        if (slot.packets != 0) {
            out.add(slot.packets.load()).add(" packets, ");
        }
        out.add(slot.bytes.load()).add(" bytes");
        if (on_their_way != 0) {
            out.add(" (up to ").add(on_their_way).add(" more were on their way)");
        }
    }
    return out.size();
}

}  // namespace unecho::capture
