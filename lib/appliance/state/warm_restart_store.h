// SPDX-License-Identifier: BSD-3-Clause
// state: filters that outlive the process, so that a restart does not forget a window. Files in a
// directory of tmpfs or hugetlbfs (base/os/persistent_file.h) hold the memory of filters, audits
// and tap reports. They also hold the clock of their times and the secrets of their digests. A
// process that starts soon enough resumes them, however the previous one ended.
// (docs/decisions/0013-warm-restart.md)
//
// A file is named after a description of its content, so a filter with another description does not
// find it. Files that the plan does not use are removed. An audit is resumed only with its filter.
//
// Protection against damage: the clock, the secrets and each description always have a check. The
// content has a checksum only after an orderly end; that of a killed process changed with each
// packet.
//
// Workers never call this.
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

namespace unecho::appliance {

// The memory of one filter, audit or tap report on one worker, in a file.
class WarmRestartMemory {
  public:
    ~WarmRestartMemory();
    WarmRestartMemory(WarmRestartMemory&&) noexcept = default;
    WarmRestartMemory& operator=(WarmRestartMemory&&) = delete;
    WarmRestartMemory(const WarmRestartMemory&) = delete;
    WarmRestartMemory& operator=(const WarmRestartMemory&) = delete;

    // Return the requested number of bytes, aligned to a cache line.
    [[nodiscard]] std::span<std::byte> bytes() const;
    [[nodiscard]] filter::Contents contents() const { return contents_; }
    [[nodiscard]] std::uint64_t page_bytes() const { return folder_->page_bytes(); }
    // Say whether a successor process may resume the content; initially not. A filter may be
    // resumed from when it is fully warmed until another one takes its place.
    void keep(bool on) noexcept;
    // Return true if the content matches its checksum, or has none because the previous process was
    // killed. Reads all of it.
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

    // Invalidate the checksum: the content changes from here on.
    void begin_use() noexcept;
    void write_checksum() noexcept;

    std::shared_ptr<const PersistentDirectory> folder_;
    std::shared_ptr<const std::atomic<bool>>
        removes_;  // remove the file when it is no longer needed
    std::string name_;
    PersistentFile file_;
    bool used_ = false;
    filter::Contents contents_ = filter::Contents::kZero;
};

class WarmRestartStore {
  public:
    // The clock and secrets that all files depend on.
    struct Base {
        dataplane::TscClock clock;
        hash::Secret secret{};
        pipeline::AuditSecret audit_secret{};
    };

    // The TSC and the kernel's clock, which both continue while no process runs. A simulation has
    // its own.
    struct Clocks {
        dataplane::TscClock counter{};  // only how it is read
        std::function<Nanoseconds()> kernel = boot_time;
    };
    static Nanoseconds boot_time();

    // owner: how packets are assigned to workers. seed: of the secrets, if configured. Errc::kBusy
    // if another process uses the directory.
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

    // Return the clock and secrets of resumed filters. Absent: none are resumed, so call begin().
    [[nodiscard]] const std::optional<Base>& base() const { return base_; }
    void begin(const Base& base);

    // Return the memory of a filter, audit or tap report, resumed or zeroed. The filter's engine
    // must support it; layout_of() says what lies where.
    Result<WarmRestartMemory> filter_memory(const engines::FilterPlan& filter, std::size_t worker);
    Result<WarmRestartMemory> audit_memory(const engines::FilterPlan& filter,
                                           const filter::AuditParams& audit, std::size_t worker);
    Result<WarmRestartMemory> taps_memory(const Plan& plan, const RoutePlan& route,
                                          const filter::ShbfAParams& params, std::size_t worker);
    [[nodiscard]] static engines::InstanceMemory layout_of(const WarmRestartMemory& filter);
    // End the start: remove all files that the plan does not use. Nothing is resumed from then on.
    Status end_start();

    // Record the time, whenever the control thread reads the clock. Filters age unseen from the
    // last recorded time on.
    void note_alive(Nanoseconds now) noexcept;
    // Choose whether the files of filters that are no longer used are removed: not at first, and
    // not when the process ends.
    void remove_unused_files(bool on) { *removes_ = on; }

    // Return, for people, which filters are resumed and why others are not.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  private:
    struct Clock;
    // The content of one file.
    struct Item {
        std::string_view prefix;  // of the file's name
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
    std::map<std::string, WarmRestartMemory> found_;  // filters by file name, until requested
    std::set<std::string> continued_;                 // file names of resumed filters
    std::set<std::string> begun_;                     // file names of all memory requested so far
    bool starts_ = true;
    std::vector<std::string> notes_;
};

}  // namespace unecho::appliance
