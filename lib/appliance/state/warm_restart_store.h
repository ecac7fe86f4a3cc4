// SPDX-License-Identifier: BSD-3-Clause
// What outlives the process: the memory of filters, of their audits and of reports of two taps, in
// files of a folder of tmpfs or hugetlbfs (base/os/persistent_file.h), the clock that their times
// are read by, and the secrets of their digests. A process that is started in time goes on with
// them, however the one before came to its end. (docs/decisions/0013-warm-restart.md)
//
// A file goes by what describes its content: whoever means another one does not find it. What
// nobody means is removed. An audit goes on beside the filter that it knows, or not at all.
//
// What is checked against damage: the clock and the secrets, and each description, always; the
// content behind it by a checksum that a process writes when it ends in order. Of a process that
// was killed the content has none, as it changed with each packet.
//
// May not: be asked by a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/dataplane/filter_stage.h"
#include "appliance/dataplane/tsc_clock.h"
#include "appliance/plan/plan.h"
#include "base/os/persistent_file.h"
#include "base/result.h"
#include "base/units.h"
#include "dedup/engines/instance.h"
#include "filters/audit/audit.h"
#include "filters/hash/secret.h"
#include "filters/tap_report.h"

namespace unecho::control {

// Of one filter on one worker, or its audit, or a report of two taps.
class WarmRestartMemory {
  public:
    ~WarmRestartMemory();
    WarmRestartMemory(WarmRestartMemory&&) noexcept = default;
    WarmRestartMemory& operator=(WarmRestartMemory&&) = delete;
    WarmRestartMemory(const WarmRestartMemory&) = delete;
    WarmRestartMemory& operator=(const WarmRestartMemory&) = delete;

    // As many as were asked for, line-aligned.
    [[nodiscard]] std::span<std::byte> bytes() const;
    [[nodiscard]] filter::Contents contents() const { return contents_; }
    [[nodiscard]] std::uint64_t page_bytes() const { return folder_->page_bytes(); }
    // Whether who finds it may go on with it: not before it is asked for all it should know, nor
    // from when another one takes its place, which knows what comes then. Begins as false.
    void keep(bool on) noexcept;
    // Whether the content is what the process before left when it ended in order; also true where
    // that was killed, which left no checksum. Reads all of it.
    [[nodiscard]] bool is_intact() const noexcept;

  private:
    friend class WarmRestartStore;
    WarmRestartMemory(std::shared_ptr<const PersistentDirectory> folder,
                      std::shared_ptr<const std::atomic<bool>> removes, std::string name,
                      PersistentFile file)
        : folder_(std::move(folder)),
          removes_(std::move(removes)),
          name_(std::move(name)),
          file_(std::move(file)) {}

    // From here on the content changes, and has no checksum before this ends.
    void begin_use() noexcept;
    void write_checksum() noexcept;

    std::shared_ptr<const PersistentDirectory> folder_;
    std::shared_ptr<const std::atomic<bool>> removes_;  // its file, when nobody needs it any more
    std::string name_;
    PersistentFile file_;
    bool used_ = false;
    filter::Contents contents_ = filter::Contents::kZero;
};

class WarmRestartStore {
  public:
    // What all filters stand on.
    struct Base {
        dataplane::TscClock clock;
        hash::Secret secret{};
        pipeline::AuditSecret audit_secret{};
    };

    // The processor's counter and the kernel's clock, which both go on while no process runs; a
    // simulation has its own.
    struct Clocks {
        dataplane::TscClock counter{};  // of it, how it is read
        std::function<Nanoseconds()> kernel = boot_time;
    };
    static Nanoseconds boot_time();

    // owner: how packets find their worker. seed: that of the secrets, if they have one.
    // Errc::kBusy: another process holds the folder.
    static Result<std::unique_ptr<WarmRestartStore>> open(const std::string& folder,
                                                          const Plan& plan,
                                                          const std::string& owner,
                                                          std::optional<std::uint64_t> seed,
                                                          const Clocks& clocks);
    static Result<std::unique_ptr<WarmRestartStore>> open(const std::string& folder,
                                                          const Plan& plan,
                                                          const std::string& owner,
                                                          std::optional<std::uint64_t> seed) {
        return open(folder, plan, owner, seed, Clocks());
    }

    // With what the kept filters go on; absent: there are none, and begin() is to be called.
    [[nodiscard]] const std::optional<Base>& base() const { return base_; }
    void begin(const Base& base);

    // Those that were kept once, others zeroed and begun.
    // Of an engine that is kept; layout_of() says what lies where.
    Result<WarmRestartMemory> filter_memory(const engines::FilterPlan& filter, std::size_t worker);
    Result<WarmRestartMemory> audit_memory(const engines::FilterPlan& filter,
                                           const filter::AuditParams& audit, std::size_t worker);
    Result<WarmRestartMemory> taps_memory(const Plan& plan, const RoutePlan& route,
                                          const filter::ShbfAParams& params, std::size_t worker);
    [[nodiscard]] static engines::InstanceMemory layout_of(const WarmRestartMemory& filter);
    // All that the plan means has its memory: what else there was is removed, and nothing is gone
    // on with any more.
    Status end_start();

    // The control thread, as often as it looks at the clock: from then on filters age unseen.
    void note_alive(Nanoseconds now) noexcept;
    // From now on the files of filters that nobody needs any more are removed, or not, as at first
    // and when the process ends.
    void remove_unused_files(bool on) { *removes_ = on; }

    // For people: which filters go on, and why others do not.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  private:
    struct Clock;
    // What a file is to hold.
    struct Item {
        std::string_view prefix;  // of its name
        std::string description;
        std::uint64_t bytes = 0;

        [[nodiscard]] std::string name() const;
    };

    WarmRestartStore(std::shared_ptr<const PersistentDirectory> folder, PersistentFile clock_file,
                     const Plan& plan, std::string owner, const Clocks& clocks);

    [[nodiscard]] Clock& clock() const;
    [[nodiscard]] Base kept_base() const;
    [[nodiscard]] Item item_of(const engines::FilterPlan& filter, std::size_t worker) const;
    [[nodiscard]] std::string of_worker(std::size_t worker) const;
    Result<WarmRestartMemory> open_memory(const Item& item) const;
    [[nodiscard]] Result<bool> holds(const Item& item) const;
    Result<std::optional<WarmRestartMemory>> find_memory(const Item& item) const;
    [[nodiscard]] static bool is_consistent(const engines::FilterPlan& filter,
                                            const WarmRestartMemory& memory, Nanoseconds now);
    Result<WarmRestartMemory> begin_memory(const Item& item, const filter::Ageing* ageing);
    template <typename IsWhole>
    Result<WarmRestartMemory> memory_of(const Item& item, bool goes_on, IsWhole is_consistent);
    Status find_filters(const Plan& plan);
    Status find_filter(const engines::FilterPlan& filter, Nanoseconds now, Nanoseconds alive);
    Status remove_all_but(const std::set<std::string>& names) const;

    std::shared_ptr<const PersistentDirectory> folder_;
    std::shared_ptr<std::atomic<bool>> removes_;
    PersistentFile clock_file_;
    std::size_t workers_;
    std::string owner_;
    Clocks clocks_;
    std::optional<Base> base_;
    std::map<std::string, WarmRestartMemory> found_;  // filters, by name; until they are asked for
    std::set<std::string> goes_on_;                   // names of those filters
    std::set<std::string> begun_;                     // of all memory that was asked for
    bool starts_ = true;
    std::vector<std::string> notes_;
};

}  // namespace unecho::control
