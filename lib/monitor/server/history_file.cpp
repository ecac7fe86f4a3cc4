// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/history_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/humanize.h"
#include "base/os/clock.h"
#include "base/os/directory.h"
#include "base/os/errno_code.h"
#include "base/utf8.h"

namespace unecho::monitor {
namespace {

constexpr std::string_view kEnding = ".unecho-history";
constexpr std::size_t kLongestFileName = 200;
constexpr std::size_t kLeastSlots = 60;  // a file for less than a minute is of no use
constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// The file begins with this header, then the paths of the columns as a JSON list, then the slots.
// Numbers are in the byte order of the machine; another order makes another mark.
struct Header {
    std::array<char, 8> mark;
    std::uint64_t checksum;  // of the rest of the header and the paths
    std::uint64_t columns;
    std::uint64_t slots;
    std::uint64_t paths_bytes;
};
constexpr std::uint64_t kMarkNumber = 0x31'54'53'49'48'43'4e'55;  // "UNCHIST1"

// Each slot begins with this head, then a float for each column. An unused slot is zero.
struct SlotHead {
    std::uint64_t checksum;  // of the rest of the slot
    std::uint64_t number;    // samples are numbered from 1 on
    Nanoseconds time;        // since 1970
};

std::array<char, 8> mark() {
    std::array<char, 8> out{};
    std::memcpy(out.data(), &kMarkNumber, sizeof(kMarkNumber));
    return out;
}

std::uint64_t slot_bytes(std::uint64_t columns) {
    return sizeof(SlotHead) + columns * sizeof(float);
}

// FNV-1a, which finds torn and overwritten bytes. Nobody is kept out by it.
std::uint64_t checksum_of(std::string_view bytes) {
    std::uint64_t sum = 0xcbf29ce484222325U;
    for (const char c : bytes) {
        sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    return sum;
}

template <typename T>
std::string_view bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

template <typename T>
T value_at(std::string_view bytes, std::size_t at) {
    T out;
    std::memcpy(&out, bytes.data() + at, sizeof(out));
    return out;
}

std::string header_text(std::uint64_t columns, std::uint64_t slots, const std::string& paths) {
    Header header{mark(), 0, columns, slots, paths.size()};
    const std::string_view all = bytes_of(header);
    constexpr std::size_t kCovered = offsetof(Header, columns);
    header.checksum = checksum_of(std::string(all.substr(kCovered)) + paths);
    return std::string(bytes_of(header)) + paths;
}

std::string paths_text(const std::map<HistoryPath, std::vector<float>>& rates) {
    Json paths = Json::array();
    for (const auto& [path, unused] : rates) {
        paths.push_back(path);
    }
    return dump_json(paths);
}

// Return false if the text is no list of paths.
bool read_paths(std::string_view text, std::vector<HistoryPath>& out) {
    const Json paths = Json::parse(text, nullptr, false);
    if (!paths.is_array()) {
        return false;
    }
    for (const Json& path : paths) {
        HistoryPath& last = out.emplace_back();
        for (const Json& part : path) {
            last.push_back(part.is_string() ? part.get<std::string>() : "");
        }
        if (!path.is_array() || !History::is_path(last)) {
            return false;
        }
    }
    return true;
}

tl::unexpected<Error> failed(const std::string& what, int number) {
    return fail(errc_from_errno(number), escaped(what) + ": " + std::strerror(number));
}

Status write_at(int file, const std::string& place, std::string_view bytes, std::uint64_t offset) {
    while (!bytes.empty()) {
        const ssize_t n = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n <= 0) {
            return failed(place, n == 0 ? EIO : errno);
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return {};
}

// Keep letters, digits, "-", "_" and inner dots; write other bytes as "%2f".
std::string file_name(const std::string& name) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (const char c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                           (c == '.' && !out.empty());
        const auto byte = static_cast<unsigned char>(c);
        plain ? out += c : (out += '%', out += kDigits[byte >> 4U], out += kDigits[byte & 15U]);
    }
    return out.append(kEnding);
}

}  // namespace

// ---- the folder ---------------------------------------------------------------------------------

Result<std::shared_ptr<const HistoryFolder>> HistoryFolder::open(const std::string& path) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        return failed(path, errno);
    }
    Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat found {};
    if (descriptor.get() < 0 || fstat(descriptor.get(), &found) != 0) {
        return failed(path, errno);
    }
    constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
    if (found.st_uid != geteuid() || (found.st_mode & kOthersMayWrite) != 0) {
        return fail(Errc::kPermission, escaped(path) +
                                           ": allowed: a folder of this user, in which no other "
                                           "user may write (mode 0700 or 0755)");
    }
    if (flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0) {
        const int number = errno;
        return number == EWOULDBLOCK
                   ? fail(Errc::kBusy, escaped(path) +
                                           ": another unecho serve keeps its history "
                                           "there; give each a folder of its own")
                   : failed(path, number);
    }
    std::shared_ptr<const HistoryFolder> out(new HistoryFolder(path, std::move(descriptor)));
    out->remove_old_files();
    return out;
}

