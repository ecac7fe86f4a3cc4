#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Man pages and completions have everything that --help has, and are well-formed."""
import os
import pathlib
import pty
import re
import select
import shutil
import socket
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
UNECHO = os.environ["UNECHO_BIN"]
PAGES = pathlib.Path(os.environ["UNECHO_PAGES"])
MAN_PAGES = ("unecho.1", "unecho.toml.5")
# Completions ask the unecho that is typed for the interfaces and appliances of this host.
RUNTIME = tempfile.TemporaryDirectory()
ENVIRONMENT = {**os.environ, "PATH": os.path.dirname(UNECHO) + ":" + os.environ["PATH"],
               "RUNTIME_DIRECTORY": RUNTIME.name}


def help_of(*command):
    return subprocess.run([UNECHO, *command, "--help"], check=True, capture_output=True,
                          text=True).stdout


def names_in(text):
    """Return (names of options, names of positionals or commands) from the text of --help."""
    options, others = set(), set()
    part = None
    for line in text.splitlines():
        if line and not line.startswith(" "):
            part = line
        elif part and part.startswith(("Usage", "Examples")):
            continue
        elif found := re.match(r"  (-[^\s]*)", line):
            options.update(found[1].split(","))
        elif found := re.match(r"  ([^\s]+)", line):
            others.add(found[1])
    return options, others


def section(page, heading):
    start = page.index(heading)
    return re.split(r"^\.S[SH] ", page[start:], flags=re.M)[1]


def roff(text):
    return text.replace("-", "\\-")


# Complete the typed line and write the offered words to a file, one a line. The completion system
# passes every word to compadd, whose option -O returns those that match. As nothing is added, files
# of other kinds would be offered next, so the style ends with folders.
ZSH = """PROMPT=
fpath=(%(pages)s $fpath)
autoload -Uz compinit
compinit -u -D
zstyle ':completion:*' completer _complete
zstyle ':completion:*' file-patterns '%%p(^-/):globbed-files *(-/):directories'
compadd() {
    local -a found
    [[ " $* " == *' -'[OAD]' '* ]] && { builtin compadd "$@"; return }
    builtin compadd -O found "$@"
    (( $#found )) && print -rl -- $found >>%(offers)s
}
offer() { zle complete-word; print >%(done)s }
zle -N offer
bindkey '^T' offer
"""


def zsh_offers(line, pages=PAGES, folder="/"):
    """Return the words with which zsh completes the line."""
    with tempfile.TemporaryDirectory() as at:
        names = {name: pathlib.Path(at) / name for name in ("offers", "done")}
        (pathlib.Path(at) / ".zshrc").write_text(ZSH % {"pages": pages, **names})
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-i", "-d"], {**ENVIRONMENT, "ZDOTDIR": at, "TERM": "dumb"})
        os.write(terminal, line.encode() + b"\x14")
        try:
            while not names["done"].exists():
                if select.select([terminal], [], [], 0.05)[0]:
                    os.read(terminal, 4096)  # OSError: the shell has ended
        finally:
            os.kill(process, 9)
            os.waitpid(process, 0)
            os.close(terminal)
        return names["offers"].read_text().split("\n")[:-1] if names["offers"].exists() else []


def fish_offers(line, pages=PAGES, folder="/"):
    with tempfile.TemporaryDirectory() as home:  # fish makes folders there
        done = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                               pages / "unecho.fish", line], cwd=folder, check=True, text=True,
                              capture_output=True, env={**ENVIRONMENT, "HOME": home})
    return [word.split("\t")[0] for word in done.stdout.splitlines()]


def bash_offers(line, pages=PAGES, folder="/"):
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _unecho; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-euc", script, "bash", pages / "unecho", *line.split(" ")],
                          cwd=folder, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stderr == "", done.stderr
    return [word for word in done.stdout.splitlines() if word]


