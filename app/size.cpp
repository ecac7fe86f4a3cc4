// SPDX-License-Identifier: BSD-3-Clause
// unecho size: what each engine would need for a window, a rate and a false-drop bound.
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "arguments.h"
#include "base/option_names.h"
#include "base/units.h"
#include "commands.h"
#include "config/schema.h"
#include "engines/candidates.h"
#include "offline/options.h"
#include "print.h"

namespace unecho::app {
namespace {

struct Options {
    std::string window;
    Text rate;
    Text max_false_drop;
    Text memory;
    Text key;
    Text first;
    bool json = false;
};

// What does not go together, as in a configuration.
Status check(packet::KeyMode key, const engines::SizeQuestion& question) {
    if (!question.rate && !question.memory) {
        return bad_option("size", option::kRate + " or " + option::kMemory + " is needed");
    }
    engines::FilterSpec spec;
    spec.key = key;
    spec.first = question.first;
    spec.max_false_drop = question.max_false_drop;
    return offline::check(spec, {});
}

Outcome size(const Options& options) {
    engines::SizeQuestion question;
    auto key = packet::KeyMode::kPacket;
    Reading read;
    read(option::kWindow, options.window, parse_duration,
         [&](Nanoseconds w) { question.window = w; });
    read(option::kRate, options.rate, parse_rate, [&](double rate) { question.rate = rate; });
    read(option::kMemory, options.memory, parse_size,
         [&](std::uint64_t n) { question.memory = n; });
    read(option::kMaxFalseDrop, options.max_false_drop, parse_probability,
         [&](double p) { question.max_false_drop = p; });
    read(option::kFirst, options.first, parse_first, [&](unsigned n) { question.first = n; });
    read(option::kKey, options.key, name_in(config::kKeyNames),
         [&](std::size_t i) { key = static_cast<packet::KeyMode>(i); });
    if (!read.status()) {
        return read.status();
    }
    if (Status status = check(key, question); !status) {
        return status;
    }
    const auto candidates = engines::find_candidates(question);
    if (!candidates) {
        return fail(candidates.error().code, "size: " + candidates.error().context);
    }
    const std::string text =
        options.json ? engines::to_json(*candidates).dump(1) + "\n" : engines::to_text(*candidates);
    return print(text);
}

}  // namespace

void add_size(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "size", "What each filter engine needs for a window and a rate, best first");
    const auto options = std::make_shared<Options>();
    command
        ->add_option(option::kWindow, options->window,
                     "How long a packet is remembered, as in 50ms")
        ->type_name("DURATION")
        ->required();
    command
        ->add_option(option::kRate, options->rate,
                     "New packets that one worker takes, as in 10Mpps; without it, the highest "
                     "rate that " +
                         option::kMemory + " allows")
        ->type_name("RATE");
    command
        ->add_option(option::kMaxFalseDrop, options->max_false_drop,
                     "Chance that a new packet is taken for an echo (" +
                         std::string(engines::kDefaultFalseDropText) + ")")
        ->type_name("P");
    command->add_option(option::kMemory, options->memory, "At most this much a worker, as in 64MiB")
        ->type_name("SIZE");
    command
        ->add_option(option::kKey, options->key,
                     "What makes packets the same, as in a configuration (packet)")
        ->type_name(one_of(config::kKeyNames));
    command
        ->add_option(option::kFirst, options->first,
                     "Packets of a flow that pass per window, with " + option::kKey +
                         " flow or flow-bidir (1)")
        ->type_name("N");
    command->add_flag(option::kJson, options->json, "Print JSON");
    command->callback([options, &action] { action = [options] { return size(*options); }; });
}

}  // namespace unecho::app
