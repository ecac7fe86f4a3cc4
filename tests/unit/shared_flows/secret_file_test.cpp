// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "appliance/shared_flows/layout.h"

namespace unecho::shared_flows {
namespace {

class SecretFile : public testing::Test {
  protected:
    ~SecretFile() override { std::remove(path_.c_str()); }

    std::string holding(const std::string& text, mode_t mode = 0600) {
        std::remove(path_.c_str());
        std::ofstream(path_) << text;
        chmod(path_.c_str(), mode);
        return path_;
    }
    static std::string error_of(const auto& result) {
        return result ? "none" : result.error().context;
    }

  private:
    std::string path_ = testing::TempDir() + "unecho-secret-" + std::to_string(getpid());
};

constexpr const char* kDigits = "000102030405060708090A0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

TEST_F(SecretFile, holds_a_key_of_256_bits) {
    for (const char* const end : {"", "\n", "\r\n", "\nanother line\n"}) {
        const auto key = read_secret(holding(std::string(kDigits) + end));
        ASSERT_TRUE(key) << error_of(key);
        EXPECT_EQ((*key)[0], 0x00010203U);
        EXPECT_EQ((*key)[7], 0x1c1d1e1fU);
    }
}

TEST_F(SecretFile, that_is_none_is_told) {
    const std::string digits(kDigits);
    for (const std::string& text :
         {std::string(), digits.substr(1), digits + "0", digits.substr(1) + "g", " " + digits}) {
        EXPECT_NE(error_of(read_secret(holding(text))).find("64 hexadecimal digits"),
                  std::string::npos)
            << text;
    }
    EXPECT_NE(error_of(read_secret("/nowhere")).find("No such file"), std::string::npos);
    EXPECT_NE(error_of(read_secret("/tmp")).find("is no file"), std::string::npos);
}

TEST_F(SecretFile, that_others_may_read_is_refused) {
    for (const mode_t mode : {0640U, 0604U, 0660U, 0644U}) {
        EXPECT_NE(error_of(read_secret(holding(kDigits, mode))).find("chmod 600"),
                  std::string::npos);
        EXPECT_NE(error_of(read_password(holding("word", mode))).find("chmod 600"),
                  std::string::npos);
    }
    EXPECT_EQ(*read_password(holding("a word\n")), "a word");
    EXPECT_NE(error_of(read_password(holding("\nword"))).find("is empty"), std::string::npos);
}

}  // namespace
}  // namespace unecho::shared_flows
