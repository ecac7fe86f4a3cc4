// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <unistd.h>

namespace unecho {

// An owned file descriptor, closed on destruction; -1 if there is none.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) {
            close(number_);
        }
    }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int get() const { return number_; }

  private:
    int number_ = -1;
};

}  // namespace unecho
