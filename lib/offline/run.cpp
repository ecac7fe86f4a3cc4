// SPDX-License-Identifier: BSD-3-Clause
#include "offline/run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/utf8.h"
#include "capture/compression.h"
#include "capture/output.h"
#include "capture/reader.h"
#include "capture/writer.h"
#include "offline/echo_pairs.h"
#include "offline/feed.h"
#include "offline/mark.h"

namespace unecho::offline {
namespace {

// What the command allocates beside what it remembers of packets and what its inputs take: the
// program itself, what every output buffers, and batches on their way.
constexpr std::uint64_t kProgramBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kOutputBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kPartsBytes = std::uint64_t{4} << 20;  // what parts of a pcapng repeat
constexpr std::uint64_t kAheadBytes = (kBatchesAhead + 2) * (std::uint64_t{3} << 19);
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
    const auto once = [](const std::string& input, const char* what) {
        return fail(Errc::kConfig, escaped(input) + ": " + what + " can be read only once");
    };
    if (std::count(inputs.begin(), inputs.end(), "-") > 1) {
        return once("-", "standard input");
    }
    if (const auto shared = capture::shared_pipe(inputs); shared) {
        return once(inputs[shared->second], "a pipe");
    }
    return {};
}

Status check_against_inputs(const Files& files, const NamedOutput& output) {
    for (const std::string& input : files.inputs) {
        if (capture::same_file(input, *output.path)) {
            return fail(Errc::kConfig, std::string(output.option) + " " + escaped(*output.path) +
                                           ": is the input; give the output another name");
        }
    }
    return {};
}

// Whether its name asks for something that is not written.
Status check_name(const Files& files, const NamedOutput& output) {
    const bool is_pairs = files.pairs && output.path == &*files.pairs;
    std::optional<Error> wrong;
    if (const auto compression = capture::compression_named(*output.path); !compression) {
        wrong = compression.error();
    } else if (const auto format = capture::format_named(*output.path);
               !format && !files.format && !is_pairs) {
        wrong = format.error();
    }
    return wrong ? Status(fail(Errc::kConfig, std::string(output.option) + " " + wrong->context))
                 : Status();
}

// Names are made of the one given.
Status check_split(const Files& files) {
    std::error_code none;
    if (files.split.none() || !files.output) {
        return {};
    }
    if (*files.output == "-" || (std::filesystem::exists(*files.output, none) &&
                                 !std::filesystem::is_regular_file(*files.output, none))) {
        return fail(Errc::kConfig, "-o " + escaped(*files.output) +
                                       ": cannot be split; -c and -i need the name of a file");
    }
    return {};
}

Status check_files(const Files& files) {
    const std::vector<NamedOutput> outputs = outputs_of(files);
    Status status = check_inputs(files.inputs);
    status = status ? check_split(files) : status;
    for (std::size_t i = 0; status && i < outputs.size(); ++i) {
        const std::string& path = *outputs[i].path;
        status = check_name(files, outputs[i]);
        status = status ? check_against_inputs(files, outputs[i]) : status;
        for (std::size_t j = 0; j < i; ++j) {
            if (capture::same_output(path, *outputs[j].path)) {
                return fail(Errc::kConfig, std::string(outputs[i].option) + " " + escaped(path) +
                                               ": is the file of " + outputs[j].option + " too");
            }
        }
    }
    return status;
}

// A file of a split output, whose name is known only now, as check_files().
Status check_part(const Files& files, const std::string& path) {
    if (const Status good = check_against_inputs(files, {"-o", &path}); !good) {
        return good;
    }
    for (const NamedOutput& other : outputs_of(files)) {
        if (other.path != &*files.output && capture::same_output(path, *other.path)) {
            return fail(Errc::kConfig,
                        "-o " + escaped(path) + ": is the file of " + other.option + " too");
        }
    }
    return {};
}

Status check_memory(std::uint64_t memory, std::uint64_t least) {
    return memory >= least
               ? Status()
               : fail(Errc::kConfig, "--memory: " + format_size(memory) +
                                         " is too little; allowed here: " + format_size(least) +
                                         " or more");
}

// memory: to remember packets in.
struct Opened {
    std::unique_ptr<capture::Source> source;
    std::uint64_t memory;
};

Result<Opened> open_inputs(const Files& files, const Options& options, bool ahead) {
    const std::uint64_t beside = kProgramBytes + kOutputBytes * outputs_of(files).size() +
                                 (files.split.none() ? 0 : kPartsBytes) + (ahead ? kAheadBytes : 0);
    const auto allowance =
        std::make_shared<capture::Allowance>(options.memory, beside + kLeastToRemember);
    Status enough = check_memory(options.memory, allowance->least_memory(files.inputs.size()));
    if (!enough) {
        return tl::unexpected(enough.error());
    }
    auto source = capture::open_captures(files.inputs, options.jump(), allowance, files.recover);
    if (!source) {
        return tl::unexpected(source.error());
    }
    const std::uint64_t inputs = allowance->reserved();
    enough = check_memory(options.memory, beside + kLeastToRemember + inputs);
    if (!enough) {
        return tl::unexpected(enough.error());
    }
    return Opened{*std::move(source), options.memory - beside - inputs};
}

// Packets that the inputs can hold, if they are files whose size says so: no record takes less than
// its header.
std::optional<std::uint64_t> most_packets_of(const Files& files, const capture::Source& source) {
    constexpr std::uint64_t kRecordHeader = 16;
    const std::uint64_t bytes = source.progress().total;
    for (const std::string& path : files.inputs) {
        if (bytes == 0 || capture::compression_of(path) != capture::Compression::kNone) {
            return std::nullopt;
        }
    }
    return bytes / kRecordHeader;
}

// A seed makes the engines that are not exact reproducible.
Result<hash::Secret> secret_of(const Options& options) {
    return options.seed ? hash::secret_from_seed(*options.seed) : hash::random_secret();
}

// Where neither an option nor the name says it: as the first input, if that can hold the packets.
capture::FileFormat format_of(const capture::Source& source) {
    const capture::InterfaceView known = source.interfaces();
    const bool several = std::any_of(known.begin(), known.end(), [&](const auto& one) {
        return one.link_type != known[0].link_type;
    });
    return several ? capture::FileFormat::kPcapng : source.format();
}

Result<std::unique_ptr<capture::Writer>> create_output(const Files& files,
                                                       capture::FileFormat otherwise,
                                                       const std::shared_ptr<Summary::Row>& row) {
    const auto open = [files, otherwise](const std::string& path) {
        return capture::create_capture(path, files.format, otherwise);
    };
    if (!files.output) {
        return std::unique_ptr<capture::Writer>();
    }
    if (files.split.none()) {
        return open(*files.output);
    }
    const auto open_part =
        [files, open, row](const std::string& path) -> Result<std::unique_ptr<capture::Writer>> {
        row->first = row->files++ == 0 ? path : row->first;
        row->last = path;
        const Status good = check_part(files, path);
        return good ? open(path) : tl::unexpected(good.error());
    };
    const auto named = capture::format_named(*files.output);
    const capture::FileFormat format =
        files.format.value_or(named ? named->value_or(otherwise) : otherwise);
    return capture::split_writer(*files.output, files.split, open_part,
                                 format == capture::FileFormat::kPcapng);
}

// The files that are written.
class Sinks {
  public:
    static Result<Sinks> create(const Files& files, capture::FileFormat otherwise);

