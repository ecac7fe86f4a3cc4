// SPDX-License-Identifier: BSD-3-Clause
// Does what a sanitizer must report: canary shift|overflow|heap|leak|race. Exits with 0 if no
// sanitizer stops it.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

// Return a number that the compiler cannot know.
int number_of(const char* text) {
    return std::atoi(text);
}

int shift(int by) {
    return 1 << by;
}

int overflow(int a) {
    return a + 0x7fffffff;
}

int heap(int at) {
    const int* numbers = new int[4]{1, 2, 3, 4};
    const int found = numbers[at];
    delete[] numbers;
    return found;
}

int race() {
    int shared = 0;
    std::thread other([&] {
        for (int i = 0; i < 1000; ++i) {
            shared = shared + 1;
        }
    });
    for (int i = 0; i < 1000; ++i) {
        shared = shared + 1;
    }
    other.join();
    return shared;
}

int leak(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) {
        int* volatile lost = new int[16]{i};
        sum += *lost;
    }
    return sum;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc == 3 ? argv[1] : "";
    const int number = argc == 3 ? number_of(argv[2]) : 0;
    int result = 0;
    if (what == "shift") {
        result = shift(number);
    } else if (what == "overflow") {
        result = overflow(number);
    } else if (what == "heap") {
        result = heap(number);
    } else if (what == "race") {
        result = race();
    } else if (what == "leak") {
        result = leak(number);
    } else {
        std::fputs("usage: canary shift|overflow|heap|leak|race NUMBER\n", stderr);
        return 0;  // a usage error is no sanitizer report, so it must not look like one
    }
    std::printf("%d\n", result);
    return 0;
}
