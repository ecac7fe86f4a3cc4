// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/output.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captures/output/temp_file_registry.h"
#include "unit/captures/child.h"
#include "unit/captures/folder.h"

namespace unecho::capture {
namespace {

constexpr uid_t kNobody = 65534;

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// Write the text to the path, and return the error or the file's content.
std::string outcome(const std::string& path, std::string_view text) {
    const auto out = Output::create(path);
    if (!out) {
        return out.error().context;
    }
    if (const Status written = (*out)->write(bytes_of(text)); !written) {
        return written.error().context;
    }
    const Status closed = (*out)->close();
    return closed ? "written" : closed.error().context;
}

mode_t mode_of(const std::string& path) {
    struct stat about {};
    EXPECT_EQ(::stat(path.c_str(), &about), 0);
    return about.st_mode & 07777;
}

TEST(Output, closed_appears_under_its_name_alone) {
    const Folder folder;
    const auto out = Output::create(folder.file("out.bin"));
    ASSERT_TRUE(out);
    ASSERT_TRUE((*out)->write(bytes_of("half")));
    ASSERT_EQ(folder.names().size(), 1U);
    EXPECT_EQ(folder.names().begin()->substr(0, 16), ".out.bin.unecho-");
    ASSERT_TRUE((*out)->close());
    EXPECT_EQ(folder.names(), std::set<std::string>{"out.bin"});
    EXPECT_EQ(folder.get("out.bin"), "half");
}

TEST(Output, not_closed_leaves_nothing_new) {
    const Folder folder;
    folder.put("old.bin", "old");
    for (const char* name : {"new.bin", "old.bin"}) {
        const auto out = Output::create(folder.file(name));
        ASSERT_TRUE(out);
        ASSERT_TRUE((*out)->write(bytes_of("half")));
    }
    EXPECT_EQ(folder.names(), std::set<std::string>{"old.bin"});
    EXPECT_EQ(folder.get("old.bin"), "old");
}

TEST(Output, new_file_has_the_mode_of_the_umask) {
    const Folder folder;
    const mode_t before = ::umask(027);
    EXPECT_EQ(outcome(folder.file("out.bin"), "x"), "written");
    ::umask(before);
    EXPECT_EQ(mode_of(folder.file("out.bin")), 0640U);
}

TEST(Output, existing_file_keeps_its_mode) {
    const Folder folder;
    folder.put("out.bin", "much longer than what comes");
    ASSERT_EQ(::chmod(folder.file("out.bin").c_str(), 0604), 0);
    EXPECT_EQ(outcome(folder.file("out.bin"), "new"), "written");
    EXPECT_EQ(folder.get("out.bin"), "new");
    EXPECT_EQ(mode_of(folder.file("out.bin")), 0604U);
}

TEST(Output, symbolic_link_stays_and_its_target_is_replaced) {
    const Folder folder;
    folder.put("target.bin", "old");
    std::filesystem::create_symlink("target.bin", folder.file("link.bin"));
    EXPECT_EQ(outcome(folder.file("link.bin"), "new"), "written");
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.bin")));
    EXPECT_EQ(folder.get("target.bin"), "new");
}

TEST(Output, symbolic_links_to_nothing_yet_are_followed) {
    const Folder folder;
    std::filesystem::create_directory(folder.file("sub"));
    std::filesystem::create_symlink("sub/next", folder.file("link.bin"));
    std::filesystem::create_symlink("../target.bin", folder.file("sub/next"));
    EXPECT_EQ(outcome(folder.file("link.bin"), "new"), "written");
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.bin")));
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("sub/next")));
    EXPECT_EQ(folder.get("target.bin"), "new");
    std::filesystem::create_symlink("loop", folder.file("loop"));
    EXPECT_EQ(outcome(folder.file("loop"), "x"),
              folder.file("loop") + ": cannot be written: Too many levels of symbolic links");
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("loop")));
}

TEST(Output, names_in_messages_cannot_speak_to_a_terminal) {
    const Folder folder;
    EXPECT_EQ(outcome(folder.file("\x1B[1m/x"), "x"),
              folder.file("\\x1b[1m/x") + ": its directory does not exist");
}

TEST(Output, no_name_is_refused) {
    const auto out = Output::create("");
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().context, "no file name; allowed: a file, or - for standard output");
}