void HistoryFolder::remove_old_files() const {
    const auto names = list_directory(path_);
    const auto hour_ago = static_cast<time_t>((unix_now() - History::kSpan) / kSecond);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
        struct stat found {};
        const bool temporary = name.ends_with(std::string(kEnding) + "~");
        if ((temporary || name.ends_with(kEnding)) &&
            fstatat(descriptor_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(found.st_mode) && (temporary || found.st_mtime < hour_ago)) {
            unlinkat(descriptor_.get(), name.c_str(), 0);
        }
    }
}

// ---- a file -------------------------------------------------------------------------------------

HistoryFile::HistoryFile(std::shared_ptr<const HistoryFolder> folder, const std::string& name)
    : folder_(std::move(folder)), file_(file_name(name)) {}

HistoryColumns HistoryFile::open(Nanoseconds now, std::string& problem) {
    descriptor_ = Descriptor(openat(folder_->descriptor(), file_.c_str(), kFlags));
    if (descriptor_.get() < 0 && errno == ENOENT) {
        return {};
    }
    Result<Content> content = read(now);
    if (!content) {
        problem = content.error().context + "; its history begins anew";
        descriptor_ = Descriptor();
        return {};
    }
    if (content->damaged != 0) {
        problem = fmt::format("{}: {} left out of its history", escaped(place()),
                              format_quantity(content->damaged, "damaged sample"));
    }
    return std::move(content->columns);
}

Result<HistoryFile::Content> HistoryFile::read(Nanoseconds now) {
    struct stat found {};
    if (descriptor_.get() < 0 || fstat(descriptor_.get(), &found) != 0) {
        return failed(place(), errno);
    }
    const auto damaged = [&] { return fail(Errc::kIo, escaped(place()) + " is damaged"); };
    const auto size = static_cast<std::uint64_t>(found.st_size);
    if (!S_ISREG(found.st_mode) || size < sizeof(Header) || size > kMostBytes) {
        return damaged();
    }
    std::string bytes(size, '\0');
    const ssize_t got = pread(descriptor_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0) {
        return failed(place(), errno);
    }
    const auto header = value_at<Header>(bytes, 0);
    if (static_cast<std::uint64_t>(got) != size || header.columns > History::kMaxColumns ||
        header.slots == 0 || header.slots > History::kSamples || header.paths_bytes > size ||
        size != sizeof(Header) + header.paths_bytes + header.slots * slot_bytes(header.columns)) {
        return damaged();
    }
    const std::string paths_bytes = bytes.substr(sizeof(Header), header.paths_bytes);
    std::vector<HistoryPath> paths;
    if (header_text(header.columns, header.slots, paths_bytes) !=
            bytes.substr(0, sizeof(Header) + header.paths_bytes) ||
        !read_paths(paths_bytes, paths) || paths.size() != header.columns) {
        return damaged();
    }
    for (const HistoryPath& path : paths) {
        columns_.try_emplace(path, columns_.size());
    }
    if (columns_.size() != header.columns) {  // a path twice
        columns_.clear();
        return damaged();
    }
    data_ = sizeof(Header) + header.paths_bytes;
    slots_ = header.slots;
    return read_samples(bytes, now);
}

// Take the sound samples, in their order, and go on behind the last one.
HistoryFile::Content HistoryFile::read_samples(std::string_view bytes, Nanoseconds now) {
    Content out;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> used;  // number of a sample, its slot
    const std::uint64_t each = slot_bytes(columns_.size());
    for (std::uint64_t slot = 0; slot < slots_; ++slot) {
        const auto text = bytes.substr(data_ + slot * each, each);
        const auto head = value_at<SlotHead>(bytes, data_ + slot * each);
        if (head.checksum == checksum_of(text.substr(sizeof(head.checksum))) && head.number != 0) {
            used.emplace_back(head.number, slot);
        } else if (text.find_first_not_of('\0') != std::string_view::npos) {
            ++out.damaged;
        }
    }
    std::sort(used.begin(), used.end());
    if (!used.empty()) {
        number_ = used.back().first + 1;
        slot_ = (used.back().second + 1) % slots_;
    }
    for (const auto& [path, place] : columns_) {
        out.columns.rates[path];
    }
    for (const auto& [number, slot] : used) {
        const std::size_t at = data_ + slot * each;
        const Nanoseconds time = value_at<SlotHead>(bytes, at).time;
        // Times in the future are of a clock that was set back since.
        if (time > now || time + History::kSpan < now) {
            continue;
        }
        out.columns.times.push_back(time);
        for (const auto& [path, place] : columns_) {
            out.columns.rates[path].push_back(
                value_at<float>(bytes, at + sizeof(SlotHead) + place * sizeof(float)));
        }
    }
    return out;
}

