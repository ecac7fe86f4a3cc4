// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of a source: a list that only grows, and views of its beginning that share its
// memory. So each batch can carry its interfaces at no cost, however many there are. A view stays
// valid on another thread while the list grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "captures/record.h"

namespace unecho::capture {

class InterfaceView {
  public:
    InterfaceView() = default;
    InterfaceView(std::shared_ptr<const Interface[]> data, std::size_t size)
        : data_(std::move(data)), size_(size) {}

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] const Interface* data() const noexcept { return data_.get(); }
    [[nodiscard]] const Interface* begin() const noexcept { return data(); }
    [[nodiscard]] const Interface* end() const noexcept { return data() + size_; }
    [[nodiscard]] const Interface& operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    std::shared_ptr<const Interface[]> data_;
    std::size_t size_ = 0;
};

class InterfaceList {
  public:
    InterfaceList() = default;
    explicit InterfaceList(const std::vector<Interface>& list) {
        for (const Interface& one : list) {
            push_back(one);
        }
    }

    // Write after the last element that any view can read. Views keep replaced memory alive.
    void push_back(Interface one) {
        if (size_ == capacity_) {
            capacity_ = std::max<std::size_t>(2 * capacity_, 4);
            std::shared_ptr<Interface[]> larger(new Interface[capacity_]);
            std::copy_n(data_.get(), size_, larger.get());
            data_ = std::move(larger);
        }
        data_[size_++] = std::move(one);
    }

    [[nodiscard]] InterfaceView view() const { return {data_, size_}; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const Interface& operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    std::shared_ptr<Interface[]> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace unecho::capture
