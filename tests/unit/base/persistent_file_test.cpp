// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/persistent_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace unecho {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 10'000;

// /dev/shm is a tmpfs on every Linux.
class PersistentFileTest : public ::testing::Test {
  protected:
    PersistentFileTest() {
        std::string name = "/dev/shm/unecho-kept-XXXXXX";
        root_ = ::mkdtemp(name.data());
        path_ = root_ / "state";
    }
    ~PersistentFileTest() override { fs::remove_all(root_); }
    PersistentFileTest(const PersistentFileTest&) = delete;
    PersistentFileTest& operator=(const PersistentFileTest&) = delete;
    PersistentFileTest(PersistentFileTest&&) = delete;
    PersistentFileTest& operator=(PersistentFileTest&&) = delete;

    [[nodiscard]] PersistentDirectory folder() const {
        auto opened = PersistentDirectory::open(path_);
        EXPECT_TRUE(opened) << opened.error().context;
        return std::move(*opened);
    }
    [[nodiscard]] fs::path file() const { return path_ / "a"; }
    // Check that the folder, or a file in it, is refused.
    void expect_no_folder(const fs::path& path, Errc code, const std::string& why) const {
        const auto opened = PersistentDirectory::open(path);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, code);
        EXPECT_EQ(opened.error().context, path.string() + ": " + why);
    }
    void expect_no_file(const std::string& name, Errc code, const std::string& why) const {
        const auto opened = folder().open_file(name, kBytes);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, code);
        EXPECT_EQ(opened.error().context, path_.string() + "/" + name + ": " + why);
    }

    fs::path root_;
    fs::path path_;
};

bool all_zero(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

mode_t mode_of(const fs::path& path) {
    struct stat of {};
    EXPECT_EQ(::stat(path.c_str(), &of), 0);
    return of.st_mode & 07777;
}

TEST_F(PersistentFileTest, is_empty_at_first_and_ours_alone) {
    const auto opened = folder().open_file("a", kBytes);
    ASSERT_TRUE(opened) << opened.error().context;
    EXPECT_FALSE(opened->found());
    EXPECT_EQ(opened->bytes().size(), kBytes);
    EXPECT_TRUE(all_zero(opened->bytes()));
    EXPECT_EQ(mode_of(path_), 0700U);
    EXPECT_EQ(mode_of(file()), 0600U);
}

TEST_F(PersistentFileTest, has_what_a_killed_process_wrote) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto opened = PersistentDirectory::open(path_);
        auto written = opened->open_file("a", kBytes);
        written->bytes().front() = std::byte{1};
        written->bytes().back() = std::byte{2};
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const auto found = folder().open_file("a", kBytes);
    ASSERT_TRUE(found) << found.error().context;
    EXPECT_TRUE(found->found());
    EXPECT_EQ(found->bytes().front(), std::byte{1});
    EXPECT_EQ(found->bytes().back(), std::byte{2});
}

TEST_F(PersistentFileTest, of_another_length_begins_empty) {
    for (const std::size_t bytes : {3 * kBytes, std::size_t{1}}) {
        {
            auto before = folder().open_file("a", kBytes);
            ASSERT_TRUE(before);
            before->bytes().front() = std::byte{1};
        }
        const auto after = folder().open_file("a", bytes);
        ASSERT_TRUE(after);
        EXPECT_FALSE(after->found());
        EXPECT_EQ(after->bytes().size(), bytes);
        EXPECT_TRUE(all_zero(after->bytes()));
    }
}

TEST_F(PersistentFileTest, has_one_holder_at_a_time) {
    auto first = folder().open_file("a", kBytes);
    ASSERT_TRUE(first);
    expect_no_file("a", Errc::kBusy, "another process holds it");
    const PersistentFile moved = std::move(*first);
    expect_no_file("a", Errc::kBusy, "another process holds it");
    EXPECT_TRUE(folder().open_file("b", kBytes));
    *first = PersistentFile(std::move(*folder().open_file("c", kBytes)));
    EXPECT_FALSE(folder().open_file("c", kBytes));
}

TEST_F(PersistentFileTest, stands_among_the_names_until_it_is_removed) {
    const PersistentDirectory in = folder();
    EXPECT_EQ(in.names().value(), std::vector<std::string>());
    ASSERT_TRUE(in.open_file("b", kBytes) && in.open_file("a", kBytes));
    std::vector<std::string> names = in.names().value();
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, std::vector<std::string>({"a", "b"}));
    ASSERT_TRUE(in.remove_file("a"));
    EXPECT_EQ(in.names().value(), std::vector<std::string>({"b"}));
}

