// SPDX-License-Identifier: BSD-3-Clause
#include "offline/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <utility>

#include "base/utf8.h"
#include "capture/output.h"
#include "capture/reader.h"
#include "capture/writer.h"
#include "offline/feed.h"
#include "offline/pairs.h"

namespace unecho::offline {
namespace {

// What the command allocates beside what it remembers of packets: the program itself, what every
// input and output buffers, and batches on their way.
constexpr std::uint64_t kProgramBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kInputBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kOutputBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kAheadBytes = (kPortionsAhead + 2) * (std::uint64_t{3} << 19);
constexpr std::uint64_t kLeastToRemember = std::uint64_t{1} << 20;

struct NamedOutput {
    const char* option;
    const std::string* path;
};

std::vector<NamedOutput> outputs_of(const Files& files) {
    std::vector<NamedOutput> out;
    for (const auto& [option, path] :
         {std::pair{"-o", &files.output}, std::pair{"--dropped", &files.dropped},
          std::pair{"--pairs", &files.pairs}}) {
        if (path->has_value()) {
            out.push_back({option, &**path});
        }
    }
    return out;
}

// What is no file is read once.
Status check_inputs(const std::vector<std::string>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const bool standard = inputs[i] == "-" && inputs[j] == "-";
            if (standard || capture::same_pipe(inputs[i], inputs[j])) {
                return fail(Errc::kConfig, escaped(inputs[i]) + ": " +
                                               (standard ? "standard input" : "a pipe") +
                                               " can be read only once");
            }
        }
    }
    return {};
}

Status check_files(const Files& files) {
    const std::vector<NamedOutput> outputs = outputs_of(files);
    if (const Status inputs = check_inputs(files.inputs); !inputs) {
        return inputs;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::string& path = *outputs[i].path;
        for (const std::string& input : files.inputs) {
            if (capture::same_file(input, path)) {
                return fail(Errc::kConfig, std::string(outputs[i].option) + " " + escaped(path) +
                                               ": is the input; give the output another name");
            }
        }
        for (std::size_t j = 0; j < i; ++j) {
            if (capture::same_output(path, *outputs[j].path)) {
                return fail(Errc::kConfig, std::string(outputs[i].option) + " " + escaped(path) +
                                               ": is the file of " + outputs[j].option + " too");
            }
        }
    }
    return {};
}

Result<std::uint64_t> memory_to_remember(const Files& files, const Options& options, bool ahead) {
    const std::uint64_t buffers = kProgramBytes + kInputBytes * files.inputs.size() +
                                  kOutputBytes * outputs_of(files).size() +
                                  (ahead ? kAheadBytes : 0);
    if (options.memory < buffers + kLeastToRemember) {
        return fail(Errc::kConfig, "--memory: " + format_size(options.memory) +
                                       " is too little; allowed here: " +
                                       format_size(buffers + kLeastToRemember) + " or more");
    }
    return options.memory - buffers;
}

// Packets that the inputs can hold, if they are files whose size says so: no record takes less than
// its header.
std::optional<std::uint64_t> most_packets_of(const Files& files, const capture::Source& source) {
    constexpr std::uint64_t kRecordHeader = 16;
    constexpr std::array<char, 2> kGzip{'\x1F', '\x8B'};
    const std::uint64_t bytes = source.progress().total;
    for (const std::string& path : files.inputs) {
        std::array<char, 2> first{};
        if (bytes == 0 || !std::ifstream(path, std::ios::binary).read(first.data(), first.size()) ||
            first == kGzip) {
            return std::nullopt;
        }
    }
    return bytes / kRecordHeader;
}

// A seed makes the engines that are not exact reproducible.
Result<hash::Secret> secret_of(const Options& options) {
    return options.seed ? hash::secret_from_seed(*options.seed) : hash::random_secret();
}

Result<std::unique_ptr<capture::Writer>> create(const std::optional<std::string>& path) {
    return path ? capture::create_capture(*path) : std::unique_ptr<capture::Writer>();
}

// The files that are written.
class Sinks {
  public:
    static Result<Sinks> create(const Files& files);

    Status write(const Portion& portion, Verdicts& verdicts);
    Status close();
    [[nodiscard]] bool wants_copies() const { return pairs_ != nullptr; }
    [[nodiscard]] std::vector<capture::Warning> warnings() const;

  private:
    std::unique_ptr<capture::Writer> kept_;
    std::unique_ptr<capture::Writer> dropped_;
    std::unique_ptr<Pairs> pairs_;
};

Result<Sinks> Sinks::create(const Files& files) {
    Sinks out;
    auto kept = offline::create(files.output);
    if (!kept) {
        return tl::unexpected(kept.error());
    }
    auto dropped = offline::create(files.dropped);
    if (!dropped) {
        return tl::unexpected(dropped.error());
    }
    out.kept_ = std::move(*kept);
    out.dropped_ = std::move(*dropped);
    if (files.pairs) {
        auto pairs = Pairs::create(*files.pairs, files.inputs);
        if (!pairs) {
            return tl::unexpected(pairs.error());
        }
        out.pairs_ = std::move(*pairs);
    }
    return out;
}

// Turns the verdicts round for the echoes.
Status Sinks::write(const Portion& portion, Verdicts& verdicts) {
    Status status;
    if (pairs_) {
        status = pairs_->write(verdicts.copies);
    }
    if (status && kept_) {
        status = kept_->write(portion.batch.records, verdicts.keep, portion.interfaces);
    }
    if (status && dropped_) {
        for (std::uint64_t& word : verdicts.keep) {
            word = ~word;
        }
        const std::size_t rest = portion.batch.records.size() % 64;
        if (rest != 0) {
            verdicts.keep.back() &= (std::uint64_t{1} << rest) - 1;
        }
        status = dropped_->write(portion.batch.records, verdicts.keep, portion.interfaces);
    }
    return status;
}

