// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/check_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/option_names.h"
#include "base/utf8.h"
#include "captures/output/output.h"

namespace unecho::dedup {
namespace {

tl::unexpected<Error> refused(const NamedOutput& output, const std::string& why) {
    return fail(Errc::kConfig, fmt::format("{} {}: {}", output.option, escaped(output.path), why));
}

// An input that is no regular file can be read only once.
Status check_inputs(const std::vector<std::string>& inputs) {
    const auto once = [](const std::string& input, const char* what) {
        return fail(Errc::kConfig,
                    fmt::format("{}: {} can be read only once", escaped(input), what));
    };
    if (std::count(inputs.begin(), inputs.end(), "-") > 1) {
        return once("-", "standard input");
    }
    if (const auto shared = capture::find_shared_pipe(inputs); shared) {
        return once(inputs[shared->second], "a pipe");
    }
    return {};
}

Status check_against_inputs(std::span<const std::string> inputs, const NamedOutput& output) {
    for (const std::string& input : inputs) {
        if (capture::is_same_file(input, output.path)) {
            return refused(output, "is the input; give the output another name");
        }
    }
    return {};
}

Status check_output(std::span<const std::string> inputs, std::span<const NamedOutput> others,
                    const NamedOutput& output) {
    UNECHO_TRY(check_against_inputs(inputs, output));
    for (const NamedOutput& other : others) {
        if (capture::is_same_output(output.path, other.path)) {
            return refused(output, fmt::format("is the file of {} too", other.option));
        }
    }
    return {};
}

// Check that the name does not ask for something that is not written.
Status check_name(const FileOptions& files, const NamedOutput& output) {
    std::optional<Error> wrong;
    if (const auto compression = capture::compression_from_name(output.path); !compression) {
        wrong = compression.error();
    } else if (const auto format = capture::format_from_name(output.path);
               !format && !files.format && output.option != option::kPairs.text) {
        wrong = format.error();
    }
    return wrong ? Status(fail(Errc::kConfig, output.option + " " + wrong->context)) : Status();
}

// Return no files for interfaces, even if a file has an interface's name.
std::vector<std::string> input_files(const FileOptions& files) {
    return files.live ? std::vector<std::string>() : files.inputs;
}

// A split output needs the name of a file, from which its names are made.
Status check_split(const FileOptions& files) {
    std::error_code none;
    if ((files.split.none() && files.rotation.none()) || !files.output) {
        return {};
    }
    if (*files.output == "-" || (std::filesystem::exists(*files.output, none) &&
                                 !std::filesystem::is_regular_file(*files.output, none))) {
        const std::string asked =
            files.rotation.none()
                ? fmt::format("{} and {}", option::kSplitPackets, option::kSplitSeconds)
                : fmt::format("{}, {} and {}", option::kFileSize, option::kFileSeconds,
                              option::kLongSplitPackets);
        return refused({option::kOutput, *files.output},
                       fmt::format("cannot be split; {} need the name of a file", asked));
    }
    return {};
}

// Refuse what would lose packets or grow without end.
Status check_rotation(const FileOptions& files) {
    const capture::Rotation& rotation = files.rotation;
    if (rotation.none()) {
        return {};
    }
    if (!files.output) {
        return fail(Errc::kConfig,
                    fmt::format("{} FILE is needed, which {}, {} and {} make a row of files of",
                                option::kWrite, option::kFileSize, option::kFileSeconds,
                                option::kLongSplitPackets));
    }
    for (const auto& [name, path] :
         {std::pair{option::kDropped, &files.dropped}, std::pair{option::kPairs, &files.pairs}}) {
        if (path->has_value()) {
            return refused({name, **path},
                           "is one file, which would grow without end beside a row of them; " +
                               option::kMark + " has the echoes in the row");
        }
    }
    if (rotation.interval != 0 && rotation.counted() && rotation.files != 0) {
        return fail(
            Errc::kConfig,
            fmt::format("{}: not with {} and a size: the ring of one, or the end of the other",
                        option::kFileCount, option::kFileSeconds));
    }
    const bool one = rotation.files == 1 && !rotation.counted();
    if (rotation.interval != 0 && !one && !capture::has_time_format(*files.output)) {
        return refused({option::kWrite, *files.output},
                       fmt::format("each file would replace the one before; {} needs a time in the "
                                   "name, as in out-%Y%m%d-%H%M%S.pcap, or {} 1",
                                   option::kFileSeconds, option::kFileCount));
    }
    return {};
}

}  // namespace

std::vector<NamedOutput> outputs_of(const FileOptions& files) {
    std::vector<NamedOutput> out;
    for (const auto& [option, path] :
         {std::pair{option::kOutput, &files.output}, std::pair{option::kDropped, &files.dropped},
          std::pair{option::kPairs, &files.pairs}}) {
        if (path->has_value()) {
            out.push_back({option, **path});
        }
    }
    return out;
}

Status check_outputs(std::span<const std::string> inputs, std::span<const NamedOutput> outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        UNECHO_TRY(check_output(inputs, outputs.first(i), outputs[i]));
    }
    return {};
}

Status check_files(const FileOptions& files) {
    const std::vector<NamedOutput> outputs = outputs_of(files);
    const std::vector<std::string> inputs = input_files(files);
    UNECHO_TRY(check_inputs(inputs));
    UNECHO_TRY(check_split(files));
    UNECHO_TRY(check_rotation(files));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        UNECHO_TRY(check_name(files, outputs[i]));
        UNECHO_TRY(check_output(inputs, std::span(outputs).first(i), outputs[i]));
    }
    return {};
}

Status check_split_file(const FileOptions& files, const std::string& path) {
    std::vector<NamedOutput> others = outputs_of(files);
    std::erase_if(others,
                  [](const NamedOutput& other) { return other.option == option::kOutput.text; });
    return check_output(input_files(files), others, {option::kOutput, path});
}

}  // namespace unecho::dedup
