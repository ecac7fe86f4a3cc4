#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run Spin on each model here. No reachable state breaks the model's promise, and each mistake that
the model lists as planted (a macro) does break it."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = sorted(pathlib.Path(__file__).resolve().parent.glob("*.pml"))
CACHE = ["ccache"] if shutil.which("ccache") else []
MOST_STEPS = 1_000_000  # of one run; a deeper one is an error


def planted(model):
    named, = re.findall(r"^// planted: (.+)$", model.read_text(), re.M)
    return named.split()


def verified(model, mistake=None):
    """Return (errors, states) over all reachable states."""
    with tempfile.TemporaryDirectory(prefix="unecho-model-") as folder:
        def run(*command):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                                  timeout=300)
            if done.returncode != 0:
                raise AssertionError("%s: %s%s" % (" ".join(command), done.stdout, done.stderr))
            return done.stdout

        run("spin", "-a", *(["-D" + mistake] if mistake else []), str(model))
        # Spin writes C about which compilers warn.
        run(*CACHE, "cc", "-w", "-O1", "-DSAFETY", "-o", "pan", "pan.c")
        said = run("./pan", "-m%d" % MOST_STEPS)
    if not mistake and ("max search depth too small" in said or "Search not completed" in said):
        raise AssertionError("%s: %s" % (model.name, said))
    errors, states = (re.search(pattern, said)[1]
                      for pattern in (r"errors: (\d+)", r"([\d.e+]+) states, stored"))
    return int(errors), float(states)


@unittest.skipIf(shutil.which("spin") is None, "needs spin")
class Models(unittest.TestCase):
    def test_nothing_that_can_be_reached_is_wrong(self):
        self.assertGreaterEqual(len(MODELS), 6)
        for model in MODELS:
            with self.subTest(model.stem):
                errors, states = verified(model)
                self.assertEqual(errors, 0)
                self.assertGreater(states, 100)
                print("%s: %d states" % (model.stem, states))

    def test_each_planted_mistake_is_found(self):
        for model in MODELS:
            self.assertGreaterEqual(len(planted(model)), 3)
            for mistake in planted(model):
                with self.subTest(model=model.stem, mistake=mistake):
                    self.assertEqual(verified(model, mistake)[0], 1)

    def test_code_names_each_model(self):
        code = "".join(path.read_text() for path in (ROOT / "lib").rglob("*.[hc]*"))
        for model in MODELS:
            self.assertIn("tests/models/" + model.name, code)


if __name__ == "__main__":
    unittest.main(verbosity=2)
