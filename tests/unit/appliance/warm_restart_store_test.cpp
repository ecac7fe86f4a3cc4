// SPDX-License-Identifier: BSD-3-Clause
// A process finds the state of its predecessor: all that it may reuse, and nothing that means, or
// may mean, something else. Time is simulated, and a process is a WarmRestartStore.
#include "appliance/state/warm_restart_store.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "dedup/engines/instance.h"
#include "plans.h"

namespace unecho::appliance {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwner = "flows";
constexpr std::size_t kWorkers = 2;

// /dev/shm is a tmpfs on every Linux.
class WarmRestartStoreTest : public testing::Test {
  protected:
    WarmRestartStoreTest() {
        std::string name = "/dev/shm/unecho-state-XXXXXX";
        root_ = ::mkdtemp(name.data());
        config::Config config = taps_to_tool();
        config.filters[0].rate = 1e4;
        config.filters[0].engine = engines::Engine::kLine;
        config.workers.lcores = std::vector<LcoreId>{0, 1};
        plan_ = plan_of(config, machine_with({0, 1}), all_of(config, device("net_null")));
    }
    ~WarmRestartStoreTest() override { fs::remove_all(root_); }
    WarmRestartStoreTest(const WarmRestartStoreTest&) = delete;
    WarmRestartStoreTest& operator=(const WarmRestartStoreTest&) = delete;
    WarmRestartStoreTest(WarmRestartStoreTest&&) = delete;
    WarmRestartStoreTest& operator=(WarmRestartStoreTest&&) = delete;

    struct Opened {
        std::unique_ptr<WarmRestartStore> state;
        bool goes_on = false;  // it resumed the predecessor's clock and secrets
    };
    Opened open(const Plan& plan, const std::string& owner = kOwner,
                std::optional<std::uint64_t> seed = std::nullopt) {
        auto opened = WarmRestartStore::open(
            folder(), plan, owner, seed,
            {{0, std::uint64_t{1} << 32, &counter_}, [this] { return counter_ + ahead_; }});
        EXPECT_TRUE(opened) << opened.error().context;
        Opened out{std::move(*opened), false};
        out.goes_on = out.state->base().has_value();
        if (!out.goes_on) {
            WarmRestartStore::Base base{{0, std::uint64_t{1} << 32, &counter_}, {}, {}};
            base.secret = hash::secret_from_seed(seed.value_or(99));
            out.state->begin(base);
        }
        return out;
    }

    // A filter of a process, recognised by the time at which it was last advanced.
    struct Filter {
        WarmRestartMemory memory;
        std::unique_ptr<engines::FilterInstance> instance;
        filter::Ageing* ageing;
    };
    Filter filter(WarmRestartStore& state, const engines::FilterPlan& plan, std::size_t worker) {
        auto memory = state.filter_memory(plan, worker);
        EXPECT_TRUE(memory) << memory.error().context;
        const engines::InstanceMemory layout = WarmRestartStore::layout_of(*memory);
        if (memory->contents() == filter::Contents::kZero) {
            EXPECT_TRUE(std::all_of(layout.filter.begin(), layout.filter.end(),
                                    [](std::byte byte) { return byte == std::byte{0}; }));
            EXPECT_EQ(layout.ageing->time(), 0U);
        }
        auto made = engines::FilterInstance::make(plan, layout);
        EXPECT_TRUE(made) << made.error().context;
        return {std::move(*memory), std::move(*made), layout.ageing};
    }
    [[nodiscard]] Nanoseconds time_of(std::size_t worker) const { return counter_ - worker; }

