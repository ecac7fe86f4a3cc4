// SPDX-License-Identifier: BSD-3-Clause
#include "control/kept_state.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <utility>

#include <rte_cycles.h>

#include "packet/digests.h"

namespace unecho::control {
namespace {

// Raised with every change of what lies in the files.
constexpr std::uint64_t kFormat = 1;
constexpr std::uint64_t kMagic = 0x6F686365'6E750000 + kFormat;  // "..unecho", the number first

constexpr const char* kClockFile = "clock";
constexpr std::string_view kFilterPrefix = "filter-";

// Of the counter and the kernel's clock, over the time between two processes.
constexpr Nanoseconds kClockError = 5 * kMillisecond;
constexpr Nanoseconds kClockDrift = 5'000;  // one part of this

// Before the filter's own memory.
struct Head {
    std::uint64_t magic;  // written when all the rest is
    char description[1016];
    filter::Ageing ageing;
};
constexpr std::size_t kHeadBytes = filter::align_to_line(sizeof(Head));

Head& head_of(std::span<std::byte> file) {
    return *reinterpret_cast<Head*>(file.data());
}

Nanoseconds boot_time() {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

std::string boot_id() {
    std::string id;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
    return id;
}

std::string text_of(const packet::Tunnels& tunnels) {
    std::string text;
    for (const packet::EncapsulationInfo& one : packet::kEncapsulations) {
        text += tunnels.listed().has(one.encapsulation) ? std::string(one.name) + " " : "";
    }
    const packet::Tunnels::Signs& signs = tunnels.signs();
    for (unsigned i = 0; i < signs.destination_count; ++i) {
        text += " " + std::to_string(signs.destinations.at(i));
    }
    return text;
}

std::string name_of(const std::string& description) {
    char name[32];
    std::snprintf(name, sizeof(name), "%s%016zx", kFilterPrefix.data(),
                  std::hash<std::string>{}(description));
    return name;
}

}  // namespace

struct KeptState::Clock {
    std::uint64_t magic;  // written when all the rest is
    char boot[64];
    std::uint64_t seeded;
    Base base;
    std::uint64_t tsc;     // at one moment
    Nanoseconds boottime;  // the same
    std::atomic<Nanoseconds> alive;
};

// --- the memory of one filter ------------------------------------------------------------------

KeptMemory::~KeptMemory() {
    if (removes_ != nullptr && *removes_) {
        [[maybe_unused]] const Status gone = folder_->remove_file(name_);
    }
}

engines::InstanceMemory KeptMemory::memory() const {
    engines::InstanceMemory out(file_.bytes().subspan(kHeadBytes));
    out.ageing = &head_of(file_.bytes()).ageing;
    out.contents = contents_;
    return out;
}

// --- what there is -----------------------------------------------------------------------------

KeptState::KeptState(std::shared_ptr<const KeptFolder> folder, KeptFile clock_file,
                     const Plan& plan, std::string owner)
    : folder_(std::move(folder)),
      removes_(std::make_shared<std::atomic<bool>>(false)),
      clock_file_(std::move(clock_file)),
      workers_(plan.workers.size()),
      owner_(std::move(owner)) {}

KeptState::Clock& KeptState::clock() const {
    return *reinterpret_cast<Clock*>(clock_file_.bytes().data());
}

namespace {

// Why the clock that was kept says nothing now; empty: it does.
template <typename Clock>
std::string why_not(const Clock& clock, std::optional<std::uint64_t> seed) {
    if (clock.magic != kMagic) {
        return clock.magic == 0 ? "" : "another version of unecho kept it";
    }
    if (boot_id() != clock.boot) {
        return "the machine was started anew";
    }
    const bool same_seed =
        seed ? std::memcmp(hash::secret_from_seed(*seed).body.data(), clock.base.secret.body.data(),
                           sizeof(clock.base.secret.body)) == 0
             : clock.seeded == 0;
    if (!same_seed) {
        return "run.seed is another one";
    }
    const Nanoseconds by_counter =
        clock.base.clock.at(rte_rdtsc()) - clock.base.clock.at(clock.tsc);
    const Nanoseconds by_kernel = boot_time() - clock.boottime;
    const Nanoseconds apart = std::max(by_counter, by_kernel) - std::min(by_counter, by_kernel);
    if (apart > kClockError + by_kernel / kClockDrift) {
        return "the processor's counter did not go on with the kernel's clock";
    }
    return "";
}

}  // namespace

Result<std::unique_ptr<KeptState>> KeptState::open(const std::string& folder, const Plan& plan,
                                                   const std::string& owner,
                                                   std::optional<std::uint64_t> seed) {
    auto opened = KeptFolder::open(folder);
    if (!opened) {
        return tl::unexpected(opened.error());
    }
    auto shared = std::make_shared<const KeptFolder>(std::move(*opened));
    auto clock = shared->open_file(kClockFile, sizeof(Clock));
    if (!clock) {
        return tl::unexpected(clock.error());
    }
    std::unique_ptr<KeptState> state(new KeptState(shared, std::move(*clock), plan, owner));
    const std::string reason = why_not(state->clock(), seed);
    if (!reason.empty()) {
        state->notes_.push_back("state: all filters begin empty: " + reason);
    } else if (state->clock().magic != 0) {
        if (const Status found = state->find_filters(plan); !found) {
            return tl::unexpected(found.error());
        }
    }
    if (const Status removed = state->remove_others(); !removed) {
        return tl::unexpected(removed.error());
    }
    if (!state->base_) {
        // With the secrets.
        std::memset(state->clock_file_.bytes().data(), 0, sizeof(Clock));
        state->clock().seeded = seed ? 1 : 0;
    }
    return state;
}

Status KeptState::find_filters(const Plan& plan) {
    const Nanoseconds now = clock().base.clock.now();
    const Nanoseconds alive = std::min(now, clock().alive.load(std::memory_order_relaxed));
    for (const engines::FilterPlan& filter : plan.filters) {
        if (!filter.engine().is_kept) {
            continue;
        }
        if (const Status found = find_filter(filter, now, alive); !found) {
            return found;
        }
    }
    if (!found_.empty()) {
        base_ = clock().base;
    }
    return {};
}

Status KeptState::find_filter(const engines::FilterPlan& filter, Nanoseconds now,
                              Nanoseconds alive) {
    const std::string away = format_duration(now - alive);
    const std::string name = "state: filter \"" + filter.name + "\" ";
    if (now - alive >= filter.window + filter.prediction.slack) {
        notes_.push_back(name + "begins empty: its window has passed, " + away +
                         " since the process before it");
        return {};
    }
    std::size_t whole = 0;
    for (std::size_t w = 0; w < workers_; ++w) {
        const std::string description = describe(filter, w);
        auto opened = open_memory(filter, w);
        if (!opened) {
            return tl::unexpected(opened.error());
        }
        const Head& head = head_of(opened->file_.bytes());
        if (!opened->file_.found() || head.magic != kMagic || description != head.description) {
            notes_.push_back(name + "begins empty on worker " + std::to_string(w) +
                             ": nothing was kept of one like it");
            continue;
        }
        if (!engines::is_whole(filter.setup(), opened->memory().filter) ||
            !head.ageing.is_whole(filter.ageing_spec()) || head.ageing.last() > now) {
            notes_.push_back(name + "begins empty on worker " + std::to_string(w) +
                             ": the process before it ended amid a turn");
            continue;
        }
        opened->contents_ = filter::Contents::kKept;
        found_.emplace(opened->name_, std::move(*opened));
        ++whole;
    }
    if (whole == workers_) {
        notes_.push_back(name + "goes on with what it knew " + away + " ago");
    }
    return {};
}

Status KeptState::remove_others() const {
    auto names = folder_->names();
    if (!names) {
        return tl::unexpected(names.error());
    }
    for (const std::string& name : *names) {
        if (name.starts_with(kFilterPrefix) && found_.find(name) == found_.end()) {
            if (const Status removed = folder_->remove_file(name); !removed) {
                return removed;
            }
        }
    }
    return {};
}

void KeptState::begin(const Base& base) {
    Clock& out = clock();
    std::snprintf(out.boot, sizeof(out.boot), "%s", boot_id().c_str());
    out.base = base;
    out.tsc = rte_rdtsc();
    out.boottime = boot_time();
    out.alive = base.clock.now();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    out.magic = kMagic;
}

void KeptState::tell_alive(Nanoseconds now) noexcept {
    clock().alive.store(now, std::memory_order_relaxed);
}

// --- filters -----------------------------------------------------------------------------------

// All that has to be the same for what one filter recorded to mean the same to another. What it
// judges by begins anew anyway, and kernels give the same answers.
std::string KeptState::describe(const engines::FilterPlan& filter, std::size_t worker) const {
    const auto number = [](auto value) {
        return std::to_string(static_cast<std::uint64_t>(value));
    };
    const filter::AgeingSpec ageing = filter.ageing_spec();
    std::string text =
        "filter " + filter.name + "; worker " + number(worker) + " of " + number(workers_) +
        " by " + owner_ + "; digest " + number(packet::kDigestVersion) + "; key " +
        number(filter.key.mode) + " " + number(filter.key.non_ip) + " " +
        number(filter.key.tenant) + " " + number(filter.key.bytes) + " tunnels " +
        text_of(filter.key.tunnels) + "; policy " + number(filter.policy) + " first " +
        number(filter.first) + "; " + std::string(filter.engine().name) + " " +
        engines::geometry_text(filter.geometry) + "; " + number(filter.instance_bytes) +
        " bytes; window " + number(ageing.window) + " length " + number(ageing.length) +
        " through " + number(ageing.through) + " load " + number(ageing.load);
    text.resize(std::min(text.size(), sizeof(Head::description) - 1));
    return text;
}

Result<KeptMemory> KeptState::open_memory(const engines::FilterPlan& filter,
                                          std::size_t worker) const {
    const std::string name = name_of(describe(filter, worker));
    auto file = folder_->open_file(name, kHeadBytes + filter.instance_bytes);
    if (!file) {
        return tl::unexpected(file.error());
    }
    return KeptMemory(folder_, removes_, name, std::move(*file));
}

Result<KeptMemory> KeptState::memory(const engines::FilterPlan& filter, std::size_t worker) {
    const std::string description = describe(filter, worker);
    if (auto found = found_.extract(name_of(description)); !found.empty()) {
        return std::move(found.mapped());
    }
    auto made = open_memory(filter, worker);
    if (!made) {
        return made;
    }
    const std::span<std::byte> bytes = made->file_.bytes();
    Head& head = head_of(bytes);
    head.magic = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (made->file_.found()) {
        std::memset(bytes.data(), 0, bytes.size());
    }
    std::copy(description.begin(), description.end(), head.description);
    std::construct_at(&head.ageing, filter.ageing());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    head.magic = kMagic;
    return made;
}

}  // namespace unecho::control
