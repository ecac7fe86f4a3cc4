// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/check_files.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "unit/captures/folder.h"

namespace unecho::dedup {
namespace {

class CheckFiles : public testing::Test {
  protected:
    CheckFiles() {
        folder_.put("in.pcap", "x");
        std::filesystem::create_symlink(in_, link_);
    }

    // Return the error; empty if there is none.
    static std::string why(const Status& status) {
        EXPECT_TRUE(status || status.error().code == Errc::kConfig);
        return status ? "" : status.error().context;
    }

    capture::Folder folder_;
    std::string in_ = folder_.file("in.pcap");
    std::string link_ = folder_.file("link.pcap");
    std::string out_ = folder_.file("out.pcap");
};

TEST_F(CheckFiles, outputs_of_any_command_overwrite_nothing) {
    const std::vector<std::string> inputs{in_};
    const auto said = [&](const std::vector<NamedOutput>& outputs) {
        return why(check_outputs(inputs, outputs));
    };
    EXPECT_EQ(said({}), "");
    EXPECT_EQ(said({{"--toml", out_}, {"--html", out_ + "2"}}), "");
    EXPECT_EQ(said({{"--toml", out_}, {"--html", link_}}),
              "--html " + link_ + ": is the input; give the output another name");
    EXPECT_EQ(said({{"--toml", out_}, {"--html", folder_.path() + "/./out.pcap"}}),
              "--html " + folder_.path() + "/./out.pcap: is the file of --toml too");
}

TEST_F(CheckFiles, the_first_output_that_is_wrong_is_named) {
    FileOptions files;
    files.inputs = {in_};
    files.output = out_;
    files.pairs = folder_.file("pairs.csv");
    EXPECT_EQ(why(check_files(files)), "");
    files.dropped = folder_.file("echoes.csv");  // not a format for captures
    EXPECT_EQ(why(check_files(files)).find("--dropped " + *files.dropped + ": such files"), 0U);
    files.output = link_;
    EXPECT_EQ(why(check_files(files)),
              "-o " + link_ + ": is the input; give the output another name");
}

TEST_F(CheckFiles, a_file_of_a_split_output_may_be_no_other) {
    FileOptions files;
    files.inputs = {in_};
    files.output = out_;
    files.dropped = folder_.file("out_00001.pcap");
    files.split.packets = 10;
    EXPECT_EQ(why(check_files(files)), "");
    EXPECT_EQ(why(check_split_file(files, folder_.file("out_00000.pcap"))), "");
    EXPECT_EQ(why(check_split_file(files, out_)), "");
    EXPECT_EQ(why(check_split_file(files, *files.dropped)),
              "-o " + *files.dropped + ": is the file of --dropped too");
    EXPECT_EQ(why(check_split_file(files, link_)),
              "-o " + link_ + ": is the input; give the output another name");
    files.output = "-";
    EXPECT_EQ(why(check_files(files)), "-o -: cannot be split; -c and -i need the name of a file");
}

TEST_F(CheckFiles, standard_input_is_read_once) {
    FileOptions files;
    files.inputs = {"-", in_, "-"};
    files.output = out_;
    EXPECT_EQ(why(check_files(files)), "-: standard input can be read only once");
}

}  // namespace
}  // namespace unecho::dedup