    // Run a process that leaves filters of both workers. `end` may change them at its end.
    void leave(const Plan& plan, const std::function<void(Filter&, std::size_t)>& end = {},
               std::optional<std::uint64_t> seed = std::nullopt) {
        Opened process = open(plan, kOwner, seed);
        for (std::size_t w = 0; w < kWorkers; ++w) {
            Filter one = filter(*process.state, plan.filters[0], w);
            ASSERT_EQ(one.ageing->advance_to({time_of(w), 0}).now, time_of(w));
            one.memory.keep(true);
            if (end) {
                end(one, w);
            }
        }
        process.state->note_alive(counter_);
    }
    // Return a bit for each worker whose filter is resumed.
    unsigned found(const Plan& plan, const std::string& owner = kOwner,
                   std::optional<std::uint64_t> seed = std::nullopt) {
        const Nanoseconds left = counter_;
        Opened process = open(plan, owner, seed);
        notes_ = process.state->notes();
        unsigned out = 0;
        for (std::size_t w = 0; w < plan.workers.size(); ++w) {
            const Filter one = filter(*process.state, plan.filters[0], w);
            if (one.memory.contents() == filter::Contents::kRestored) {
                out |= 1U << w;
                EXPECT_LE(one.ageing->time() + w, left) << "another worker's";
            }
        }
        EXPECT_EQ(out != 0, process.goes_on);
        return out;
    }
    [[nodiscard]] bool noted(const std::string& why) const {
        return std::any_of(notes_.begin(), notes_.end(), [&](const std::string& note) {
            return note.find(why) != std::string::npos;
        });
    }