Status Sinks::close() {
    Status status;
    if (kept_) {
        status = kept_->close();
    }
    if (status && dropped_) {
        status = dropped_->close();
    }
    if (status && pairs_) {
        status = pairs_->close();
    }
    return status;
}

std::vector<capture::Warning> Sinks::warnings() const {
    const capture::Writer* const one = kept_ ? kept_.get() : dropped_.get();
    return one != nullptr ? one->warnings() : std::vector<capture::Warning>();
}

Result<Nanoseconds> pass_all(Feed& feed, Deduplicator& deduplicator, Sinks& sinks,
                             const OnProgress& on_progress) {
    Portion portion;
    Verdicts verdicts;
    Nanoseconds elapsed = 0;
    for (;;) {
        const Result<bool> more = feed.next(portion);
        if (!more) {
            return tl::unexpected(more.error());
        }
        if (!*more) {
            break;
        }
        elapsed = portion.elapsed;
        if (const Status decided = deduplicator.decide(portion.pieces, portion.batch.records.size(),
                                                       sinks.wants_copies(), verdicts);
            !decided) {
            return tl::unexpected(decided.error());
        }
        if (const Status written = sinks.write(portion, verdicts); !written) {
            return tl::unexpected(written.error());
        }
        on_progress(portion.progress);
    }
    const Status closed = sinks.close();
    return closed ? Result<Nanoseconds>(elapsed) : tl::unexpected(closed.error());
}

std::vector<std::string> warnings_of(const Files& files, const Options& options, const Feed& feed,
                                     const Sinks& sinks, const Deduplicator& deduplicator) {
    std::vector<std::string> lines;
    std::vector<capture::Warning> all = feed.warnings();
    const std::vector<capture::Warning> written = sinks.warnings();
    all.insert(all.end(), written.begin(), written.end());
    for (const capture::Warning& warning : all) {
        if (warning.times != 0) {
            lines.push_back(warning_text(warning, files.inputs));
        }
    }
    lines.insert(lines.end(), deduplicator.notes().begin(), deduplicator.notes().end());
    const auto& doubts =
        deduplicator.reasons()[static_cast<std::size_t>(dataplane::Reason::kDoubt)];
    if (doubts.packets != 0) {
        lines.push_back(format_count(doubts.packets) +
                        " matches may be accidents and were kept, echoes among them: where they "
                        "lie the filter is fuller than --max-false-drop allows; give more --memory "
                        "or a higher --max-false-drop");
    }
    if (deduplicator.forgotten() != 0) {
        lines.push_back(format_count(deduplicator.forgotten()) +
                        " packets were forgotten inside their window for want of memory");
    }
    if (const auto window = deduplicator.window();
        window && window->shortest < options.window_time()) {
        lines.push_back(window_warning(options, *window));
    }
    return lines;
}

Summary summary_of(const Files& files, const Options& options, const Deduplicator& deduplicator) {
    Summary summary;
    summary.options = options;
    summary.inputs = files.inputs;
    summary.output = files.output;
    summary.reasons = deduplicator.reasons();
    summary.non_ip_types = deduplicator.non_ip_types();
    summary.engine = deduplicator.engine();
    summary.engine_text = deduplicator.engine_text();
    summary.slack = deduplicator.slack();
    summary.handed_over = deduplicator.handed_over();
    summary.forgotten = deduplicator.forgotten();
    summary.window = deduplicator.window();
    return summary;
}

// Everything that may be refused before a packet is read.
struct Parts {
    std::unique_ptr<capture::Source> source;
    Sinks sinks;
    std::unique_ptr<Deduplicator> deduplicator;
};

Result<Parts> open_all(const Files& files, const Options& options, bool ahead) {
    Status status = check(options);
    status = status ? check_files(files) : status;
    if (!status) {
        return tl::unexpected(status.error());
    }
    const auto memory = memory_to_remember(files, options, ahead);
    if (!memory) {
        return tl::unexpected(memory.error());
    }
    auto source = capture::open_captures(files.inputs, options.jump());
    if (!source) {
        return tl::unexpected(source.error());
    }
    auto sinks = Sinks::create(files);
    if (!sinks) {
        return tl::unexpected(sinks.error());
    }
    auto deduplicator = Deduplicator::make(options, *memory, most_packets_of(files, **source));
    if (!deduplicator) {
        return tl::unexpected(deduplicator.error());
    }
    return Parts{std::move(*source), std::move(*sinks), std::move(*deduplicator)};
}

}  // namespace

Result<Summary> run(const Files& files, const Options& options, bool ahead,
                    const OnProgress& on_progress) {
    const auto start = std::chrono::steady_clock::now();
    const auto secret = secret_of(options);
    if (!secret) {
        return tl::unexpected(secret.error());
    }
    auto parts = open_all(files, options, ahead);
    if (!parts) {
        return tl::unexpected(parts.error());
    }
    const auto feed = make_feed(
        std::move(parts->source),
        Digester(options.key_mode(), *secret, options.clock(), options.non_ip_or_pass()), ahead);
    const auto duration = pass_all(*feed, *parts->deduplicator, parts->sinks, on_progress);
    if (!duration) {
        return tl::unexpected(duration.error());
    }
    Summary summary = summary_of(files, options, *parts->deduplicator);
    summary.duration = *duration;
    summary.warnings = warnings_of(files, options, *feed, parts->sinks, *parts->deduplicator);
    summary.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return summary;
}

}  // namespace unecho::offline