TEST(Output, suffixes_match_in_any_case) {
    EXPECT_TRUE(has_suffix("a.PcapNG", ".pcapng"));
    EXPECT_TRUE(has_suffix(".gz", ".gz"));
    EXPECT_FALSE(has_suffix("gz", ".gz"));
    EXPECT_FALSE(has_suffix("a.gz2", ".gz"));
    EXPECT_FALSE(has_suffix("a\x0Egz", ".gz"));
}

TEST(Output, longest_name_is_written) {
    const Folder folder;
    const std::string longest(255, 'n');
    EXPECT_EQ(outcome(folder.file(longest), "x"), "written");
    EXPECT_EQ(folder.names(), std::set<std::string>{longest});
    const std::string path = folder.file(longest + "n");
    EXPECT_EQ(outcome(path, "x"), path + ": cannot be written: File name too long");
}

TEST(Output, overwrite_changes_those_bytes) {
    const Folder folder;
    const auto out = Output::create(folder.file("out.bin"));
    ASSERT_TRUE(out);
    ASSERT_TRUE((*out)->can_overwrite());
    ASSERT_TRUE((*out)->write(bytes_of("abcdef")));
    ASSERT_TRUE((*out)->overwrite(2, bytes_of("XY")));
    ASSERT_TRUE((*out)->write(bytes_of("g")));
    ASSERT_TRUE((*out)->close());
    EXPECT_EQ(folder.get("out.bin"), "abXYefg");
}

TEST(Output, directory_is_refused) {
    const Folder folder;
    const std::string rest = ": is a directory; the output must be a file";
    for (const std::string& path : {folder.path(), folder.path() + "/"}) {
        const auto out = Output::create(path);
        ASSERT_FALSE(out);
        EXPECT_EQ(out.error().context, "\"" + path + "\"" + rest);
        EXPECT_EQ(out.error().code, Errc::kInvalidArgument);
    }
}

// A directory like /tmp: sticky, writable for all, owned by another user.
class Planted : public testing::Test {
  protected:
    static constexpr uid_t kOwner = 1;
    static constexpr uid_t kOther = kNobody;

    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "cannot make files of others";
        }
        std::filesystem::create_directory(folder.file("mine"));
        ASSERT_EQ(::chown(folder.path().c_str(), kOwner, kOwner), 0);
        ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
    }
    void link(const std::string& to, const std::string& name, uid_t owner) const {
        std::filesystem::create_symlink(to, folder.file(name));
        ASSERT_EQ(::lchown(folder.file(name).c_str(), owner, owner), 0);
    }
    void refused(const std::string& name, const std::string& what) const {
        EXPECT_EQ(outcome(folder.file(name), "x"),
                  "\"" + folder.file(name) + "\": is " + what +
                      " that another user may have put into " + folder.path() +
                      "/, where others may write; give another name");
    }

    Folder folder;
};

TEST_F(Planted, links_of_others_are_not_followed) {
    folder.put("mine/precious", "old");
    link("mine/precious", "direct", kOther);
    link("mine/new", "dangling", kOther);
    link("direct", "own", 0);
    link("mine", "way", kOther);
    for (const std::string name : {"direct", "dangling", "own", "way/precious", "mine/../direct"}) {
        std::string why = outcome(folder.file(name), "x");
        EXPECT_NE(why.find("is a symbolic link that another user may have put into"),
                  std::string::npos)
            << name << ": " << why;
    }
    refused("direct", "a symbolic link");
    EXPECT_EQ(folder.get("mine/precious"), "old");
    EXPECT_FALSE(std::filesystem::exists(folder.file("mine/new")));
}

TEST_F(Planted, links_of_ones_own_and_of_the_directorys_owner_are_followed) {
    link("mine/a", "own", 0);
    link("mine/b", "owners", kOwner);
    EXPECT_EQ(outcome(folder.file("own"), "x"), "written");
    EXPECT_EQ(outcome(folder.file("owners"), "y"), "written");
    EXPECT_EQ(folder.get("mine/a") + folder.get("mine/b"), "xy");
    link("mine/c", "others", kOther);
    ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0) << "not sticky: it protects nothing";
    EXPECT_EQ(outcome(folder.file("others"), "z"), "written");
}

