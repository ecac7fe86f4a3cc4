// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/history_file.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/os/clock.h"
#include "fake_appliance.h"

namespace unecho::monitor {
namespace {

namespace fs = std::filesystem;

constexpr Nanoseconds kStart = 1'700'000'000 * kSecond;

class HistoryFileTest : public WithFolder {
  protected:
    [[nodiscard]] std::string path() const { return folder_ + "/kept/taps.unecho-history"; }
    void open_folder() {
        held_.reset();
        auto opened = HistoryFolder::open(folder_ + "/kept");
        ASSERT_TRUE(opened) << opened.error().context;
        held_ = std::move(*opened);
    }
    // Keep the samples from `first` on, a second each; a port's name makes a column.
    void keep(std::size_t first, std::size_t samples, const std::string& port = "tap-a") {
        open_folder();
        HistoryFile file(held_, "taps");
        History history;
        std::string problem;
        history.restore(file.open(kStart + first * kSecond, problem));
        EXPECT_EQ(problem, "");
        for (std::size_t i = first; i < first + samples; ++i) {
            const Json seen = {{"counters", {{"received", 10 * i * i}}},
                               {"ports", Json::array({{{"name", port}, {"rx_packets", 3 * i}}})}};
            const Status kept =
                file.append(history.add(seen, kStart + i * kSecond, i != first), history);
            ASSERT_TRUE(kept) << kept.error().context;
        }
        before_ = history.columns(History::kSamples);
    }
    // Return what the next server reads at this second.
    Json read(std::size_t second, std::string* problem = nullptr) {
        open_folder();
        std::string unused;
        History history;
        history.restore(
            HistoryFile(held_, "taps")
                .open(kStart + second * kSecond, problem != nullptr ? *problem : unused));
        return Json::parse("{" + history.columns(History::kSamples) + "}");
    }
    std::string bytes() const {
        std::ifstream in(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void damage(std::size_t at) {
        std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
        file.seekg(static_cast<std::streamoff>(at));
        const int byte = file.get();
        file.seekp(static_cast<std::streamoff>(at));
        file.put(static_cast<char>(byte ^ 0x40));
    }

    std::shared_ptr<const HistoryFolder> held_;
    std::string before_;
};

TEST_F(HistoryFileTest, has_after_a_restart_what_it_had_before) {
    keep(0, 300);
    EXPECT_EQ(read(300), Json::parse("{" + before_ + "}"));
    keep(400, 3);
    const Json all = read(403);
    EXPECT_EQ(all["times_ms"].size(), 303U);
    const Json& rates = all["ports"]["tap-a"]["rx_packets"];
    EXPECT_EQ(rates[299], 3.0);
    EXPECT_TRUE(rates[300].is_null()) << "another server does not know the counters before";
    EXPECT_EQ(rates[301], 3.0);
}

TEST_F(HistoryFileTest, keeps_an_hour_in_a_file_that_does_not_grow) {
    keep(0, 10);
    const auto size = fs::file_size(path());
    EXPECT_LE(size, HistoryFile::kMostBytes);
    keep(10, 2 * History::kSamples);
    EXPECT_EQ(fs::file_size(path()), size);
    EXPECT_EQ(read(10 + 2 * History::kSamples)["times_ms"].size(), History::kSamples);
    // Half an hour later half of it is of the last hour.
    const std::size_t kept = read(10 + 5 * History::kSamples / 2)["times_ms"].size();
    EXPECT_NEAR(static_cast<double>(kept), History::kSamples / 2.0, 2);
    EXPECT_EQ(read(5)["times_ms"].size(), 0U) << "the clock was set back: these are to come";
}

TEST_F(HistoryFileTest, is_written_anew_for_another_column) {
    keep(0, 5);
    keep(5, 5, "tap-b");
    const Json all = read(10);
    EXPECT_EQ(all["times_ms"].size(), 10U);
    EXPECT_EQ(all["ports"]["tap-a"]["rx_packets"][4], 3.0);
    EXPECT_TRUE(all["ports"]["tap-a"]["rx_packets"][9].is_null());
    EXPECT_TRUE(all["ports"]["tap-b"]["rx_packets"][4].is_null());
    EXPECT_EQ(all["ports"]["tap-b"]["rx_packets"][9], 3.0);
}

// Whatever a byte becomes, the server knows that something is wrong, and no wrong value.
TEST_F(HistoryFileTest, that_is_damaged_is_reported_and_begins_anew) {
    keep(0, 3);
    const Json whole = read(3);
    const std::string good = bytes();
    const std::size_t used = good.find_last_not_of('\0') + 1;
    for (std::size_t at = 0; at < used; ++at) {
        std::string problem;
        damage(at);
        const Json left = read(3, &problem);
        EXPECT_NE(problem.find(path()), std::string::npos) << at;
        EXPECT_LT(left["times_ms"].size(), 3U) << at;
        for (const Json& time : left["times_ms"]) {
            EXPECT_NE(std::find(whole["times_ms"].begin(), whole["times_ms"].end(), time),
                      whole["times_ms"].end());
        }
        damage(at);
    }
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, used / 2, good.size() - 1}) {
        fs::resize_file(path(), size);
        std::string problem;
        EXPECT_EQ(read(3, &problem)["times_ms"].size(), 0U);
        EXPECT_EQ(problem, path() + " is damaged; its history begins anew");
        std::ofstream(path(), std::ios::binary) << good;
    }
    // A server goes on behind a damaged file.
    damage(0);
    {
        open_folder();
        HistoryFile file(held_, "taps");
        History history;
        std::string problem;
        history.restore(file.open(kStart + 3 * kSecond, problem));
        EXPECT_NE(problem, "");
        for (std::size_t i = 3; i < 6; ++i) {
            EXPECT_TRUE(file.append(
                history.add({{"counters", {{"received", i}}}}, kStart + i * kSecond, i != 3),
                history));
        }
    }
    std::string problem;
    EXPECT_EQ(read(6, &problem)["times_ms"].size(), 3U);
    EXPECT_EQ(problem, "");
}

// Its checksum is right, but the columns cannot be told apart.
TEST_F(HistoryFileTest, that_names_a_path_twice_is_damaged) {
    keep(0, 3);
    std::string file = bytes();
    std::array<std::uint64_t, 5> header;  // mark, checksum, columns, slots, bytes of the paths
    std::memcpy(header.data(), file.data(), sizeof header);
    Json paths = Json::parse(file.substr(sizeof header, header[4]));
    ASSERT_GE(paths.size(), 2U);
    paths[1] = paths[0];
    const std::string text = paths.dump();
    file.replace(sizeof header, header[4], text);
    header[4] = text.size();
    std::memcpy(file.data(), header.data(), sizeof header);
    header[1] = 0xcbf29ce484222325U;  // FNV-1a of what follows it, up to the slots
    for (const char c : file.substr(16, sizeof header - 16 + text.size())) {
        header[1] = (header[1] ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    std::memcpy(file.data(), header.data(), sizeof header);
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << file;
    std::string problem;
    EXPECT_EQ(read(3, &problem)["times_ms"].size(), 0U);
    EXPECT_EQ(problem, path() + " is damaged; its history begins anew");
}

// Not only once: until it succeeds.
TEST_F(HistoryFileTest, that_cannot_be_written_is_reported_all_the_time) {
    open_folder();
    HistoryFile file(held_, "taps");
    History history;
    std::string problem;
    history.restore(file.open(kStart, problem));
    fs::remove_all(folder_ + "/kept");
    for (std::size_t i = 0; i < 3; ++i) {
        const Json seen = {{"counters", {{"received", 10 * i}}}};
        const Status kept = file.append(history.add(seen, kStart + i * kSecond, i != 0), history);
        // The first sample has no rate, so that there is nothing to write.
        EXPECT_EQ(static_cast<bool>(kept), i == 0);
    }
    file.remove();
    EXPECT_TRUE(file.append(history.add_gap(kStart + 3 * kSecond), history));
}

TEST_F(HistoryFileTest, of_a_name_with_any_bytes_is_in_the_folder) {
    open_folder();
    for (const char* name : {"../taps", "a/b", ".hidden", "\xff\n%"}) {
        HistoryFile file(held_, name);
        History history;
        std::string problem;
        file.open(kStart, problem);
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_TRUE(file.append(
                history.add({{"counters", {{"received", i}}}}, kStart + i * kSecond, i != 0),
                history));
        }
    }
    const auto files = std::distance(fs::directory_iterator(folder_ + "/kept"), {});
    EXPECT_EQ(files, 4);
    EXPECT_TRUE(fs::exists(folder_ + "/kept/%2e.%2ftaps.unecho-history"));
}

TEST_F(HistoryFileTest, that_nobody_needs_is_removed) {
    keep(0, 3);
    const std::string other = folder_ + "/kept/notes.txt";
    std::ofstream(other) << "x";
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
    fs::last_write_time(other, long_ago);
    fs::last_write_time(path(), long_ago);
    open_folder();
    EXPECT_FALSE(fs::exists(path()));
    EXPECT_TRUE(fs::exists(other)) << "this is no file of ours";
    keep(0, 3);
    HistoryFile file(held_, "taps");
    file.remove();
    EXPECT_FALSE(fs::exists(path()));
}

TEST_F(HistoryFileTest, is_in_a_folder_of_one_server_and_user) {
    open_folder();
    struct stat found {};
    ASSERT_EQ(stat((folder_ + "/kept").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0700U);
    const auto second = HistoryFolder::open(folder_ + "/kept");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::kBusy);
    held_.reset();
    ASSERT_EQ(chmod((folder_ + "/kept").c_str(), 0777), 0);
    const auto shared = HistoryFolder::open(folder_ + "/kept");
    ASSERT_FALSE(shared);
    EXPECT_EQ(shared.error().code, Errc::kPermission);
    const auto nowhere = HistoryFolder::open(folder_ + "/none/kept");
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace unecho::monitor
