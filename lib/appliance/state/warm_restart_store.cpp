// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/state/warm_restart_store.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include <fmt/core.h>
#include <isa-l/crc64.h>

#include "base/humanize.h"
#include "base/os/clock.h"
#include "packets/keys/digests.h"

namespace unecho::appliance {
namespace {

// Increase with every change of the files' layout or names.
constexpr std::uint64_t kFormat = 5;
constexpr std::uint64_t kMagic = 0x6F686365'6E750000 + kFormat;  // "..unecho", the number first

constexpr const char* kClockFile = "clock";
constexpr std::string_view kFilterPrefix = "filter-";
constexpr std::string_view kAuditPrefix = "audit-";
constexpr std::string_view kTapsPrefix = "taps-";

// The TSC and the kernel's clock may differ by this much over the time between two processes.
constexpr Nanoseconds kClockError = 5 * kMillisecond;
constexpr Nanoseconds kClockDrift = 5'000;  // one part in this many

// At the start of each file, before the content.
struct Head {
    std::uint64_t magic;     // 0 unless the content may be resumed
    std::uint64_t sealed;    // kSealed: the checksum is valid; 0: there is none
    std::uint64_t checksum;  // of the content
    char description[2024];
};
constexpr std::uint64_t kSealed = 0x64656C61'65730000 + kFormat;  // "..sealed"
constexpr std::size_t kHeadBytes = filter::align_to_line(sizeof(Head));

std::uint64_t checksum_of(const void* from, std::size_t bytes) {
    return crc64_ecma_refl(0, static_cast<const unsigned char*>(from), bytes);
}

Head& head_of(std::span<std::byte> file) {
    return *reinterpret_cast<Head*>(file.data());
}

// The ageing state lies before the filter's own memory.
constexpr std::size_t kAgeingBytes = filter::align_to_line(sizeof(filter::Ageing));

filter::Ageing& ageing_of(const WarmRestartMemory& filter) {
    return *reinterpret_cast<filter::Ageing*>(filter.bytes().data());
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
    const packet::Tunnels::PrefilterFields& prefilter_fields = tunnels.prefilter_fields();
    for (unsigned i = 0; i < prefilter_fields.destination_count; ++i) {
        text += " " + std::to_string(prefilter_fields.destinations.at(i));
    }
    return text;
}

}  // namespace

struct WarmRestartStore::Clock {
    std::uint64_t magic;  // written last
    char boot[64];
    std::uint64_t seeded;
    Base base;
    std::uint64_t tsc;  // read at the same moment as boottime
    Nanoseconds boottime;
    std::uint64_t checksum;  // of the members from boot to here
    std::atomic<Nanoseconds> alive;