TEST_F(Planted, files_and_pipes_of_others_are_not_written_to) {
    folder.put("file", "theirs");
    ASSERT_EQ(::chown(folder.file("file").c_str(), kOther, kOther), 0);
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0666), 0);
    ASSERT_EQ(::chown(folder.file("pipe").c_str(), kOther, kOther), 0);
    ASSERT_EQ(::mkfifo(folder.file("mine/pipe").c_str(), 0600), 0);
    std::filesystem::create_hard_link(folder.file("mine/pipe"), folder.file("second"));
    refused("file", "a file");
    refused("pipe", "a pipe or device");
    refused("second", "a further name of a pipe or device");
    EXPECT_EQ(folder.get("file"), "theirs");
    folder.put("ours", "old");
    EXPECT_EQ(outcome(folder.file("ours"), "new"), "written");
}

// The text is more than the pipe holds, and the pipe is non-blocking.
TEST(Output, waits_for_a_pipe_that_does_not) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    const std::string text(1 << 20, 'x');
    std::string got;
    std::thread reader([&] {
        char part[65536];
        for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof(part))) > 0;) {
            got.append(part, static_cast<std::size_t>(n));
        }
    });
    const std::string came_to = outcome("/dev/fd/" + std::to_string(ends[1]), text);
    ::close(ends[1]);
    reader.join();
    ::close(ends[0]);
    EXPECT_EQ(came_to, "written");
    EXPECT_EQ(got, text);
}

TEST(Output, full_disk_is_told_and_left_empty) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "cannot mount a tmpfs";
    }
    const Folder folder;
    const ChildEnd end = in_child([&]() -> std::string {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
            return "skipped";
        }
        const std::string said = outcome(folder.file("out.bin"), std::string(1U << 20U, 'x'));
        return folder.names().empty() ? said : "left " + *folder.names().begin();
    });
    if (end.text == "skipped") {
        GTEST_SKIP() << "may not mount a tmpfs";
    }
    EXPECT_EQ(end.text, folder.file("out.bin") + ": cannot be written: No space left on device");
}

TEST(Output, pipe_closed_by_its_reader_is_told) {
    const ChildEnd end = in_child([]() -> std::string {
        int ends[2];
        if (::signal(SIGPIPE, SIG_IGN) == SIG_ERR || ::pipe(ends) != 0 ||
            ::dup2(ends[1], STDOUT_FILENO) < 0) {
            return "no pipe";
        }
        ::close(ends[0]);
        return outcome("-", "x");
    });
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.text,
              "standard output: closed by its reader after 0 bytes, before everything was written");
}

// Opened by its path, the file would be written from its start, or replaced.
TEST(Output, standard_output_goes_on_where_it_stands) {
    const Folder folder;
    for (const char* path : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
        folder.put("out.bin", "before ");
        const ChildEnd end = in_child([&]() -> std::string {
            const int file = ::open(folder.file("out.bin").c_str(), O_WRONLY | O_APPEND);
            return ::dup2(file, STDOUT_FILENO) < 0 ? "no dup" : outcome(path, "after");
        });
        EXPECT_EQ(end.text, "written") << path;
        EXPECT_EQ(folder.get("out.bin"), "before after") << path;
    }
}

