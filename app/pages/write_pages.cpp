// SPDX-License-Identifier: BSD-3-Clause
// Writes unecho.1, unecho.toml.5 and the completions for bash, zsh and fish. The build runs it.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "options/command_line.h"
#include "pages/commands_of.h"
#include "pages/completion.h"
#include "pages/man_page.h"
#include "pages/toml_page.h"

namespace {

bool write(const std::string& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
        std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
    }
    return out.good();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::fputs("usage: write_pages CONFIGURATION.md UNECHO.1 UNECHO.TOML.5 BASH ZSH FISH\n",
                   stderr);
        return 2;
    }
    std::ifstream in(argv[1], std::ios::binary);
    const std::string markdown{std::istreambuf_iterator<char>(in), {}};
    const auto toml = unecho::app::toml_page(markdown);
    if (!toml) {
        std::fprintf(stderr, "%s: %s\n", argv[1], toml.error().context.c_str());
        return 1;
    }
    const unecho::app::EalArgs eal_args;
    unecho::app::Action action;
    const auto app = unecho::app::make_command_line(eal_args, action);
    const auto program = unecho::app::program_of(*app);
    const auto commands = unecho::app::commands_of(*app);
    for (const std::string& example : unecho::app::examples_not_understood(commands)) {
        std::fprintf(stderr, "example of the man page: no such command or option: %s\n",
                     example.c_str());
        return 1;
    }
    const bool done = write(argv[2], unecho::app::man_page(program, commands)) &&
                      write(argv[3], *toml) &&
                      write(argv[4], unecho::app::bash_completion(program, commands)) &&
                      write(argv[5], unecho::app::zsh_completion(program, commands)) &&
                      write(argv[6], unecho::app::fish_completion(program, commands));
    return done ? 0 : 1;
}
