// SPDX-License-Identifier: BSD-3-Clause
// One row of a table of filters: its parameters and its results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "common/mapping.h"
#include "common/raw_limit.h"
#include "common/track.h"

namespace unecho::bench {

struct RowSpec {
    unsigned echo_percent = 0;
    unsigned burst = 32;
    // Place a turn of generations among the timed bursts, however long it takes to get there.
    bool to_turn = false;
    // Prefetch each burst one ahead (pipelined prefetch), as the worker does.
    bool ahead = false;
};

struct Effort {
    std::uint64_t cycles = 0;    // timed cycles for a row
    unsigned bursts = 0;         // bursts timed one by one
    std::optional<float> limit;  // chance limit, for filters that take one
};

// A filter with its memory, filled.
class Subject {
  public:
    virtual ~Subject() = default;
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    Subject(Subject&&) = delete;
    Subject& operator=(Subject&&) = delete;

    // Fill the filter. Echoes will repeat this share of the window, the youngest part.
    virtual void fill(double echo_reach) = 0;
    virtual Speed speed(const RowSpec& row, const Effort& effort, Answers& answers) = 0;
    virtual Bursts bursts(const RowSpec& row, const Effort& effort) = 0;

    [[nodiscard]] const Facts& facts() const noexcept { return facts_; }
    [[nodiscard]] Pages pages() const noexcept { return pages_; }

  protected:
    Subject(Facts facts, Pages pages) : facts_(std::move(facts)), pages_(pages) {}

  private:
    Facts facts_;
    Pages pages_;
};

template <typename F>
class SubjectOf : public Subject {
  public:
    // args: those of the filter's constructor.
    template <typename... Args>
    SubjectOf(const Facts& facts, Pages pages, Args&&... args)
        : Subject(facts, pages), filter_(std::forward<Args>(args)...), track_(filter_, facts) {}

    void fill(double echo_reach) override {
        track_.set_reach(
            static_cast<std::uint64_t>(echo_reach * static_cast<double>(facts().window_keys)));
        track_.run(facts().fill_keys);
    }
    Speed speed(const RowSpec& row, const Effort& effort, Answers& answers) override {
        track_.judge(effort.limit);
        track_.tell_ahead(row.ahead);
        return track_.speed(row.burst, row.echo_percent, effort.cycles, answers);
    }
    Bursts bursts(const RowSpec& row, const Effort& effort) override {
        track_.judge(effort.limit);
        track_.tell_ahead(row.ahead);
        return track_.bursts(row.burst, row.echo_percent, effort.bursts, row.to_turn);
    }

  private:
    F filter_;
    Track<F> track_;
};

// A subject whose filter uses memory of the benchmark.
template <typename F>
class MappedSubjectOf : public SubjectOf<F> {
  public:
    // args: those of the filter's constructor before the memory.
    template <typename... Args>
    MappedSubjectOf(const Facts& facts, Mapping memory, const Args&... args)
        : SubjectOf<F>(facts, memory.pages(), args..., memory.bytes()),
          memory_(std::move(memory)) {}

  private:
    Mapping memory_;
};

using SubjectMaker = std::function<Result<std::unique_ptr<Subject>>()>;

// The rows of one subject, which is made when the first of them runs.
struct RowGroup {
    std::string engine;
    std::string where;
    SubjectMaker make;
    std::vector<RowSpec> rows;
};

}  // namespace unecho::bench