TEST(Output, fifo_is_written_as_it_is) {
    const Folder folder;
    const std::string path = folder.file("fifo");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::string got;
    std::thread reader([&] { got = folder.get("fifo"); });
    const auto out = Output::create(path);
    ASSERT_TRUE(out);
    EXPECT_TRUE((*out)->is_stream());
    EXPECT_FALSE((*out)->can_overwrite());
    EXPECT_TRUE((*out)->write(bytes_of("through")));
    EXPECT_TRUE((*out)->close());
    reader.join();
    EXPECT_EQ(got, "through");
    EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(Output, interrupted_leaves_nothing) {
    for (const int signal : {SIGINT, SIGTERM}) {
        const Folder folder;
        folder.put("old.bin", "old");
        const ChildEnd end = in_child([&]() -> std::string {
            ::signal(signal, [](int number) {
                remove_temp_files();
                ::signal(number, SIG_DFL);
                ::raise(number);
            });
            const auto first = Output::create(folder.file("new.bin"));
            const auto second = Output::create(folder.file("old.bin"));
            const bool written = first && second && (*first)->write(bytes_of("half")) &&
                                 (*second)->write(bytes_of("half")) && folder.names().size() == 3;
            if (written) {
                ::raise(signal);
            }
            return "not ended";
        });
        EXPECT_EQ(end.text, "");
        EXPECT_TRUE(WIFSIGNALED(end.status) && WTERMSIG(end.status) == signal);
        EXPECT_EQ(folder.names(), std::set<std::string>{"old.bin"});
        EXPECT_EQ(folder.get("old.bin"), "old");
    }
}

TEST(Unfinished, finished_files_are_left_alone) {
    const Folder folder;
    for (unsigned i = 0; i < 2 * kMaxTempFiles; ++i) {
        ASSERT_EQ(outcome(folder.file("out.bin"), "x"), "written");
    }
    remove_temp_files();
    EXPECT_EQ(folder.names(), std::set<std::string>{"out.bin"});
}

TEST(Unfinished, more_than_there_is_room_for_are_refused) {
    const Folder folder;
    std::vector<std::unique_ptr<Output>> open;
    for (unsigned i = 0; i < kMaxTempFiles; ++i) {
        auto out = Output::create(folder.file("out" + std::to_string(i)));
        ASSERT_TRUE(out);
        open.push_back(std::move(*out));
    }
    EXPECT_EQ(outcome(folder.file("more"), "x"),
              folder.file("more") + ": too many files are being written");
    remove_temp_files();
    EXPECT_TRUE(folder.names().empty());
    open.clear();
    EXPECT_EQ(outcome(folder.file("more"), "x"), "written");
}

TEST(SameFile, regular_files_by_any_name) {
    const Folder folder;
    folder.put("a", "x");
    folder.put("b", "x");
    std::filesystem::create_symlink("a", folder.file("symbolic"));
    std::filesystem::create_hard_link(folder.file("a"), folder.file("hard"));
    EXPECT_TRUE(is_same_file(folder.file("a"), folder.file("a")));
    EXPECT_TRUE(is_same_file(folder.file("a"), folder.path() + "/./a"));
    EXPECT_TRUE(is_same_file(folder.file("a"), folder.file("symbolic")));
    EXPECT_TRUE(is_same_file(folder.file("hard"), folder.file("a")));
    EXPECT_FALSE(is_same_file(folder.file("a"), folder.file("b")));
    EXPECT_FALSE(is_same_file(folder.file("a"), folder.file("none")));
    EXPECT_FALSE(is_same_file(folder.file("none"), folder.file("none")));
    EXPECT_FALSE(is_same_file("/dev/null", "/dev/null"));
}

TEST(SameFile, pipes_but_not_terminals_and_sockets) {
    const Folder folder;
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
    EXPECT_TRUE(is_same_file(folder.file("pipe"), folder.file("pipe")));
    const std::vector<std::string> shared{folder.file("none"), folder.file("pipe"),
                                          folder.path() + "/./pipe"};
    EXPECT_EQ(find_shared_pipe(shared), std::pair(std::size_t{1}, std::size_t{2}));
    folder.put("file", "x");
    const std::vector<std::string> twice{folder.file("file"), folder.file("file"), "/dev/null",
                                         "/dev/null"};
    EXPECT_EQ(find_shared_pipe(twice), std::nullopt) << "may be read twice";
}

TEST(SameOutput, one_file_under_any_name) {
    const Folder folder;
    std::filesystem::create_symlink("new", folder.file("link"));
    EXPECT_TRUE(is_same_output(folder.file("new"), folder.file("link"))) << "none yet";
    EXPECT_FALSE(is_same_output(folder.file("new"), folder.file("newer")));
    folder.put("old", "x");
    std::filesystem::create_hard_link(folder.file("old"), folder.file("older"));
    EXPECT_TRUE(is_same_output(folder.file("old"), folder.file("older")));
    EXPECT_FALSE(is_same_output("/dev/null", "/dev/null"));
    for (const std::string name :
         {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"}) {
        EXPECT_TRUE(is_same_output("-", name)) << name;
        EXPECT_TRUE(is_same_output(name, "/dev/stdout")) << name;
        EXPECT_FALSE(is_same_output(name, folder.file("old"))) << name;
    }
}

TEST(SameOutput, standard_output_that_is_a_file_and_perhaps_the_input) {
    const Folder folder;
    folder.put("a", "x");
    const ChildEnd end = in_child([&]() -> std::string {
        const int file = ::open(folder.file("a").c_str(), O_WRONLY);
        const bool same = ::dup2(file, STDOUT_FILENO) >= 0 && is_same_file(folder.file("a"), "-") &&
                          !is_same_file(folder.file("none"), "-") &&
                          is_same_output(folder.file("a"), "-") &&
                          is_same_output("/dev/fd/" + std::to_string(file), "-");
        return same ? "same" : "different";
    });
    EXPECT_EQ(end.text, "same");
}

}  // namespace
}  // namespace unecho::capture
