// SPDX-License-Identifier: BSD-3-Clause
// The random decisions of a simulation.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>

#include "base/units.h"

namespace unecho::test {

// A random stream of its own: when one kind of fault is left out, all other events stay the same.
class Chance {
  public:
    Chance(std::uint64_t seed, unsigned stream) : engine_(seed * 64 + stream) {}

    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    std::uint64_t between(std::uint64_t least, std::uint64_t most) {
        return least + below(most - least + 1);
    }
    bool once_in(std::uint64_t n) { return below(n) == 0; }
    template <typename T>
    T one_of(std::initializer_list<T> list) {
        return *(list.begin() + below(list.size()));
    }
    // Return an exponentially distributed time with mean `mean`.
    Nanoseconds gap(Nanoseconds mean) {
        const double u = static_cast<double>(below(1 << 20) + 1) / (1 << 20);
        return static_cast<Nanoseconds>(-std::log(u) * static_cast<double>(mean));
    }

  private:
    std::mt19937_64 engine_;
};

}  // namespace unecho::test