    Status write(const DigestedBatch& digested, Verdicts& verdicts);
    // interfaces: all that there were.
    Status close(const capture::InterfaceView& interfaces);
    [[nodiscard]] bool wants_copies() const { return pairs_ != nullptr || mark_; }
    // Whether any output holds the blocks of a pcapng, and the one whose warnings are given.
    [[nodiscard]] bool any_keeps_blocks() const {
        return keeps_blocks(kept_) || keeps_blocks(dropped_);
    }
    [[nodiscard]] bool main_keeps_blocks() const {
        return kept_ ? keeps_blocks(kept_) : keeps_blocks(dropped_);
    }
    [[nodiscard]] std::vector<capture::Warning> warnings() const;
    // Bytes as they were on the wire: of all packets, and of the echoes.
    [[nodiscard]] std::uint64_t wire() const { return wire_; }
    [[nodiscard]] std::uint64_t dropped_wire() const { return dropped_wire_; }
    // Of a split output.
    [[nodiscard]] const Summary::Row& row() const { return *row_; }

  private:
    void count(const std::vector<capture::Record>& records, const Verdicts& verdicts);
    static bool keeps_blocks(const std::unique_ptr<capture::Writer>& writer) {
        return writer != nullptr && writer->keeps_blocks();
    }

    std::unique_ptr<capture::Writer> kept_;
    std::unique_ptr<capture::Writer> dropped_;
    std::unique_ptr<EchoPairFile> pairs_;
    std::shared_ptr<Summary::Row> row_ = std::make_shared<Summary::Row>();
    bool mark_ = false;
    std::vector<std::string> inputs_;  // for marks
    FrameNumbers numbers_;
    std::uint64_t packets_ = 0;  // before the next digested
    std::uint64_t wire_ = 0;
    std::uint64_t dropped_wire_ = 0;
};

Result<Sinks> Sinks::create(const Files& files, capture::FileFormat otherwise) {
    Sinks out;
    auto kept = create_output(files, otherwise, out.row_);
    if (!kept) {
        return tl::unexpected(kept.error());
    }
    out.kept_ = std::move(*kept);
    if (files.dropped) {
        auto dropped = capture::create_capture(*files.dropped, files.format, otherwise);
        if (!dropped) {
            return tl::unexpected(dropped.error());
        }
        out.dropped_ = std::move(*dropped);
    }
    out.mark_ = files.mark;
    out.inputs_ = files.inputs;
    if (files.mark && !files.selection.all()) {
        return fail(Errc::kConfig,
                    "--mark: names packets by their numbers in the input; not together with -A, "
                    "-B and --filter");
    }
    if (files.mark && !out.main_keeps_blocks()) {
        return fail(
            Errc::kConfig,
            "--mark: writes comments, which only a pcapng holds; name the output .pcapng, or "
            "add --format pcapng");
    }
    if (files.pairs) {
        auto pairs = EchoPairFile::create(*files.pairs, files.inputs);
        if (!pairs) {
            return tl::unexpected(pairs.error());
        }
        out.pairs_ = std::move(*pairs);
    }
    return out;
}

void Sinks::count(const std::vector<capture::Record>& records, const Verdicts& verdicts) {
    for (std::size_t i = 0; i < records.size(); ++i) {
        const std::uint64_t length = records[i].wire_length;
        wire_ += length;
        dropped_wire_ += (verdicts.keep[i / 64] >> i % 64 & 1) != 0 ? 0 : length;
    }
}

// Turns the verdicts round for the echoes.
Status Sinks::write(const DigestedBatch& digested, Verdicts& verdicts) {
    count(digested.batch.records, verdicts);
    Status status;
    if (pairs_) {
        status = pairs_->write(verdicts.copies);
    }
    std::vector<capture::Comment> marks;
    if (mark_) {
        numbers_.add(digested.batch.blocks, packets_ + 1);
        marks = marks_of(verdicts.copies, inputs_, numbers_);
    }
    packets_ += digested.batch.records.size();
    const capture::Beside beside{digested.batch.blocks, marks};
    if (status && kept_) {
        const std::vector<std::uint64_t> all(mark_ ? verdicts.keep.size() : 0, ~std::uint64_t{0});
        status = kept_->write(digested.batch.records, mark_ ? all : verdicts.keep,
                              digested.interfaces, beside);
    }
    if (status && dropped_) {
        for (std::uint64_t& word : verdicts.keep) {
            word = ~word;
        }
        const std::size_t rest = digested.batch.records.size() % 64;
        if (rest != 0) {
            verdicts.keep.back() &= (std::uint64_t{1} << rest) - 1;
        }
        status =
            dropped_->write(digested.batch.records, verdicts.keep, digested.interfaces, beside);
    }
    return status;
}

Status Sinks::close(const capture::InterfaceView& interfaces) {
    Status status;
    for (const auto& writer : {kept_.get(), dropped_.get()}) {
        if (status && writer != nullptr) {
            status = writer->write({}, {}, interfaces);
        }
    }
    if (status && kept_) {
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
    DigestedBatch digested;
    Verdicts verdicts;
    Nanoseconds elapsed = 0;
    for (;;) {
        const Result<bool> more = feed.next(digested);
        if (!more) {
            return tl::unexpected(more.error());
        }
        if (!*more) {
            break;
        }
        elapsed = digested.elapsed;
        if (const Status decided = deduplicator.decide(
                digested.bursts, digested.batch.records.size(), sinks.wants_copies(), verdicts);
            !decided) {
            return tl::unexpected(decided.error());
        }
        if (const Status written = sinks.write(digested, verdicts); !written) {
            return tl::unexpected(written.error());
        }
        on_progress(digested.progress);
    }
    const Status closed = sinks.close(feed.interfaces());
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
    const auto& doubts = deduplicator.reasons()[static_cast<std::size_t>(pipeline::Reason::kDoubt)];
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
    summary.marked = files.mark;
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
    std::shared_ptr<std::uint64_t> left_out;  // null: nothing is
};

Result<Parts> open_all(const Files& files, const Options& options, bool ahead) {
    Status status = check(options);
    status = status ? check_files(files) : status;
    if (!status) {
        return tl::unexpected(status.error());
    }
    auto opened = open_inputs(files, options, ahead);
    if (!opened) {
        return tl::unexpected(opened.error());
    }
    Result<std::unique_ptr<capture::Source>> source = std::move(opened->source);
    const capture::FileFormat format = format_of(**source);
    std::shared_ptr<std::uint64_t> left_out;
    if (!files.selection.all()) {
        left_out = std::make_shared<std::uint64_t>(0);
        source = capture::select(std::move(*source), files.selection, left_out);
    }
    if (!source) {
        return tl::unexpected(source.error());
    }
    auto sinks = Sinks::create(files, format);
    if (!sinks) {
        return tl::unexpected(sinks.error());
    }
    if (sinks->any_keeps_blocks()) {
        (*source)->keep_blocks(sinks->main_keeps_blocks());
    }
    auto deduplicator =
        Deduplicator::make(options, opened->memory, most_packets_of(files, **source));
    if (!deduplicator) {
        return tl::unexpected(deduplicator.error());
    }
    return Parts{std::move(*source), std::move(*sinks), std::move(*deduplicator), left_out};
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
    const auto feed =
        make_feed(std::move(parts->source),
                  Digester(options.key_mode(), *secret, options.clock(), options.non_ip_or_pass(),
                           options.ignored_bytes, files.inputs.size() > 1),
                  ahead);
    const auto duration = pass_all(*feed, *parts->deduplicator, parts->sinks, on_progress);
    if (!duration) {
        return tl::unexpected(duration.error());
    }
    Summary summary = summary_of(files, options, *parts->deduplicator);
    summary.duration = *duration;
    summary.wire_bytes = parts->sinks.wire();
    summary.dropped_wire_bytes = parts->sinks.dropped_wire();
    if (parts->sinks.row().files != 0) {
        summary.row = parts->sinks.row();
    }
    if (parts->left_out) {
        summary.left_out = *parts->left_out;
    }
    const std::vector<capture::Warning> read = feed->warnings();
    summary.incomplete = std::any_of(read.begin(), read.end(),
                                     [](const auto& warning) { return warning.incomplete; });
    summary.warnings = warnings_of(files, options, *feed, parts->sinks, *parts->deduplicator);
    summary.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return summary;
}

}  // namespace unecho::offline
