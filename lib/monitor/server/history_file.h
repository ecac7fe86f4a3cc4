// SPDX-License-Identifier: BSD-3-Clause
// Keeps histories over a restart of `unecho serve`: a folder with one file for each appliance.
//
// A file is a ring of samples with checksums, and its size is bounded. Each second one sample is
// written in place. A new column (a reload added a port) makes the file anew, at most once a
// minute. What is in a file may be damaged: it is checked, and what is wrong is reported.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"
#include "monitor/server/history.h"

namespace unecho::monitor {

// The folder, locked while this object exists.
class HistoryFolder {
  public:
    // Open it, or create it with mode 0700; its parent must exist. Remove files that have nothing
    // of the last hour. Errc::kBusy: another server uses it. Errc::kPermission: it belongs to
    // another user, or others may write there.
    static Result<std::shared_ptr<const HistoryFolder>> open(const std::string& path);

    [[nodiscard]] int descriptor() const { return descriptor_.get(); }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    HistoryFolder(std::string path, Descriptor descriptor)
        : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
    void remove_old_files() const;

    std::string path_;
    Descriptor descriptor_;
};

class HistoryFile {
  public:
    static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
    static constexpr Nanoseconds kBetweenRewrites = 60 * kSecond;

    // The file of an appliance of this name; it need not exist.
    HistoryFile(std::shared_ptr<const HistoryFolder> folder, const std::string& name);

    // Read the samples of the hour before `now` (since 1970), and write behind them from now on.
    // `problem` is set if samples or all of the file are damaged, and left out.
    HistoryColumns open(Nanoseconds now, std::string& problem);
    static constexpr Nanoseconds kBetweenTries = 10 * kSecond;
    // Write the last sample of this history. After an error, write all of it anew some time later;
    // return the error until that succeeds.
    Status append(const HistorySample& sample, const History& history);
    void remove();

  private:
    struct Content {
        HistoryColumns columns;
        std::size_t damaged = 0;  // samples
    };
    Result<Content> read(Nanoseconds now);
    Content read_samples(std::string_view bytes, Nanoseconds now);
    [[nodiscard]] Status write_all(const History& history);
    [[nodiscard]] Status write_sample(Nanoseconds time, const std::vector<float>& rates);
    [[nodiscard]] std::string place() const { return folder_->path() + "/" + file_; }

    std::shared_ptr<const HistoryFolder> folder_;
    std::string file_;  // its name in the folder
    Descriptor descriptor_;
    std::map<HistoryPath, std::size_t> columns_;  // and their places
    std::uint64_t data_ = 0;                      // offset of the first sample in the file
    std::uint64_t slots_ = 0;                     // samples that the file has room for
    std::uint64_t slot_ = 0;                      // of the next sample
    std::uint64_t number_ = 1;                    // of the next sample
    Nanoseconds rewritten_ = 0;                   // when the file was made, steady_now()
    bool incomplete_ = false;                     // lacks a column
    Status failure_;                              // of the last attempt
    Nanoseconds failed_at_ = 0;                   // steady_now()
    bool removed_ = false;
};

}  // namespace unecho::monitor