    [[nodiscard]] std::uint64_t checksum_now() const {
        const auto* const from = reinterpret_cast<const unsigned char*>(&boot);
        const auto* const to = reinterpret_cast<const unsigned char*>(&checksum);
        return checksum_of(from, static_cast<std::size_t>(to - from));
    }
};

// --- one file --------------------------------------------------------------------------------

WarmRestartMemory::~WarmRestartMemory() {
    if (removes_ != nullptr && *removes_) {  // planted: removed-filter-leaves-file
        [[maybe_unused]] const Status gone = folder_->remove_file(name_);
    } else if (removes_ != nullptr && used_ && head_of(file_.bytes()).magic == kMagic) {
        write_checksum();
    }
}

bool WarmRestartMemory::is_intact() const noexcept {
    const Head& head = head_of(file_.bytes());
    return head.sealed == 0 ||
           (head.sealed == kSealed && head.checksum == checksum_of(bytes().data(), bytes().size()));
}

void WarmRestartMemory::begin_use() noexcept {
    head_of(file_.bytes()).sealed = 0;  // planted: old-checksum-kept
    std::atomic_signal_fence(std::memory_order_seq_cst);
    used_ = true;
}

void WarmRestartMemory::write_checksum() noexcept {
    Head& head = head_of(file_.bytes());
    head.checksum = checksum_of(bytes().data(), bytes().size());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    head.sealed = kSealed;
}

std::span<std::byte> WarmRestartMemory::bytes() const {
    return file_.bytes().subspan(kHeadBytes);
}

void WarmRestartMemory::keep(bool on) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    head_of(file_.bytes()).magic = on ? kMagic : 0;  // planted: warming-filter-marked-whole
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

engines::InstanceMemory WarmRestartStore::layout_of(const WarmRestartMemory& filter) {
    engines::InstanceMemory out(filter.bytes().subspan(kAgeingBytes));
    out.ageing = &ageing_of(filter);
    out.contents = filter.contents();
    return out;
}

Nanoseconds WarmRestartStore::boot_time() {
    return read_clock(CLOCK_BOOTTIME);
}

// --- the directory ----------------------------------------------------------------------------

WarmRestartStore::WarmRestartStore(std::shared_ptr<const PersistentDirectory> folder,
                                   PersistentFile clock_file, const Plan& plan, std::string owner,
                                   const Clocks& clocks)
    : folder_(std::move(folder)),
      removes_(std::make_shared<std::atomic<bool>>(false)),
      clock_file_(std::move(clock_file)),
      workers_(plan.workers.size()),
      owner_(std::move(owner)),
      clocks_(clocks) {}

WarmRestartStore::Clock& WarmRestartStore::clock() const {
    return *reinterpret_cast<Clock*>(clock_file_.bytes().data());
}

// The kept clock, read the way this process reads the counter.
WarmRestartStore::Base WarmRestartStore::kept_base() const {
    Base base = clock().base;
    base.clock.counter = clocks_.counter.counter;
    base.clock.per_reading = clocks_.counter.per_reading;
    return base;
}

namespace {

// Explain why the kept clock is of no use; empty if it is valid.
template <typename Clock>
std::string why_not(const Clock& clock, std::optional<std::uint64_t> seed,
                    const WarmRestartStore::Clocks& clocks) {
    if (clock.magic != kMagic) {  // planted: state-of-another-version
        return clock.magic == 0 ? "" : "another version of unecho kept it";
    }
    if (boot_id() != clock.boot) {  // planted: state-of-another-boot
        return "the machine was started anew";
    }
    if (clock.checksum != clock.checksum_now()) {  // planted: damaged-secret-believed
        return "the kept clock and secrets are damaged: their checksum is wrong";
    }
    const bool same_seed =
        seed ? std::memcmp(hash::secret_from_seed(*seed).body.data(), clock.base.secret.body.data(),
                           sizeof(clock.base.secret.body)) == 0
             : clock.seeded == 0;
    if (!same_seed) {  // planted: state-of-another-seed
        return "run.seed is another one";
    }
    const Nanoseconds by_counter =
        clock.base.clock.at(clocks.counter.cycles()) - clock.base.clock.at(clock.tsc);
    const Nanoseconds by_kernel = clocks.kernel() - clock.boottime;
    const Nanoseconds apart = std::max(by_counter, by_kernel) - std::min(by_counter, by_kernel);
    if (apart > kClockError + by_kernel / kClockDrift) {  // planted: state-clock-was-set
        return "the processor's counter did not go on with the kernel's clock";
    }
    return "";
}

}  // namespace

Result<std::unique_ptr<WarmRestartStore>> WarmRestartStore::open(const std::string& folder,
                                                                 const Plan& plan,
                                                                 const std::string& owner,
                                                                 std::optional<std::uint64_t> seed,
                                                                 const Clocks& clocks) {
    auto opened = PersistentDirectory::open(folder);
    UNECHO_TRY(opened);
    auto shared = std::make_shared<const PersistentDirectory>(std::move(*opened));
    auto clock = shared->open_file(kClockFile, sizeof(Clock));
    UNECHO_TRY(clock);
    std::unique_ptr<WarmRestartStore> state(
        new WarmRestartStore(shared, std::move(*clock), plan, owner, clocks));
    const std::string reason = why_not(state->clock(), seed, clocks);
    if (!reason.empty()) {
        state->notes_.push_back("state: all filters begin empty: " + reason);
    } else if (state->clock().magic != 0) {
        UNECHO_TRY(state->find_filters(plan));
    }
    if (!state->base_) {
        // Remove everything, including the secrets.
        UNECHO_TRY(state->remove_all_but({}));
        std::memset(state->clock_file_.bytes().data(), 0, sizeof(Clock));
        state->clock().seeded = seed ? 1 : 0;
    }
    return state;
}

bool WarmRestartStore::is_consistent(const engines::FilterPlan& filter,
                                     const WarmRestartMemory& memory, Nanoseconds now) {
    const filter::Ageing& ageing = ageing_of(memory);
    // planted: torn-filter-resumed, other-generations-resumed, filter-of-the-future-resumed
    return engines::FilterInstance::is_consistent(filter, layout_of(memory).filter) &&
           ageing.is_consistent(filter.ageing_spec()) && ageing.time() <= now;
}

Status WarmRestartStore::find_filters(const Plan& plan) {
    const Base base = kept_base();
    const Nanoseconds now = base.clock.now();
    const Nanoseconds alive = std::min(now, clock().alive.load(std::memory_order_relaxed));
    for (const engines::FilterPlan& filter : plan.filters) {
        UNECHO_TRY(find_filter(filter, now, alive));
    }
    if (!found_.empty()) {
        base_ = base;
    }
    return {};
}

Status WarmRestartStore::find_filter(const engines::FilterPlan& filter, Nanoseconds now,
                                     Nanoseconds alive) {
    const std::string away = format_duration(now - alive);
    const std::string name = fmt::format("state: filter \"{}\" ", filter.name);
    // planted: state-beyond-its-window
    if (now - alive >= filter.window + filter.prediction.slack) {
        notes_.push_back(fmt::format(
            "{}begins empty: its window has passed, {} since the process before it", name, away));
        return {};
    }
    std::size_t whole = 0;
    for (std::size_t w = 0; w < workers_; ++w) {
        const Item item = item_of(filter, w);
        const auto held = holds(item);
        auto found = find_memory(item);
        UNECHO_TRY(held);
        UNECHO_TRY(found);
        const bool intact = *found && (*found)->is_intact();  // planted: damaged-filter-resumed
        const char* const reason =
            !*held    ? "nothing was kept of one like it"
            : !*found ? "the process before it ended amid a reload"
            : !intact ? "what was kept of it is damaged: its checksum is wrong"
            : !is_consistent(filter, **found, now) ? "the process before it ended amid a turn"
                                                   : nullptr;
        if (reason != nullptr) {
            notes_.push_back(fmt::format("{}begins empty on worker {}: {}", name, w, reason));
            continue;
        }
        continued_.insert(item.name());
        found_.emplace(item.name(), std::move(**found));
        ++whole;
    }
    if (whole == workers_) {
        notes_.push_back(fmt::format("{}goes on with what it knew {} ago", name, away));
    }
    return {};
}

Status WarmRestartStore::remove_all_but(const std::set<std::string>& wanted) const {
    auto names = folder_->names();
    UNECHO_TRY(names);
    for (const std::string& name : *names) {
        const bool ours = name.starts_with(kFilterPrefix) || name.starts_with(kAuditPrefix) ||
                          name.starts_with(kTapsPrefix);
        if (ours && wanted.find(name) == wanted.end()) {
            UNECHO_TRY(folder_->remove_file(name));
        }
    }
    return {};
}

Status WarmRestartStore::end_start() {
    starts_ = false;
    found_.clear();
    return remove_all_but(std::exchange(begun_, {}));  // planted: orphaned-files-stay
}

void WarmRestartStore::begin(const Base& base) {
    Clock& out = clock();
    std::snprintf(out.boot, sizeof(out.boot), "%s", boot_id().c_str());
    out.base = base;
    out.tsc = clocks_.counter.cycles();
    out.boottime = clocks_.kernel();
    out.alive = base.clock.now();
    out.checksum = out.checksum_now();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    out.magic = kMagic;
}

void WarmRestartStore::note_alive(Nanoseconds now) noexcept {
    clock().alive.store(now, std::memory_order_relaxed);  // planted: alive-time-not-kept
}

// --- what is kept ------------------------------------------------------------------------------

namespace {

std::string number(auto value) {
    return std::to_string(static_cast<std::uint64_t>(value));
}

// Describe how repeats are distinguished from copies, if they are kept.
std::string told_apart_by(const engines::FilterPlan& filter) {
    if (!filter.repeats) {
        return "";
    }
    const filter::UnionSpec& spec = filter.repeats->spec();
    return fmt::format("; repeats {} point {} same_port {} views {}{} identified {}",
                       number(spec.looks), number(filter.key.point), number(spec.same_port),
                       number(spec.views), spec.needs_evidence ? "" : " each",
                       number(spec.identified));
}

}  // namespace

std::string WarmRestartStore::Item::name() const {
    const unsigned long long hash = checksum_of(description.data(), description.size());
    return std::string(prefix) + format_number("%016llx", hash);
}

std::string WarmRestartStore::of_worker(std::size_t worker) const {
    // planted: state-of-another-steering, state-of-more-workers
    return fmt::format("; worker {} of {} by {}; digest {}", worker, workers_, owner_,
                       packet::kDigestVersion);
}

// Describe all that must be equal for the content to mean the same to another process. The
// confidence policy is left out because it begins anew, and the kernel because all kernels agree.
WarmRestartStore::Item WarmRestartStore::item_of(const engines::FilterPlan& filter,
                                                 std::size_t worker) const {
    const filter::AgeingSpec ageing = filter.ageing_spec();
    return {kFilterPrefix,
            // planted: state-of-another-key
            "filter " + filter.name + of_worker(worker) + "; key " + number(filter.key.mode) + " " +
                number(filter.key.non_ip) + " " + number(filter.key.tenant) + " " +
                number(filter.key.tags) + " " + number(filter.key.bytes) + " tunnels " +
                text_of(filter.key.tunnels) + told_apart_by(filter) + "; policy " +
                number(filter.policy) + " first " + number(filter.first) + "; " +
                // planted: state-of-another-geometry
                std::string(filter.engine().name) + " " + engines::geometry_text(filter.geometry) +
                "; " + number(filter.instance_bytes) + " bytes; window " + number(ageing.window) +
                " length " + number(ageing.length) + " through " +
                number(ageing.retained_generations) + " load " + number(ageing.load),
            kAgeingBytes + filter.instance_bytes};
}

// Open the file. The content may be resumed if the file existed and has this description.
Result<WarmRestartMemory> WarmRestartStore::open_memory(const Item& item) const {
    auto file = folder_->open_file(item.name(), kHeadBytes + item.bytes);
    UNECHO_TRY(file);
    const Head& head = head_of(file->bytes());
    const bool kept = file->found() && head.magic == kMagic &&  // planted: file-trusted-by-name
                      item.description.size() < sizeof(head.description) &&
                      item.description == head.description;
    WarmRestartMemory out(folder_, removes_, item.name(), std::move(*file));
    out.contents_ = kept ? filter::Contents::kRestored : filter::Contents::kZero;
    return out;
}

Result<bool> WarmRestartStore::holds(const Item& item) const {
    const auto names = folder_->names();
    UNECHO_TRY(names);
    return std::find(names->begin(), names->end(), item.name()) != names->end();
}

// Return nothing if there is no such file, and do not create it.
Result<std::optional<WarmRestartMemory>> WarmRestartStore::find_memory(const Item& item) const {
    const auto held = holds(item);
    UNECHO_TRY(held);
    if (!*held) {
        return std::optional<WarmRestartMemory>();
    }
    auto memory = open_memory(item);
    UNECHO_TRY(memory);
    return memory->contents() == filter::Contents::kRestored
               ? std::optional<WarmRestartMemory>(std::move(*memory))
               : std::nullopt;
}

// A description that is too long is cut, so its file is never found again.
Result<WarmRestartMemory> WarmRestartStore::begin_memory(const Item& item,
                                                         const filter::Ageing* ageing) {
    auto out = open_memory(item);
    UNECHO_TRY(out);
    const std::span<std::byte> bytes = out->file_.bytes();
    Head& head = head_of(bytes);
    head.magic = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (out->file_.found()) {  // planted: new-filter-not-zeroed
        std::memset(bytes.data(), 0, bytes.size());
    }
    item.description.copy(head.description, sizeof(head.description) - 1);
    if (ageing != nullptr) {
        std::construct_at(&ageing_of(*out), *ageing);
    }
    out->contents_ = filter::Contents::kZero;
    out->begin_use();
    begun_.insert(item.name());
    return out;
}

Result<WarmRestartMemory> WarmRestartStore::filter_memory(const engines::FilterPlan& filter,
                                                          std::size_t worker) {
    const Item item = item_of(filter, worker);
    if (auto found = found_.extract(item.name()); !found.empty()) {
        begun_.insert(item.name());
        found.mapped().begin_use();
        return std::move(found.mapped());
    }
    const filter::Ageing ageing = filter.ageing();
    return begin_memory(item, &ageing);
}

template <typename IsWhole>
Result<WarmRestartMemory> WarmRestartStore::memory_of(const Item& item, bool goes_on,
                                                      IsWhole is_consistent) {
    if (starts_ && goes_on) {  // planted: reload-resumes-old-audit
        auto kept = find_memory(item);
        UNECHO_TRY(kept);
        // planted: torn-audit-resumed, damaged-audit-resumed
        if (*kept && (*kept)->is_intact() && is_consistent((*kept)->bytes())) {
            begun_.insert(item.name());
            (*kept)->begin_use();
            return std::move(**kept);
        }
    }
    return begin_memory(item, nullptr);
}

Result<WarmRestartMemory> WarmRestartStore::audit_memory(const engines::FilterPlan& filter,
                                                         const filter::AuditParams& audit,
                                                         std::size_t worker) {
    const Item of = item_of(filter, worker);
    const filter::AuditSpec& spec = audit.spec();
    const Item item{
        kAuditPrefix,
        fmt::format("audit of {}; entries {} of keys {}; slack {} grace {} rate {}", of.description,
                    number(audit.entries()), number(spec.key_bytes), number(spec.slack),
                    number(spec.grace), number(spec.samples_per_second)),
        filter::Audit::bytes(audit)};
    return memory_of(
        item,
        continued_.find(of.name()) != continued_.end(),  // planted: audit-of-new-filter-resumed
        [&](std::span<std::byte> memory) { return filter::Audit::is_consistent(audit, memory); });
}

Result<WarmRestartMemory> WarmRestartStore::taps_memory(const Plan& plan, const RoutePlan& route,
                                                        const filter::ShbfAParams& params,
                                                        std::size_t worker) {
    std::string ports;
    for (const PortIndex port : route.from) {
        ports += " " + plan.ports[port].name;
    }
    const Item item{kTapsPrefix,
                    "taps of " + route.name + of_worker(worker) + "; ports" + ports + "; window " +
                        number(route.taps->window) + " flows " + number(route.taps->flows) +
                        "; m " + number(params.m()) + " k " + number(params.k()),
                    filter::TapReport::bytes(params)};
    return memory_of(item, base_.has_value(), [&](std::span<std::byte> memory) {
        return filter::TapReport::is_consistent(params, memory);
    });
}

}  // namespace unecho::appliance
