// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/compare.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/option_names.h"
#include "base/utf8.h"
#include "captures/compare/missing.h"
#include "captures/compare/paths/path.h"
#include "captures/open_captures.h"
#include "captures/warning_list.h"

namespace unecho::compare {
namespace {

using capture::Source;

// Memory beside looks and flows: the program, and the buffers of each input.
constexpr std::uint64_t kProgramBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kInputBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kLeastLooks = std::uint64_t{4} << 20;  // bytes for those of an input

ReaderOptions reader_options(const Options& options, const hash::Secret& secret) {
    ReaderOptions out;
    out.key.non_ip = packet::NonIp::kFrame;
    out.key.tunnels = packet::Tunnels(options.tunnels, options.vxlan_ports);
    out.key.checksums = packet::Checksums::kFill;
    out.key.bytes = options.key_bytes;
    out.secret = secret;
    const std::uint64_t inputs = options.inputs.size();
    out.memory = (options.memory - kProgramBytes) / inputs - kInputBytes;
    out.interfaces_are_points = options.inputs.size() == 1;
    out.nat = options.nat;
    return out;
}

// Reads all inputs, on several threads if requested.
class InputReaders {
  public:
    InputReaders(const Options& options, const ReaderOptions& reading, LookStore& looks)
        : options_(options), statuses_(options.inputs.size()), progress_(options.inputs.size()) {
        for (std::size_t input = 0; input < options.inputs.size(); ++input) {
            readers_.emplace_back(reading, input, looks, sample_);
        }
    }

    Status read(const OnProgress& on_progress) {
        on_progress_ = &on_progress;
        const std::size_t threads = std::min<std::size_t>(options_.threads, readers_.size());
        {
            std::vector<std::jthread> others;
            for (std::size_t i = 1; i < threads; ++i) {
                try {
                    others.emplace_back([this] { read_some(); });
                } catch (const std::system_error&) {  // the threads that exist do the work
                    break;
                }
            }
            read_some();
        }
        for (const Status& status : statuses_) {
            UNECHO_TRY(status);
        }
        for (LookReader& reader : readers_) {
            reader.settle();
        }
        return {};
    }

    [[nodiscard]] std::vector<LookReader>& readers() { return readers_; }
    [[nodiscard]] unsigned sample_bits() const { return sample_.bits(); }

  private:
    void read_some() {
        for (std::size_t input = next_++; input < readers_.size(); input = next_++) {
            statuses_[input] = read_one(input);
        }
    }

    Status read_one(std::size_t input) {
        const auto source = capture::open_captures(std::span(options_.inputs).subspan(input, 1),
                                                   kNoEpochs, nullptr, options_.recover);
        UNECHO_TRY(source);
        return readers_[input].read(**source, [&](const Source::Progress& progress) {
            const std::lock_guard lock(mutex_);
            progress_[input] = progress;
            Source::Progress all;
            for (const Source::Progress& one : progress_) {
                all.done += one.done;
                all.total += one.total;
            }
            (*on_progress_)(all);
        });
    }

    const Options& options_;
    KeySample sample_;
    std::vector<LookReader> readers_;
    std::vector<Status> statuses_;
    std::atomic<std::size_t> next_{0};
    std::mutex mutex_;
    std::vector<Source::Progress> progress_;
    const OnProgress* on_progress_ = nullptr;
};

// Number the flows of all inputs together, and give the looks these numbers and those of points.
// points: the index of each point of a single input, by the number that its reader gave it.
std::vector<Flow> unite(std::vector<LookReader>& readers, LookStore& looks,
                        const std::vector<std::uint8_t>& points) {
    FlowTable all;
    for (std::size_t input = 0; input < readers.size(); ++input) {
        const FlowTable& own = readers[input].flows();
        std::vector<std::uint32_t> numbers;
        numbers.reserve(own.flows().size());
        for (std::size_t i = 0; i < own.flows().size(); ++i) {
            numbers.push_back(all.number_of(own.digests()[i], [&] { return own.flows()[i]; }));
        }
        if (input == 0 && points.empty()) {
            continue;  // its numbers are the first ones
        }
        for (Look& look : looks.of(input)) {
            look.flow = look.flow == FlowTable::kNone ? look.flow : numbers[look.flow];
            look.point = points.empty() ? static_cast<std::uint8_t>(input) : points[look.point];
        }
    }
    return all.flows();
}

// A point whose mirror shows most packets twice, as that of both directions of a port does, shows
// packets twice that do not say which transmission they are, too.
class DuplicateFinder {
  public:
    DuplicateFinder(LookStore& looks, const KeyGroups& groups, Nanoseconds window,
                    std::size_t points)
        : looks_(looks),
          groups_(groups),
          window_(window),
          all_(points),
          seen_(points),
          twice_(points) {}