    [[nodiscard]] std::string folder() const { return root_ / "state"; }
    [[nodiscard]] std::vector<fs::path> files() const {
        std::vector<fs::path> out;
        for (const auto& entry : fs::directory_iterator(folder())) {
            if (entry.path().filename() != "clock") {
                out.push_back(entry.path());
            }
        }
        std::sort(out.begin(), out.end());
        return out;
    }
    // Write at an offset of the clock's file.
    void write_clock(std::streamoff offset, const std::string& bytes) const {
        std::fstream file(fs::path(folder()) / "clock",
                          std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(offset);
        file << bytes;
        ASSERT_TRUE(file.flush());
    }

    static std::string bytes_of(const fs::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    // Copy all files; put_back() restores them.
    void keep_aside() const {
        fs::remove_all(root_ / "aside");
        fs::copy(folder(), root_ / "aside", fs::copy_options::recursive);
    }
    void put_back() const {
        for (const auto& entry : fs::directory_iterator(root_ / "aside")) {
            fs::copy(entry.path(), fs::path(folder()) / entry.path().filename(),
                     fs::copy_options::overwrite_existing);
        }
    }

    fs::path root_;
    Plan plan_;
    std::uint64_t counter_ = 10 * kSecond;
    Nanoseconds ahead_ = 0;  // kernel clock minus counter
    std::vector<std::string> notes_;
};

constexpr unsigned kBoth = 0b11;

// CRC-64 as in ECMA-182, reflected, bit by bit.
std::uint64_t crc64(std::string_view text) {
    std::uint64_t sum = ~std::uint64_t{0};
    for (const char c : text) {
        sum ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) {
            sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xC96C5795D7870F42 : 0);
        }
    }
    return ~sum;
}

TEST_F(WarmRestartStoreTest, names_files_alike_with_every_standard_library) {
    constexpr std::size_t kDescriptionAt = 24;
    leave(plan_);
    ASSERT_EQ(files().size(), kWorkers);
    for (const fs::path& path : files()) {
        const std::string description = bytes_of(path).c_str() + kDescriptionAt;
        ASSERT_TRUE(description.starts_with("filter echo; worker "));
        std::array<char, 32> name{};
        std::snprintf(name.data(), name.size(), "filter-%016llx",
                      static_cast<unsigned long long>(crc64(description)));
        EXPECT_EQ(path.filename(), name.data());
    }
}

TEST_F(WarmRestartStoreTest, goes_on_with_what_each_worker_had_and_with_its_secrets) {
    leave(plan_);
    counter_ += kMillisecond;
    Opened process = open(plan_);
    ASSERT_TRUE(process.goes_on);
    EXPECT_EQ(process.state->base()->secret.body, hash::secret_from_seed(99).body);
    for (std::size_t w = 0; w < kWorkers; ++w) {
        const Filter one = filter(*process.state, plan_.filters[0], w);
        EXPECT_EQ(one.memory.contents(), filter::Contents::kRestored);
        EXPECT_EQ(one.ageing->time(), 10 * kSecond - w);
    }
    ASSERT_EQ(process.state->notes().size(), 1U);
    EXPECT_EQ(process.state->notes()[0],
              "state: filter \"echo\" goes on with what it knew 1 ms ago");
}

// Changes one thing at a time that makes it another filter.
TEST_F(WarmRestartStoreTest, finds_nothing_that_means_something_else) {
    using Change = std::pair<const char*, std::function<void(engines::FilterPlan&)>>;
    const std::vector<Change> changes = {
        {"name", [](auto& f) { f.name = "other"; }},
        {"key", [](auto& f) { f.key.mode = packet::KeyMode::kFlow; }},
        {"non_ip", [](auto& f) { f.key.non_ip = packet::NonIp::kFrame; }},
        {"tenant", [](auto& f) { f.key.tenant = packet::Tenant::kMatch; }},
        {"bytes", [](auto& f) { f.key.bytes = 40; }},
        {"policy", [](auto& f) { f.policy = config::Policy::kRefresh; }},
        {"first", [](auto& f) { f.first = 2; }},
        {"window", [](auto& f) { f.window += 1; }},
        {"length", [](auto& f) { f.clock.length += 1; }},
        {"load", [](auto& f) { f.load = f.load.value_or(1000) + 1; }},
        {"geometry",
         [](auto& f) {
             std::get<sizing::LineGeometry>(f.geometry).b +=
                 std::get<sizing::LineGeometry>(f.geometry).b == 1 ? 1 : -1;
         }},
    };
    leave(plan_);
    for (const auto& [name, change] : changes) {
        Plan other = plan_;
        change(other.filters[0]);
        EXPECT_EQ(found(other), 0U) << name;
        leave(plan_);
    }
    EXPECT_EQ(found(plan_, "cards"), 0U) << "owner";
    leave(plan_);
    Plan fewer = plan_;
    fewer.workers.pop_back();
    EXPECT_EQ(found(fewer), 0U) << "workers";
    leave(plan_);
    EXPECT_EQ(found(plan_), kBoth) << "nothing";
}

TEST_F(WarmRestartStoreTest, reads_what_a_file_says_of_itself) {
    Plan other = plan_;
    other.filters[0].first = 2;
    leave(plan_);
    const auto names = files();
    fs::copy(folder(), root_ / "aside", fs::copy_options::recursive);
    leave(other);  // removes the others
    const auto others = files();
    ASSERT_EQ(names.size(), kWorkers);
    ASSERT_EQ(others.size(), kWorkers);
    for (std::size_t i = 0; i < kWorkers; ++i) {
        ASSERT_NE(names[i], others[i]);
        fs::copy(root_ / "aside" / names[i].filename(), others[i],
                 fs::copy_options::overwrite_existing);
    }
    EXPECT_EQ(found(other), 0U);
}

TEST_F(WarmRestartStoreTest, begins_empty_where_the_clock_means_nothing) {
    leave(plan_);
    write_clock(8, "another boot");
    EXPECT_EQ(found(plan_), 0U);
    EXPECT_TRUE(noted("the machine was started anew"));

    leave(plan_);
    ahead_ += 10 * kMillisecond;
    EXPECT_EQ(found(plan_), 0U);
    EXPECT_TRUE(noted("the processor's counter did not go on with the kernel's clock"));

    leave(plan_);
    write_clock(0, "\x01");
    EXPECT_EQ(found(plan_), 0U);
    EXPECT_TRUE(noted("another version of unecho kept it"));

    leave(plan_);
    EXPECT_EQ(found(plan_, kOwner, 7), 0U) << "a seed of its own";
    EXPECT_TRUE(noted("run.seed is another one"));
    leave(plan_, {}, 8);
    EXPECT_EQ(found(plan_, kOwner, 7), 0U) << "another seed";
    leave(plan_, {}, 8);
    EXPECT_EQ(found(plan_, kOwner, 8), kBoth) << "the same";
    EXPECT_EQ(found(plan_), 0U) << "none any more";
}

TEST_F(WarmRestartStoreTest, goes_on_until_the_window_has_passed_since_it_was_seen_alive) {
    const Nanoseconds remembered = plan_.filters[0].window + plan_.filters[0].prediction.slack;
    for (const Nanoseconds less : {Nanoseconds{1}, Nanoseconds{0}}) {
        Opened process = open(plan_);
        for (std::size_t w = 0; w < kWorkers; ++w) {
            filter(*process.state, plan_.filters[0], w).memory.keep(true);
        }
        counter_ += remembered / 2;  // since the start
        process.state->note_alive(counter_);
        process.state.reset();
        counter_ += remembered - less;
        EXPECT_EQ(found(plan_), less == 0 ? 0U : kBoth);
        EXPECT_EQ(noted("its window has passed"), less == 0);
    }
}

TEST_F(WarmRestartStoreTest, takes_no_filter_that_was_torn_or_is_ahead_of_time) {
    leave(plan_, [&](Filter& one, std::size_t w) {
        if (w == 0) {  // as if cut off before all was written
            const auto bytes = WarmRestartStore::layout_of(one.memory).filter;
            std::memset(bytes.data(), 0, bytes.size());
        }
    });
    EXPECT_EQ(found(plan_), 0b10U);
    EXPECT_TRUE(
        noted("\"echo\" begins empty on worker 0: the process before it ended amid a turn"));
    EXPECT_FALSE(noted("goes on"));

    leave(plan_, [&](Filter& one, std::size_t w) {
        if (w == 1) {
            filter::AgeingSpec other = plan_.filters[0].ageing_spec();
            other.retained_generations -= 1;
            *one.ageing = filter::Ageing(other);
        }
    });
    EXPECT_EQ(found(plan_), 0b01U);

    leave(plan_, [&](Filter& one, std::size_t w) {
        if (w == 1) {
            static_cast<void>(one.ageing->advance_to({counter_ + kSecond, 0}));
        }
    });
    EXPECT_EQ(found(plan_), 0b01U);
}

// Changes each byte that stays constant while a process runs.
TEST_F(WarmRestartStoreTest, believes_no_damaged_clock_or_secret) {
    leave(plan_);
    counter_ += kMillisecond;
    keep_aside();
    const std::string clock = bytes_of(fs::path(folder()) / "clock");
    // The time last seen alive follows, and the rest of the page is 0.
    const std::size_t end = clock.find_last_not_of('\0') / 8 * 8;
    ASSERT_GT(end, sizeof(WarmRestartStore::Base));
    for (std::size_t i = 0; i < end; ++i) {
        put_back();
        std::string changed(1, static_cast<char>(clock[i] ^ 1));
        write_clock(static_cast<std::streamoff>(i), changed);
        EXPECT_EQ(found(plan_), 0U) << "byte " << i;
        EXPECT_TRUE(noted("state: all filters begin empty: ")) << "byte " << i;
    }
    put_back();
    write_clock(static_cast<std::streamoff>(end) - 20, "damage");
    EXPECT_EQ(found(plan_), 0U);
    EXPECT_TRUE(noted("the kept clock and secrets are damaged: their checksum is wrong"));
    put_back();
    EXPECT_EQ(found(plan_), kBoth);
}

TEST_F(WarmRestartStoreTest, takes_no_filter_that_was_damaged_since_an_orderly_end) {
    leave(plan_);
    counter_ += kMillisecond;
    keep_aside();
    const auto names = files();
    // All bytes of the head's first part, all of the ageing after it, and some of the filter.
    constexpr std::size_t kHead = 2048;
    const std::size_t end = kHead + plan_.filters[0].instance_bytes;
    ASSERT_GE(bytes_of(names[0]).size(), end);
    std::vector<std::size_t> places(64 + 128);
    std::iota(places.begin(), places.begin() + 64, 0);
    std::iota(places.begin() + 64, places.end(), kHead);
    for (std::size_t i = places.back(); i < end; i += end / 97) {
        places.push_back(i);
    }
    for (const std::size_t i : places) {
        put_back();
        std::string bytes = bytes_of(names[0]);
        bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
        std::ofstream(names[0], std::ios::binary | std::ios::in) << bytes;
        const unsigned left = found(plan_);
        EXPECT_TRUE(left == 0b01U || left == 0b10U) << "byte " << i;
        EXPECT_TRUE(noted("\"echo\" begins empty on worker")) << "byte " << i;
        // A file with another magic or description is foreign, not damaged.
        EXPECT_EQ(noted("what was kept of it is damaged: its checksum is wrong"),
                  i >= kHead || (i >= 8 && i < 24))
            << "byte " << i;
    }
    put_back();
    EXPECT_EQ(found(plan_), kBoth);
}

// A killed process leaves no checksum, even if its predecessor left one.
TEST_F(WarmRestartStoreTest, goes_on_with_what_a_killed_process_left) {
    for (int before = 0; before < 2; ++before) {
        counter_ += kMillisecond;
        leave(plan_, [&](Filter&, std::size_t w) {
            if (w + 1 == kWorkers) {
                keep_aside();  // the files as at any moment
            }
        });
        put_back();
        EXPECT_EQ(found(plan_), kBoth);
    }
}

TEST_F(WarmRestartStoreTest, takes_no_filter_that_may_not_know_all) {
    leave(plan_, [&](Filter& one, std::size_t w) { one.memory.keep(w == 0); });
    EXPECT_EQ(found(plan_), 0b01U);
    EXPECT_TRUE(noted("on worker 1: the process before it ended amid a reload"));
    Opened process = open(plan_);
    for (std::size_t w = 0; w < kWorkers; ++w) {
        filter(*process.state, plan_.filters[0], w);  // keep() was never called
    }
    process.state.reset();
    EXPECT_EQ(found(plan_), 0b01U);
}

// The same for what belongs to a filter: an audit, which starts anew if its filter begins empty;
// and for a report, which is independent.
class Beside : public WarmRestartStoreTest {
  protected:
    Beside()
        : params_(
              filter::AuditParams::make({.memory = 1 << 16, .window = 50 * kMillisecond}).value()),
          flows_(filter::ShbfAParams::make({.m = 4096, .k = 4}).value()) {
        plan_.routes[0].taps.emplace();
        plan_.routes[0].taps->window = kSecond;
        plan_.routes[0].taps->flows = 100;
    }

