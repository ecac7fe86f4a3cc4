// SPDX-License-Identifier: BSD-3-Clause
// Comparisons with vectors depend on this: a missing or truncated file is an error.
#include "support/vectors.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

namespace unecho::test::vectors_test {
namespace {

class Vectors : public testing::Test {
  protected:
    Vectors() {
        const char* folder = std::getenv("TMPDIR");
        path_ = std::string(folder != nullptr ? folder : "/tmp") + "/vectors-XXXXXX";
        ::close(::mkstemp(path_.data()));
    }
    ~Vectors() override { std::filesystem::remove(path_); }
    Vectors(const Vectors&) = delete;
    Vectors& operator=(const Vectors&) = delete;

    // Return the error of reading this file, or its number of rows.
    std::string read(const std::string& content) {
        std::ofstream(path_, std::ios::trunc) << content;
        try {
            return std::to_string(read_vectors(path_).size());
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }

    std::string path_;
};

TEST_F(Vectors, rows_have_the_columns_names) {
    EXPECT_EQ(read("k,\"rate [1, per s]\"\n3,0.5\n4,\n"), "2");
    const std::vector<Row> rows = read_vectors(path_);
    EXPECT_EQ(rows[0].whole("k"), 3U);
    EXPECT_EQ(rows[0].real("rate "), 0.5);
    EXPECT_FALSE(rows[1].has("rate "));
}

TEST_F(Vectors, nothing_to_compare_with_is_an_error) {
    EXPECT_EQ(read(""), "no vectors in " + path_);
    EXPECT_EQ(read("k,l\n"), "no rows in " + path_);
    EXPECT_EQ(read("k,l\n3,4\n3\n"), path_ + ": row 2 has 1 cells, not 2");
    EXPECT_EQ(read("k,l\n3,4,5\n"), path_ + ": row 1 has 3 cells, not 2");
    EXPECT_THROW(read_vectors("/no/such.csv"), std::runtime_error);
    EXPECT_THROW(vectors("no_such_vectors"), std::runtime_error);
}

}  // namespace
}  // namespace unecho::test::vectors_test