Status HistoryFile::write_all(const History& history) {
    const HistoryColumns all = history.all();
    if (all.rates.empty()) {
        return {};
    }
    const std::string paths = paths_text(all.rates);
    const std::uint64_t each = slot_bytes(all.rates.size());
    const std::uint64_t head = sizeof(Header) + paths.size();
    const std::uint64_t room = head < kMostBytes ? (kMostBytes - head) / each : 0;
    if (room < kLeastSlots || file_.size() > kLongestFileName) {
        return fail(Errc::kUnsupported,
                    fmt::format("{}: {}", escaped(place()),
                                room < kLeastSlots
                                    ? fmt::format("{} do not fit into {}",
                                                  format_quantity(all.rates.size(), "column"),
                                                  format_size(kMostBytes))
                                    : "the appliance's name is too long for a file"));
    }
    const std::string temporary = file_ + "~";
    Descriptor fresh(
        openat(folder_->descriptor(), temporary.c_str(), kFlags | O_CREAT | O_TRUNC, 0600));
    if (fresh.get() < 0) {
        return failed(place(), errno);
    }
    columns_.clear();
    for (const auto& [path, rates] : all.rates) {
        columns_.emplace(path, columns_.size());
    }
    descriptor_ = std::move(fresh);
    data_ = head;
    slots_ = std::min<std::uint64_t>(room, History::kSamples);
    slot_ = 0;
    number_ = 1;
    // With all its blocks allocated, no later write finds the disk full.
    if (const int number =
            posix_fallocate(descriptor_.get(), 0, static_cast<off_t>(head + slots_ * each));
        number != 0) {
        unlinkat(folder_->descriptor(), temporary.c_str(), 0);
        return failed(place(), number);
    }
    Status status =
        write_at(descriptor_.get(), place(), header_text(all.rates.size(), slots_, paths), 0);
    std::vector<float> rates(all.rates.size());
    const std::size_t first = all.times.size() - std::min<std::size_t>(all.times.size(), slots_);
    for (std::size_t i = first; status && i < all.times.size(); ++i) {
        std::transform(all.rates.begin(), all.rates.end(), rates.begin(),
                       [i](const auto& column) { return column.second[i]; });
        status = write_sample(all.times[i], rates);
    }
    if (status && renameat(folder_->descriptor(), temporary.c_str(), folder_->descriptor(),
                           file_.c_str()) != 0) {
        status = failed(place(), errno);
    }
    rewritten_ = steady_now();
    incomplete_ = false;
    return status;
}

Status HistoryFile::write_sample(Nanoseconds time, const std::vector<float>& rates) {
    SlotHead head{0, number_, time};
    std::string bytes(bytes_of(head));
    bytes.append(reinterpret_cast<const char*>(rates.data()), rates.size() * sizeof(float));
    head.checksum = checksum_of(std::string_view(bytes).substr(sizeof(head.checksum)));
    bytes.replace(0, sizeof(head.checksum), bytes_of(head.checksum));
    const std::uint64_t offset = data_ + slot_ * bytes.size();
    ++number_;
    slot_ = (slot_ + 1) % slots_;
    return write_at(descriptor_.get(), place(), bytes, offset);
}

Status HistoryFile::append(const HistorySample& sample, const History& history) {
    // Columns that do not fit never will.
    if (removed_ || (!failure_ && (failure_.error().code == Errc::kUnsupported ||
                                   steady_now() < failed_at_ + kBetweenTries))) {
        return failure_;
    }
    const bool exists = descriptor_.get() >= 0;
    std::vector<float> rates(columns_.size(), std::numeric_limits<float>::quiet_NaN());
    for (const auto& [path, rate] : sample.rates) {
        if (const auto found = columns_.find(path); found != columns_.end()) {
            rates[found->second] = static_cast<float>(rate);
        } else {
            incomplete_ = true;
        }
    }
    const bool may_rewrite =
        !exists || rewritten_ == 0 || rewritten_ + kBetweenRewrites <= steady_now();
    const bool again = !failure_;
    failure_ = {};
    if (again || (incomplete_ && may_rewrite)) {
        failure_ = write_all(history);
    } else if (exists) {
        failure_ = write_sample(sample.time, rates);
    }
    if (!failure_) {
        failed_at_ = steady_now();
    }
    return failure_;
}

void HistoryFile::remove() {
    descriptor_ = Descriptor();
    removed_ = true;  // nothing is written any more
    failure_ = {};
    unlinkat(folder_->descriptor(), file_.c_str(), 0);
}

}  // namespace unecho::monitor