    // A complete process: filters and what belongs to them; `end` may mark each as not kept.
    struct Contents {
        std::array<filter::Contents, kWorkers> filters, audits, taps;
    };
    Contents process(
        const std::function<void(std::size_t, WarmRestartMemory& filter, WarmRestartMemory& audit,
                                 WarmRestartMemory& taps)>& end = {}) {
        Opened opened = open(plan_);
        WarmRestartStore& state = *opened.state;
        Contents out{};
        std::vector<WarmRestartMemory> kept;
        for (std::size_t w = 0; w < kWorkers; ++w) {
            Filter one = filter(state, plan_.filters[0], w);
            WarmRestartMemory audit = state.audit_memory(plan_.filters[0], params_, w).value();
            WarmRestartMemory taps = state.taps_memory(plan_, plan_.routes[0], flows_, w).value();
            out.filters.at(w) = one.memory.contents();
            out.audits.at(w) = audit.contents();
            out.taps.at(w) = taps.contents();
            filter::Audit auditor(params_, audit.bytes(), audit.contents());
            filter::AuditState burst;
            burst.first = burst.last = counter_;
            auditor.begin_burst(burst);
            filter::TapReport report(flows_, kSecond, taps.bytes(), taps.contents());
            report.advance(counter_);
            for (WarmRestartMemory* memory : {&one.memory, &audit, &taps}) {
                memory->keep(true);
            }
            if (end) {
                end(w, one.memory, audit, taps);
            }
            kept.push_back(std::move(one.memory));
            kept.push_back(std::move(audit));
            kept.push_back(std::move(taps));
        }
        EXPECT_TRUE(state.end_start());
        state.note_alive(counter_);
        return out;
    }