TEST_F(PersistentFileTest, goes_on_when_it_is_removed) {
    auto first = folder().open_file("a", kBytes);
    ASSERT_TRUE(first);
    ASSERT_TRUE(folder().remove_file("a"));
    EXPECT_FALSE(fs::exists(file()));
    first->bytes().back() = std::byte{1};
    const auto second = folder().open_file("a", kBytes);
    ASSERT_TRUE(second);
    EXPECT_FALSE(second->found());
    EXPECT_TRUE(all_zero(second->bytes()));
    EXPECT_TRUE(folder().remove_file("never_there"));
}

TEST_F(PersistentFileTest, refuses_folders_that_are_not_ours_alone) {
    fs::create_directory(root_ / "open");
    ASSERT_EQ(::chmod((root_ / "open").c_str(), 0750), 0);
    expect_no_folder(root_ / "open", Errc::kPermission,
                     "others than its owner may use it; chmod go= is needed");
    fs::create_directory_symlink(root_ / "open", root_ / "link");
    expect_no_folder(root_ / "link", Errc::kInvalidArgument, "it is no folder, or a link to one");
    std::ofstream(root_ / "plain") << "x";
    expect_no_folder(root_ / "plain", Errc::kInvalidArgument, "it is no folder, or a link to one");
    expect_no_folder(root_ / "none" / "below", Errc::kNotFound, "No such file or directory");
    if (::geteuid() == 0) {
        fs::create_directory(root_ / "theirs");
        ASSERT_EQ(::chmod((root_ / "theirs").c_str(), 0700), 0);
        ASSERT_EQ(::chown((root_ / "theirs").c_str(), 4711, 0), 0);
        expect_no_folder(root_ / "theirs", Errc::kPermission,
                         "it belongs to user 4711, this process runs as 0");
    }
}

// /proc is on every machine neither tmpfs nor hugetlbfs, nor is anything below it.
TEST_F(PersistentFileTest, refuses_file_systems_that_are_no_memory) {
    const std::string ours = "/proc/" + std::to_string(::getpid()) + "/map_files";  // mode 0500
    expect_no_folder(ours, Errc::kUnsupported,
                     "it lies neither in tmpfs, as /run and /dev/shm do, nor in hugetlbfs");
}

TEST_F(PersistentFileTest, refuses_files_that_are_not_ours_alone) {
    { const PersistentDirectory made = folder(); }
    std::ofstream(root_ / "target") << "precious";
    fs::create_symlink(root_ / "target", file());
    expect_no_file("a", Errc::kPermission, "it is a link");
    fs::remove(file());
    fs::create_hard_link(root_ / "target", file());
    expect_no_file("a", Errc::kPermission, "it has 2 names, instead of one");
    EXPECT_EQ(fs::file_size(root_ / "target"), 8U);
    fs::remove(file());
    std::ofstream(file()) << "x";
    ASSERT_EQ(::chmod(file().c_str(), 0640), 0);
    expect_no_file("a", Errc::kPermission, "others than its owner may use it; chmod go= is needed");
    fs::remove(file());
    ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
    expect_no_file("a", Errc::kPermission, "it is no plain file");
}

TEST_F(PersistentFileTest, refuses_names_that_leave_the_folder_or_that_dpdk_deletes) {
    for (const std::string name : {"", ".", "..", ".a", "-a", "a/b", "../a", "rtemap_0", "a b"}) {
        const auto opened = folder().open_file(name, kBytes);
        ASSERT_FALSE(opened) << name;
        EXPECT_EQ(opened.error().code, Errc::kInvalidArgument);
        EXPECT_FALSE(folder().remove_file(name)) << name;
    }
}

TEST_F(PersistentFileTest, has_room_for_all_of_it_or_none) {
    const auto opened = folder().open_file("a", std::size_t{1} << 50);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::kNoMemory) << opened.error().context;
    EXPECT_EQ(fs::file_size(file()), 0U);
}

// The process that made it was killed after setting its length, before allocating its blocks.
TEST_F(PersistentFileTest, has_room_also_where_it_was_found) {
    { const PersistentDirectory made = folder(); }
    std::ofstream(file()).close();
    ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
    fs::resize_file(file(), 12'288);
    struct stat of {};
    ASSERT_EQ(::stat(file().c_str(), &of), 0);
    ASSERT_EQ(of.st_blocks, 0);
    const auto opened = folder().open_file("a", kBytes);
    ASSERT_TRUE(opened) << opened.error().context;
    EXPECT_TRUE(opened->found());
    ASSERT_EQ(::stat(file().c_str(), &of), 0);
    EXPECT_EQ(of.st_blocks * 512, 12'288);
}

}  // namespace
}  // namespace unecho