    void mark(std::vector<Point>& points) {
        mark_all(window_, [](const Look& look) { return look.identified != 0; });
        for (std::size_t point = 0; point < seen_.size(); ++point) {
            constexpr std::uint64_t kEnough = 32;
            doubled_.push_back(seen_[point] >= kEnough && twice_[point] * 4 > seen_[point] * 3);
        }
        if (std::find(doubled_.begin(), doubled_.end(), true) != doubled_.end()) {
            constexpr Nanoseconds kSamePort = 250 * kMicrosecond;
            mark_all(std::min(window_, kSamePort), [&](const Look& look) {
                return look.identified == 0 && doubled_[look.point];
            });
        }
        for (std::size_t point = 0; point < points.size(); ++point) {
            points[point].duplicates = twice_[point];
            points[point].compared = all_[point] - twice_[point];
        }
    }

  private:
    // Mark the looks that follow another one at their point within this time. Looks that a mirror
    // doubles come in pairs, so a look behind a duplicate is a transmission again if it does not
    // say which it is.
    template <typename Which>
    void mark_all(Nanoseconds within, Which which) {
        all_.assign(all_.size(), 0);
        groups_.for_each([&](std::span<const LookIndex> group) {
            const Look* before = nullptr;
            for (const LookIndex index : group) {
                Look& look = looks_[index];
                ++all_[look.point];
                if (!which(look)) {
                    continue;
                }
                if (before != nullptr && before->point == look.point &&
                    look.time - before->time <= within) {
                    look.duplicate = 1;
                    ++twice_[look.point];
                    before = look.identified != 0 ? before : nullptr;
                } else {
                    ++seen_[look.point];
                    before = &look;
                }
            }
        });
    }

    LookStore& looks_;
    const KeyGroups& groups_;
    Nanoseconds window_;
    std::vector<std::uint64_t> all_;
    std::vector<std::uint64_t> seen_;
    std::vector<std::uint64_t> twice_;
    std::vector<bool> doubled_;
};

// Leave out the folders of files if the rest is clear, and number names that are equal.
void make_names_clear(std::vector<Point>& points) {
    std::map<std::string, std::size_t> files;
    for (const Point& point : points) {
        ++files[std::filesystem::path(point.file).filename()];
    }
    std::map<std::string, std::size_t> names;
    for (Point& point : points) {
        if (point.is_file && files.size() == points.size()) {
            point.name = std::filesystem::path(point.file).filename();
        }
        ++names[point.name];
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (names[points[i].name] > 1) {
            points[i].name += fmt::format(" (point {})", i + 1);
        }
    }
}

struct Points {
    std::vector<Point> list;
    std::vector<std::uint8_t> of_numbers;  // of a single input; empty: a point is an input
};

Points points_of(const Options& options, const std::vector<LookReader>& readers) {
    Points out;
    if (readers.size() > 1) {
        for (std::size_t i = 0; i < readers.size(); ++i) {
            const std::vector<PointCounts>& counts = readers[i].points();
            out.list.push_back({.name = options.inputs[i],
                                .file = options.inputs[i],
                                .is_file = true,
                                .counts = counts.empty() ? PointCounts() : counts.front()});
        }
    } else {
        const std::vector<PointCounts>& counts = readers.front().points();
        std::vector<std::size_t> numbers(counts.size());
        std::iota(numbers.begin(), numbers.end(), std::size_t{0});
        std::sort(numbers.begin(), numbers.end(), [&](std::size_t x, std::size_t y) {
            return counts[x].interface < counts[y].interface;
        });
        out.of_numbers.resize(counts.size());
        for (const std::size_t number : numbers) {
            const PointCounts& one = counts[number];
            out.of_numbers[number] = static_cast<std::uint8_t>(out.list.size());
            out.list.push_back({.name = one.name.empty()
                                            ? fmt::format("interface {}", one.interface + 1)
                                            : one.name,
                                .file = options.inputs.front(),
                                .counts = one});
        }
    }
    make_names_clear(out.list);
    return out;
}

Status check_count(std::size_t points) {
    return points <= kMostPoints
               ? Status()
               : fail(Errc::kConfig, fmt::format("{} points of observation; allowed: 2 to {}",
                                                 points, kMostPoints));
}

Status check_points(const Options& options, const std::vector<Point>& points) {
    if (points.size() < 2) {
        return fail(Errc::kConfig,
                    fmt::format("{}: holds packets of one interface; allowed: two captures or "
                                "more, or one of several interfaces",
                                escaped(options.inputs.front())));
    }
    return check_count(points.size());
}

// Count what the points before and behind `middle` showed and it did not.
void count_overlooked(const std::vector<bool>& at_middle, const PairResult& around, Point& middle) {
    for (const Match& match : around.matches) {
        ++middle.passed;
        middle.overlooked += !at_middle[match.a] && !at_middle[match.b] ? 1 : 0;
    }
}

class AllPairs {
  public:
    AllPairs(const PairInput& input, const Options& options, Comparison& out)
        : in_(input), options_(options), out_(out), at_next_(out.points.size()) {}