    filter::AuditParams params_;
    filter::ShbfAParams flows_;
};

constexpr auto kZero = filter::Contents::kZero;
constexpr auto kRestored = filter::Contents::kRestored;
using OfWorkers = std::array<filter::Contents, kWorkers>;

TEST_F(Beside, all_go_on) {
    process();
    const Contents then = process();
    EXPECT_EQ(then.filters, (OfWorkers{kRestored, kRestored}));
    EXPECT_EQ(then.audits, (OfWorkers{kRestored, kRestored}));
    EXPECT_EQ(then.taps, (OfWorkers{kRestored, kRestored}));
}

TEST_F(Beside, audit_begins_with_its_filter) {
    process([](std::size_t w, WarmRestartMemory& filter, WarmRestartMemory&, WarmRestartMemory&) {
        filter.keep(w == 0);
    });
    const Contents then = process();
    EXPECT_EQ(then.filters, (OfWorkers{kRestored, kZero}));
    EXPECT_EQ(then.audits, (OfWorkers{kRestored, kZero}));
    EXPECT_EQ(then.taps, (OfWorkers{kRestored, kRestored}));
}

TEST_F(Beside, those_that_are_not_whole_begin_alone) {
    process(
        [](std::size_t w, WarmRestartMemory&, WarmRestartMemory& audit, WarmRestartMemory& taps) {
            WarmRestartMemory& damaged = w == 0 ? audit : taps;
            // An audit that never started; a report whose first change was cut off (WriteGuard).
            std::memset(damaged.bytes().data(), 0, damaged.bytes().size());
            if (w == 1) {
                std::memset(damaged.bytes().data(), 0xFF, damaged.bytes().size());
            }
        });
    const Contents then = process();
    EXPECT_EQ(then.filters, (OfWorkers{kRestored, kRestored}));
    EXPECT_EQ(then.audits, (OfWorkers{kZero, kRestored}));
    EXPECT_EQ(then.taps, (OfWorkers{kRestored, kZero}));
}

TEST_F(Beside, those_that_were_damaged_since_an_orderly_end_begin_alone) {
    process();
    keep_aside();
    for (const fs::path& path : files()) {
        const std::string name = path.filename();
        if (name.starts_with("filter-")) {
            continue;
        }
        put_back();
        std::string bytes = bytes_of(path);
        bytes[2048 + 512] = static_cast<char>(bytes[2048 + 512] ^ 1);
        std::ofstream(path, std::ios::binary | std::ios::in) << bytes;
        const Contents then = process();
        const auto kept = [](const OfWorkers& all) {
            return std::count(all.begin(), all.end(), kRestored);
        };
        const bool audit = name.starts_with("audit-");
        EXPECT_EQ(kept(then.filters), 2);
        EXPECT_EQ(kept(then.audits), audit ? 1 : 2) << name;
        EXPECT_EQ(kept(then.taps), audit ? 2 : 1) << name;
    }
}

// Memory made during the run, by a reload, finds nothing of the predecessor.
TEST_F(Beside, nothing_is_found_after_the_start) {
    process();
    Opened opened = open(plan_);
    WarmRestartStore& state = *opened.state;
    std::vector<Filter> filters;
    for (std::size_t w = 0; w < kWorkers; ++w) {
        filters.push_back(filter(state, plan_.filters[0], w));
        EXPECT_EQ(filters.back().memory.contents(), kRestored);
        state.audit_memory(plan_.filters[0], params_, w).value().keep(true);
    }
    ASSERT_TRUE(state.end_start());
    EXPECT_EQ(state.audit_memory(plan_.filters[0], params_, 0).value().contents(), kZero);
    filters.clear();
    EXPECT_EQ(filter(state, plan_.filters[0], 0).memory.contents(), kZero);
}

TEST_F(Beside, files_that_nobody_means_are_removed) {
    process();
    EXPECT_EQ(files().size(), 3 * kWorkers);
    Opened opened = open(plan_);
    WarmRestartStore& state = *opened.state;
    {
        Filter one = filter(state, plan_.filters[0], 1);
        ASSERT_TRUE(state.end_start());
        EXPECT_EQ(files().size(), 1U) << "that of worker 1, which alone was asked for";
    }
    EXPECT_EQ(files().size(), 1U) << "as when the process ends";
    state.remove_unused_files(true);
    {
        Filter one = filter(state, plan_.filters[0], 0);
        EXPECT_EQ(files().size(), 2U);
    }
    EXPECT_EQ(files().size(), 1U) << "as when a reload takes it away";
}

}  // namespace
}  // namespace unecho::appliance
