// SPDX-License-Identifier: BSD-3-Clause
// unecho size: what each engine needs for a window, a rate and a false-drop bound.
#include <memory>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/option_names.h"
#include "base/units.h"
#include "captures/dedup/options.h"
#include "commands/commands.h"
#include "config/schema.h"
#include "dedup/engines/planning/candidates.h"
#include "dedup/engines/planning/machines.h"
#include "options/arguments.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

struct SizeOptions {
    std::string window;
    OptionText rate;
    OptionText max_false_drop;
    OptionText memory;
    OptionText key;
    OptionText first;
    OptionText repeats;
    OptionText unidentified;
    OptionText machines;
    bool json = false;
};

// Check which options exclude each other, as in a configuration.
Status check(packet::KeyMode key, bool keeps_repeats, bool shared,
             const engines::SizingRequest& question) {
    if (!question.rate && !question.memory) {
        return bad_option("size",
                          fmt::format("{} or {} is needed", option::kRate, option::kMemory));
    }
    if (keeps_repeats && packet::is_flow(key)) {
        return bad_option("size", fmt::format("{} keep is for keys of packets; leave out {}",
                                              option::kRepeats, option::kKey));
    }
    if (shared && !keeps_repeats) {
        return bad_option(
            "size", fmt::format("{} is for {} keep", option::kUnidentified, option::kRepeats));
    }
    engines::FilterSpec spec;
    spec.key = key;
    spec.first = question.first;
    spec.max_false_drop = question.max_false_drop;
    return dedup::check(spec, {});
}

Result<engines::Machines> parse_machines(const std::string& text) {
    const auto count = parse_whole(text);
    if (!count || *count == 0 || *count > engines::kMaxMachines) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("\"{}\"; allowed: 1 to {}", text, engines::kMaxMachines));
    }
    return engines::Machines{*count};
}

CommandResult size(const SizeOptions& options) {
    engines::SizingRequest question;
    auto key = packet::KeyMode::kPacket;
    OptionReader read;
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
    // The default is that of a configuration: keep repeats, except with keys of flows.
    auto repeats = packet::is_flow(key) ? packet::Repeats::kDrop : packet::Repeats::kKeep;
    read(option::kRepeats, options.repeats, name_in(packet::kRepeatsNames),
         [&](std::size_t i) { repeats = static_cast<packet::Repeats>(i); });
    double unidentified = 1;
    read(option::kUnidentified, options.unidentified, parse_share,
         [&](double share) { unidentified = share; });
    engines::Machines machines;
    read(option::kMachines, options.machines, parse_machines,
         [&](const engines::Machines& given) { machines = given; });
    if (!read.status()) {
        return read.status();
    }
    if (repeats == packet::Repeats::kKeep) {
        question.unidentified = unidentified;
    }
    const double rate = question.rate.value_or(0);
    if (question.rate) {
        question.rate = machines.share(rate);
    }
    if (Status status = check(key, question.unidentified.has_value(),
                              options.unidentified.has_value(), question);
        !status) {
        return status;
    }
    const auto candidates = engines::find_candidates(question);
    if (!candidates) {
        return fail(candidates.error().code, "size: " + candidates.error().context);
    }
    if (!options.json) {
        return print(engines::to_text(*candidates) + engines::to_text(machines, rate));
    }
    return print_json([&] {
        nlohmann::ordered_json json = engines::to_json(*candidates);
        if (options.machines) {
            json["machines"] = engines::to_json(machines, rate);
        }
        return json;
    });
}

}  // namespace

void add_size(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("size", "Compare what each filter engine needs for a window and a rate");
    const auto options = std::make_shared<SizeOptions>();
    command
        ->add_option(option::kWindow, options->window,
                     "How long a packet is remembered, as in 50ms")
        ->type_name("DURATION")
        ->required();
    command
        ->add_option(option::kRate, options->rate,
                     fmt::format("New packets that one worker takes, as in 10Mpps; without it, the "
                                 "highest rate that {} allows",
                                 option::kMemory))
        ->type_name("RATE");
    command
        ->add_option(option::kMaxFalseDrop, options->max_false_drop,
                     fmt::format("Chance that a new packet is taken for an echo ({})",
                                 engines::kDefaultFalseDropText))
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
    command
        ->add_option(
            option::kRepeats, options->repeats,
            "Equal packets without an ID: keep those that were sent again, or drop all but "
            "one; keeping takes memory (keep; with a key of flows drop)")
        ->type_name(one_of(packet::kRepeatsNames));
    command
        ->add_option(option::kUnidentified, options->unidentified,
                     "Share of packets without an ID (IPv6, IPv4 with ID 0 or 1) that memory is "
                     "planned for (1)")
        ->type_name("SHARE");
    command
        ->add_option(option::kMachines, options->machines,
                     "So many machines behind a hash of flows take the rate together: what each "
                     "needs (1)")
        ->type_name("N");
    command->add_flag(option::kJson, options->json, "Print JSON");
    command->callback([options, &action] { action = [options] { return size(*options); }; });
}

}  // namespace unecho::app