    // Return the looks that are missing at a neighbour.
    std::vector<MissingLook> judge() {
        std::vector<MissingLook> missing;
        const std::size_t points = out_.points.size();
        for (std::size_t apart = 1; apart < points; ++apart) {
            for (std::size_t a = 0; a + apart < points; ++a) {
                const PairResult result =
                    judge_pair(in_, out_.points[a], out_.points[a + apart],
                               static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(a + apart),
                               {options_.window, options_.clocks, options_.every_packet,
                                options_.mirror, options_.nat, options_.threads});
                note(a, apart, result);
                if (apart == 1) {
                    for (const LookIndex look : result.missing_at_b) {
                        missing.push_back({look, a + 1});
                    }
                    for (const LookIndex look : result.missing_at_a) {
                        missing.push_back({look, a});
                    }
                }
                out_.pairs.push_back(result.report);
            }
        }
        return missing;
    }

  private:
    // at_next_[p]: looks at points p and p + 1 that match.
    void note(std::size_t a, std::size_t apart, const PairResult& result) {
        if (apart == 1) {
            at_next_[a].assign(in_.looks.end(), false);
            for (const Match& match : result.matches) {
                at_next_[a][match.a] = at_next_[a][match.b] = true;
            }
        } else if (apart == 2) {
            std::vector<bool>& at_middle = at_next_[a];
            for (std::size_t i = 0; i < at_middle.size(); ++i) {
                at_middle[i] = at_middle[i] || at_next_[a + 1][i];
            }
            count_overlooked(at_middle, result, out_.points[a + 1]);
        }
    }

    PairInput in_;
    const Options& options_;
    Comparison& out_;
    std::vector<std::vector<bool>> at_next_;
};

void add_warnings(const Options& options, std::vector<LookReader>& readers, Comparison& out) {
    for (std::size_t input = 0; input < readers.size(); ++input) {
        for (capture::Warning warning : readers[input].warnings()) {
            warning.file = static_cast<std::uint32_t>(input);
            out.incomplete = out.incomplete || warning.incomplete;
            if (warning.times != 0) {
                out.warnings.push_back(capture::warning_text(warning, options.inputs));
            }
        }
    }
}

}  // namespace

std::uint64_t least_memory(std::size_t inputs) {
    return kProgramBytes + inputs * (kInputBytes + kLeastLooks);
}

Result<Comparison> compare_captures(const Options& options, const OnProgress& on_progress) {
    UNECHO_TRY(check_count(options.inputs.size()));
    const auto secret =
        options.seed ? hash::secret_from_seed(*options.seed) : hash::random_secret();
    UNECHO_TRY(secret);
    std::optional<MissingFile> missing_file;
    if (options.missing) {
        auto file = MissingFile::create(options);
        UNECHO_TRY(file);
        missing_file = std::move(*file);
    }
    const ReaderOptions reading = reader_options(options, *secret);
    constexpr std::uint64_t kMostLooks = (std::uint64_t{1} << 32) - 2;
    auto looks = LookStore::make(options.inputs.size(),
                                 std::min(reading.memory / (LookStore::bytes_per_look(options.nat) +
                                                            KeyGroups::kBytesPerLook),
                                          kMostLooks / options.inputs.size()),
                                 options.nat);
    UNECHO_TRY(looks);
    InputReaders inputs(options, reading, *looks);
    UNECHO_TRY(inputs.read(on_progress));

    Comparison out;
    out.window = options.window;
    out.nat = options.nat;
    out.sample_bits = inputs.sample_bits();
    out.mirror = options.mirror;
    Points points = points_of(options, inputs.readers());
    out.points = std::move(points.list);
    add_warnings(options, inputs.readers(), out);
    UNECHO_TRY(check_points(options, out.points));
    const std::vector<Flow> flows = unite(inputs.readers(), *looks, points.of_numbers);
    auto hosts = std::async(options.threads > 1 ? kIfPossible : std::launch::deferred,
                            [&] { return Hosts(flows); });
    const KeyGroups groups(*looks);
    DuplicateFinder(*looks, groups, options.window, out.points.size()).mark(out.points);
    const Hosts all_hosts = hosts.get();
    const std::vector<MissingLook> missing =
        AllPairs({*looks, groups, all_hosts, flows}, options, out).judge();
    if (missing_file) {
        UNECHO_TRY(missing_file->write(*looks, missing, out.points));
    }
    return out;
}

}  // namespace unecho::compare
