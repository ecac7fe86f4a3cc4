// SPDX-License-Identifier: BSD-3-Clause
// What outlives the process: the memory of filters, in files of a folder of tmpfs or hugetlbfs
// (base/kept_file.h), the clock that their times are read by, and the secrets of their digests. A
// process that is started in time goes on with them, however the one before came to its end.
// (docs/decisions/0018-warm-restart.md)
//
// A file goes by what describes its filter: whoever means another filter does not find it. What
// nobody means is removed.
//
// May not: be asked by a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/kept_file.h"
#include "base/result.h"
#include "base/units.h"
#include "control/plan.h"
#include "control/worker_audit.h"
#include "dataplane/tsc_clock.h"
#include "engines/instance.h"
#include "hash/secret.h"

namespace unecho::control {

// Of one filter on one worker.
class KeptMemory {
  public:
    ~KeptMemory();
    KeptMemory(KeptMemory&&) noexcept = default;
    KeptMemory& operator=(KeptMemory&&) = delete;
    KeptMemory(const KeptMemory&) = delete;
    KeptMemory& operator=(const KeptMemory&) = delete;

    [[nodiscard]] engines::InstanceMemory memory() const;
    [[nodiscard]] std::uint64_t page_bytes() const { return folder_->page_bytes(); }

  private:
    friend class KeptState;
    KeptMemory(std::shared_ptr<const KeptFolder> folder,
               std::shared_ptr<const std::atomic<bool>> removes, std::string name, KeptFile file)
        : folder_(std::move(folder)),
          removes_(std::move(removes)),
          name_(std::move(name)),
          file_(std::move(file)) {}

    std::shared_ptr<const KeptFolder> folder_;
    std::shared_ptr<const std::atomic<bool>> removes_;  // its file, when nobody needs it any more
    std::string name_;
    KeptFile file_;
    filter::Contents contents_ = filter::Contents::kZero;
};

class KeptState {
  public:
    // What all filters stand on.
    struct Base {
        dataplane::TscClock clock;
        hash::Secret secret{};
        pipeline::AuditSecret audit_secret{};
    };

    // owner: how packets find their worker. seed: that of the secrets, if they have one.
    // Errc::kBusy: another process holds the folder.
    static Result<std::unique_ptr<KeptState>> open(const std::string& folder, const Plan& plan,
                                                   const std::string& owner,
                                                   std::optional<std::uint64_t> seed);

    // With what the kept filters go on; absent: there are none, and begin() is to be called.
    [[nodiscard]] const std::optional<Base>& base() const { return base_; }
    void begin(const Base& base);

    // Those that were kept once, others zeroed and begun; not of engines that are not kept.
    Result<KeptMemory> memory(const engines::FilterPlan& filter, std::size_t worker);

    // The control thread, as often as it looks at the clock: from then on filters age unseen.
    void tell_alive(Nanoseconds now) noexcept;
    // From now on the files of filters that nobody needs any more are removed, or not, as at first
    // and when the process ends.
    void remove_unneeded(bool on) { *removes_ = on; }

    // For people: which filters go on, and why others do not.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  private:
    struct Clock;

    KeptState(std::shared_ptr<const KeptFolder> folder, KeptFile clock_file, const Plan& plan,
              std::string owner);

    [[nodiscard]] Clock& clock() const;
    [[nodiscard]] std::string describe(const engines::FilterPlan& filter, std::size_t worker) const;
    Result<KeptMemory> open_memory(const engines::FilterPlan& filter, std::size_t worker) const;
    Status find_filters(const Plan& plan);
    Status find_filter(const engines::FilterPlan& filter, Nanoseconds now, Nanoseconds alive);
    Status remove_others() const;

    std::shared_ptr<const KeptFolder> folder_;
    std::shared_ptr<std::atomic<bool>> removes_;
    KeptFile clock_file_;
    std::size_t workers_;
    std::string owner_;
    std::optional<Base> base_;
    std::map<std::string, KeptMemory> found_;  // by name
    std::vector<std::string> notes_;
};

}  // namespace unecho::control