class SameAsHelp(unittest.TestCase):
    def setUp(self):
        self.man = (PAGES / "unecho.1").read_text()
        self.options, self.commands = names_in(help_of())
        self.assertTrue(self.commands >= {"run", "check", "size"}, self.commands)

    def test_man_page_has_every_option_of_every_command(self):
        for name in self.options:
            self.assertIn("\\fB%s\\fR" % roff(name), section(self.man, ".SH OPTIONS"))
        for command in self.commands:
            text = section(self.man, '.SS "unecho %s"' % roff(command))
            options, positionals = names_in(help_of(command))
            self.assertTrue(options)
            for name in options:
                self.assertIn("\\fB%s\\fR" % roff(name), text, command)
            for name in positionals:
                self.assertIn("\\fI%s\\fR" % roff(name), text, command)

    def test_man_page_explains_every_placeholder(self):
        placeholders = set(re.findall(r"\\fI([A-Z]+)\\fR", section(self.man, ".SH OPTIONS")
                                      + self.man[self.man.index(".SH COMMANDS"):]))
        self.assertTrue(placeholders >= {"FILE", "IN", "CONFIG", "DURATION", "TIME"}, placeholders)
        self.assertNotIn("TEXT", self.man)
        for name in placeholders:
            self.assertRegex(section(self.man, ".SH PLACEHOLDERS"), r"\\fB%s\\fR\n\w" % name)

    def test_man_page_explains_keys_windows_and_pairs(self):
        for name in ("packet", "flow", "flow-bidir", "frame"):
            self.assertIn("\\fB%s\\fR\n" % roff(name), section(self.man, ".SH KEYS"))
        self.assertIn("younger than the window", section(self.man, ".SH WINDOWS"))
        self.assertIn("echo,original,age_ns", section(self.man, ".SH PAIRS"))

    def offers_all(self, offers):
        """One hyphen offers the short names, or all; two hyphens offer the long ones."""
        self.assertEqual(set(offers("unecho ")), self.commands)
        for command in ("", *sorted(self.commands)):
            options = names_in(help_of(*command.split()))[0]
            line = ("unecho %s " % command).replace("  ", " ")
            self.assertEqual(set(offers(line + "-")) | set(offers(line + "--")), options, line)
        keys = offers("unecho pcap --key ")
        self.assertEqual(set(keys), {"packet", "flow", "flow-bidir", "frame"})
        self.assertEqual(set(offers("unecho pcap --key fl")), {"flow", "flow-bidir"})
        self.assertEqual(offers("unecho pcap --window "), [])
        with tempfile.TemporaryDirectory() as at:
            for name in ("one.pcap", "two.pcapng.gz", "other.toml"):
                (pathlib.Path(at) / name).touch()
            (pathlib.Path(at) / "folder").mkdir()
            for line, files in (("pcap ", ("one.pcap", "two.pcapng.gz")), ("run ", ("other.toml",)),
                                ("check ", ("other.toml",)), ("analyze t", ("two.pcapng.gz",)),
                                ("pcap -o ", ("one.pcap", "two.pcapng.gz", "other.toml"))):
                found = {word.rstrip("/") for word in offers("unecho " + line, folder=at)}
                self.assertEqual(found - {"folder"}, set(files), line)
                self.assertEqual("folder" in found, not line.endswith("t"), line)
            self.assertNotIn("one.pcap", offers("unecho serve ", folder=at))
        self.offers_values_of_this_host(offers)

    def offers_values_of_this_host(self, offers):
        self.assertTrue({"lo", "any"} <= set(offers("unecho capture -i ")))
        with_l = {name for name in os.listdir("/sys/class/net") if name.startswith("l")}
        self.assertEqual(set(offers("unecho capture --interface l")), with_l)
        self.assertEqual({word.split(",")[-1] for word in offers("unecho init --link eth1,l")},
                         with_l)
        self.assertTrue({"vxlan", "vxlan-gpe"} <= {word.split(",")[-1] for word in
                                                   offers("unecho pcap --tunnels gre,vx")})
        self.assertEqual(set(offers("unecho help ")), self.commands)
        for name in ("link", "taps"):
            folder = pathlib.Path(RUNTIME.name) / "dpdk" / name
            folder.mkdir(parents=True, exist_ok=True)
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(str(folder / "dpdk_telemetry.v2"))
        self.assertEqual(set(offers("unecho status ")), {"link", "taps"})
        self.assertEqual(offers("unecho reload t"), ["taps"])
        for name in ("link", "taps"):
            (pathlib.Path(RUNTIME.name) / "dpdk" / name / "dpdk_telemetry.v2").unlink()

    def test_bash_offers_every_option_of_every_command(self):
        self.offers_all(bash_offers)
        # bash splits "--key=fl" into three words.
        self.assertEqual(bash_offers("unecho pcap --key = fl"), ["flow", "flow-bidir"])
        self.assertEqual(bash_offers("unecho pcap one.pcap -- "), [])
        with tempfile.TemporaryDirectory() as at:
            (pathlib.Path(at) / "a b.pcap").touch()
            self.assertEqual(bash_offers("unecho pcap -o ", folder=at), ["a b.pcap"])

    def test_zsh_offers_every_option_of_every_command(self):
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        self.offers_all(zsh_offers)

    def test_fish_offers_every_option_of_every_command(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        self.offers_all(fish_offers)

    def test_exit_statuses_are_those_of_the_readme(self):
        table = re.findall(r"\\fB(\d)\\fR\n(.*)", section(self.man, ".SH EXIT STATUS"))
        told = ", ".join("%s %s" % each for each in table)
        readme = " ".join((ROOT / "README.md").read_text().split())  # its lines are wrapped
        self.assertIn("Exit status: %s." % told, readme)


class Form(unittest.TestCase):
    def test_groff_has_no_warning(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        for name in MAN_PAGES:
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", PAGES / name],
                                  check=True, capture_output=True, text=True)
            self.assertEqual(done.stderr, "", name)

    def test_nothing_of_markdown_is_left(self):
        page = (PAGES / "unecho.toml.5").read_text()
        without_code = re.sub(r"\.EX.*?\.EE", "", page, flags=re.S)
        for mark in ("`", "**", "](", "\n|", "\n#"):
            self.assertNotIn(mark, without_code.replace("\\(ga", "`"))

    def test_every_example_of_the_configuration_is_there(self):
        page = (ROOT / "docs" / "configuration.md").read_text()
        made = (PAGES / "unecho.toml.5").read_text()
        blocks = re.findall(r"^```[\w ]*\n(.*?)^```", page, flags=re.S | re.M)
        self.assertEqual(made.count(".EX"), len(blocks))

    def test_bash_takes_the_completion(self):
        subprocess.run(["bash", "-n", PAGES / "unecho"], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
