#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The packages, as a new user gets them: built by tools/package, installed with apt into a clean
Debian 12.

Debian is a root folder made by mmdebstrap; programs in it run in a mount and process namespace that
ends with them. The container is built from the same clean root with buildah. Needs root. Of this
machine it uses the apt sources of Debian, the name servers and the network, but no device, file
mode or environment variable.
"""
import glob
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

import harness

ROOT = harness.ROOT
OUT = pathlib.Path(os.environ.get("UNECHO_PACKAGES", ROOT / "build-package"))
CODENAME = "bookworm"
NEEDED = ("mmdebstrap", "dpkg-buildpackage", "dh", "lintian", "buildah", "unshare")
TAPS = ["/usr/share/unecho/pcaps/two-taps-%s.pcap" % tap for tap in "ab"]
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "
KEEP = "-o Dpkg::Options::=--force-confold "
# Runs a program in the root with its own /proc, /sys and /dev. In a folder with public write
# access, such as a tmpfs, the kernel would deny root the devices of other users.
ENTER = """set -e
umask 022
mount -t proc proc "$1/proc"; mount -t sysfs -o ro sysfs "$1/sys"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"; mkdir -m 1777 "$1/dev/shm"
while read -r name major minor; do
  mknod -m 666 "$1/dev/$name" c "$major" "$minor"
done <<EOF
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
EOF
exec chroot "$@"
"""


def sources():
    """Return apt's files for Debian's packages on this machine, and a server that one of them
    names."""
    found, server = [], None
    for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*"))]:
        text = pathlib.Path(path).read_text() if path.endswith((".list", ".sources")) \
            and os.path.exists(path) else ""
        lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
        if re.search(r"\b%s\b" % CODENAME, lines) and "debian" in lines:
            found.append(path)
            server = server or re.search(r"\bhttps?://[^\s]+", lines)
    return found, server and server[0].rstrip("/")


def why_not():
    """Return what this machine lacks."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return "needs %s; tools/setup test installs them" % ", ".join(missing)
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"],
                                           capture_output=True, check=False).returncode:
        return "needs root"
    files, server = sources()
    if not files:
        return "needs apt sources of Debian " + CODENAME
    try:
        with urllib.request.urlopen("%s/dists/%s/InRelease" % (server, CODENAME), timeout=30):
            return None
    except OSError as error:
        return "needs the package server %s: %s" % (server, error)


def run(*command, status=0, **more):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False, **more)
    if done.returncode != status:
        raise AssertionError("%s: exit status %d\n%s%s" % (
            shlex.join(map(str, command)), done.returncode, done.stdout[-4000:], done.stderr[-4000:]))
    return done.stdout


class Machine:
    """A clean Debian, and the commands run in it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tar, self.root = self.folder / "clean.tar", self.folder / "root"
        run("mmdebstrap", "--quiet", "--variant=apt", "--mode=root", "--dpkgopt=force-unsafe-io",
            "--skip=cleanup/apt/lists", CODENAME, self.tar, *sources()[0])
        self.root.mkdir()
        run("tar", "-C", self.root, "-xf", self.tar)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")

    def do(self, command, status=0):
        """Run a line of shell as root."""
        return run("unshare", "--mount", "--pid", "--fork", "sh", "-c", ENTER, "sh", self.root,
                   "sh", "-euc", command, status=status,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"})

    def as_unit(self, command, folder, environment=""):
        """Run it as unecho@ does: its user, without any capability."""
        return self.do("cd %s; exec env %s setpriv --reuid=unecho --regid=unecho --clear-groups "
                       "--inh-caps=-all --bounding-set=-all --no-new-privs %s"
                       % (folder, environment, command))

    def put(self, path, to):
        shutil.copy(path, self.root / to.lstrip("/"))


def newer(deb, folder):
    """Return the same package with a higher version and another /etc/unecho/*.toml."""
    tree, out = folder / "newer", folder / "newer.deb"
    run("dpkg-deb", "-R", deb, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: (.*)$", r"Version: \1+newer", control.read_text(), flags=re.M))
    for path in (tree / "etc/unecho").iterdir():
        path.write_text(path.read_text() + "# newer\n")
    run("dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, out)
    return out


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.umask(0o022)
        began = time.monotonic()
        run(ROOT / "tools" / "package", "--no-symbols", OUT)
        cls.debs = {path.name.split("_")[0]: path for path in OUT.glob("*.deb")}
        built = time.monotonic()
        cls._folder = tempfile.TemporaryDirectory(prefix="unecho-package-")
        cls.addClassCleanup(cls._folder.cleanup)
        cls.folder = pathlib.Path(cls._folder.name)
        cls.machine = Machine(cls.folder)
        for name in ("unecho", "libunecho-filters-dev"):
            cls.machine.put(cls.debs[name], "/root/%s.deb" % name)
        clean = time.monotonic()
        cls.machine.do(INSTALL + "/root/unecho.deb /root/libunecho-filters-dev.deb man-db")
        print("packages %d s, clean Debian %d s, installing %d s"
              % (built - began, clean - built, time.monotonic() - clean), flush=True)

    def test_1_devices_are_those_of_the_root(self):
        self.assertEqual(self.machine.do("stat -c '%a %U' /dev /dev/null"), "755 root\n666 root\n")

    def test_1_lintian_says_nothing(self):
        changes = next(OUT.glob("*.changes"))
        self.assertEqual(run("lintian", "--allow-root", "--fail-on", "error,warning", changes), "")

    def test_1_quickstart_runs_as_anybody(self):
        said = self.machine.do("cd /tmp; exec setpriv --reuid=nobody --regid=nogroup --clear-groups "
                               "unecho run /etc/unecho/quickstart.toml")
        totals = [line for line in said.splitlines() if "received" in line]
        self.assertIn(totals[-1].strip(), (ROOT / "README.md").read_text())
        out = self.machine.root / "tmp/unecho-quickstart.pcap"
        forwarded = int(re.search(r"forwarded (\d+)", totals[-1])[1])
        self.assertEqual(len(list(harness.frames_of(out))), forwarded)

    def test_1_unit_runs_it_without_any_capability(self):
        self.machine.do("install -d -o unecho -g unecho -m 0750 /run/dpdk/quickstart; "
                        "install -d -o unecho -g unecho -m 0700 /var/lib/unecho/quickstart")
        unit = (self.machine.root / "lib/systemd/system/unecho@.service").read_text()
        environment = re.search(r"^Environment=(.*)$", unit, re.M)[1]
        for command in re.findall(r"^Exec(?:StartPre|Start)=(.*)$", unit, re.M):
            said = self.machine.as_unit(command.replace("%i", "quickstart"),
                                        "/var/lib/unecho/quickstart", environment)
        self.assertIn("forwarded", said)
        self.assertTrue((self.machine.root / "var/lib/unecho/quickstart/unecho-quickstart.pcap").exists())

    def test_1_configurations_are_right(self):
        self.machine.do("install -d -o unecho -g unecho /tmp/checked")
        for path in (self.machine.root / "etc/unecho").glob("*.toml"):
            self.machine.as_unit("unecho check /etc/unecho/" + path.name, "/tmp/checked")
            text = path.read_text()
            self.assertEqual('telemetry_group = "unecho"' in text, path.stem != "quickstart")
            last = re.findall(r"^\[+(\w+)\]+", text, re.M)[-1]
            self.assertEqual(last, "run", path.name)
        self.assertEqual(self.machine.do("stat -c %a /run/dpdk").strip(), "755")

    def test_1_captures_are_those_of_the_build(self):
        self.machine.do("cd /tmp; unecho pcap %s -o out.pcap" % " ".join(TAPS))
        wanted = self.folder / "wanted.pcap"
        run(os.environ["UNECHO_BIN"], "pcap", *(str(self.machine.root) + tap for tap in TAPS),
            "-o", wanted)
        self.assertEqual((self.machine.root / "tmp/out.pcap").read_bytes(), wanted.read_bytes())

    def test_1_pages_and_units_are_there(self):
        self.assertRegex(self.machine.do("man unecho"), r"(?s)NAME\n.*unecho pcap")
        self.assertIn("[[route]]", self.machine.do("man 5 unecho.toml"))
        self.machine.do("bash -n /usr/share/bash-completion/completions/unecho")
        self.assertIn("unecho", self.machine.do("id unecho"))
        self.assertIn("{value=unecho-any}", self.machine.do(
            "/usr/lib/*/wireshark/extcap/unecho-extcap --extcap-interfaces"))
        self.assertIn("echo( of packet",
                      self.machine.do("cat /usr/share/unecho/wireshark/colorfilters"))
        said = self.machine.do("systemd-analyze verify unecho@quickstart.service "
                               "unecho-serve@9797.service 2>&1")
        self.assertNotIn("unecho", "\n".join(line for line in said.splitlines()
                                             if "man " not in line))

    def test_1_library_compiles_from_its_package(self):
        root = self.machine.root
        pc = next((root / "usr/lib").rglob("unecho-filters.pc"))
        flags = run("pkg-config", "--cflags", "--libs", "unecho-filters",
                    env={**os.environ, "PKG_CONFIG_LIBDIR": str(pc.parent),
                         "PKG_CONFIG_SYSROOT_DIR": str(root),
                         "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"})
        example = next((root / "usr/share/doc/libunecho-filters-dev").rglob("recent_lines.cpp"))
        program = self.folder / "recent_lines"
        run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", example, "-o", program,
            *shlex.split(flags))
        self.assertEqual(run(program, "100", input="one\none\ntwo\none\n"), "one\ntwo\n")

    def test_1_bill_of_materials_is_that_of_the_package(self):
        for name in ("unecho", "libunecho-filters-dev"):
            path = self.machine.root / "usr/share/doc" / name / (name + ".spdx.json")
            bill = json.loads(path.read_text())
            self.assertEqual((bill["spdxVersion"], bill["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
            listed = {each["fileName"].removeprefix("."):
                      {sum_["algorithm"]: sum_["checksumValue"] for sum_ in each["checksums"]}
                      for each in bill["files"]}
            there = {file for file in self.machine.do("dpkg -L " + name).split()
                     if (self.machine.root / file.lstrip("/")).is_file()
                     and not (self.machine.root / file.lstrip("/")).is_symlink()}
            self.assertEqual(set(listed), there - {str(path)[len(str(self.machine.root)):]})
            for file, sums in listed.items():
                data = (self.machine.root / file.lstrip("/")).read_bytes()
                self.assertEqual(sums, {"SHA1": hashlib.sha1(data).hexdigest(),
                                        "SHA256": hashlib.sha256(data).hexdigest()}, file)
            ids = [each["SPDXID"] for each in [*bill["packages"], *bill["files"]]]
            self.assertEqual(len(ids), len(set(ids)))
            for relation in bill["relationships"]:
                self.assertIn(relation["relatedSpdxElement"], ids)
            names = {each["name"] for each in bill["packages"]}
            self.assertIn("libexpected-dev", names)
            if name == "unecho":
                self.assertTrue({"librte-net-pcap23", "libmicrohttpd12", "libcli11-dev"} <= names)

    def test_1_notices_of_what_is_compiled_in_are_shipped(self):
        said = self.machine.do("cat /usr/share/doc/unecho/copyright")
        for holder in ("the unecho authors", "University of Cincinnati", "Niels Lohmann", "Simon Brand",
                       "Intel Corporation", "Mark Gillard", "Victor Zverovich"):
            self.assertIn(holder, said)

    def storage_driver(self):
        """vfs works everywhere, but copies the whole root for each layer."""
        done = subprocess.run(["buildah", "--root", self.folder / "try", "--runroot",
                               self.folder / "try-run", "--storage-driver", "overlay", "from",
                               "scratch"], capture_output=True, check=False)
        return "overlay" if done.returncode == 0 else "vfs"

    def test_2_container_from_the_same_root(self):
        context = self.folder / "context"
        (context / "build-package").mkdir(parents=True)
        shutil.copy(ROOT / "Containerfile", context)
        shutil.copy(self.debs["unecho"], context / "build-package")
        store = ["buildah", "--root", self.folder / "store", "--runroot", self.folder / "store-run",
                 "--storage-driver", self.storage_driver()]
        try:
            base = run(*store, "from", "scratch").strip()
            run(*store, "add", "--quiet", base, self.machine.tar, "/")
            slim = context / "docker"
            slim.write_text("path-exclude=/usr/share/doc/*\n"
                            "path-include=/usr/share/doc/*/copyright\n")
            run(*store, "add", "--quiet", base, slim, "/etc/dpkg/dpkg.cfg.d/docker")
            run(*store, "commit", "--quiet", "--disable-compression", base, "localhost/clean")
            run(*store, "build", "--quiet", "--isolation", "chroot", "--layers=false",
                "--build-arg", "BASE=localhost/clean", "-t", "localhost/unecho",
                "-f", context / "Containerfile", context)
            image = run(*store, "from", "localhost/unecho").strip()
            there = json.loads(run(*store, "inspect", image))["OCIv1"]["config"]
            self.assertEqual((there["User"], there["WorkingDir"]), ("unecho", "/data"))
            said = run(*store, "run", "--isolation", "chroot", "--cap-drop", "all", image, "--",
                       *there["Entrypoint"], "run", "/etc/unecho/quickstart.toml")
            self.assertIn("forwarded 2527", said)
            there = run(*store, "run", "--isolation", "chroot", image, "--", "find",
                        "/usr/share/doc/unecho", "-type", "f").split()
            self.assertEqual(sorted(there), ["/usr/share/doc/unecho/" + name
                                             for name in ("copyright", "unecho.spdx.json")])
        finally:
            run(*store, "rm", "--all")
            run(*store, "rmi", "--all", "--force")

    def test_3_upgrade_keeps_what_was_changed_and_purge_leaves_nothing(self):
        etc = self.machine.root / "etc/unecho"
        changed = etc / "taps.toml"
        changed.write_text(changed.read_text() + "# mine\n")
        self.machine.put(newer(self.debs["unecho"], self.folder), "/root/newer.deb")
        self.machine.do(INSTALL + KEEP + "/root/newer.deb")
        self.assertIn("+newer", self.machine.do("dpkg-query -W unecho"))
        self.assertTrue(changed.read_text().endswith("# mine\n"))
        self.assertTrue((etc / "quickstart.toml").read_text().endswith("# newer\n"))
        (self.machine.root / "var/lib/unecho/left").mkdir(parents=True, exist_ok=True)
        self.machine.do(INSTALL + KEEP + "--allow-downgrades /root/unecho.deb")
        self.assertNotIn("+newer", self.machine.do("dpkg-query -W unecho"))
        self.machine.do("rm -rf /run/dpdk /tmp/*; "
                        "apt-get purge -q -y unecho libunecho-filters-dev; rm /root/*.deb")
        # Except logs, and pages cached by man, which its timer removes.
        left = self.machine.do("find / -xdev -name '*unecho*' -not -path '/var/log/*' "
                               "-not -path '/var/cache/man/cat*'").split()
        self.assertEqual(left, [])


if __name__ == "__main__":
    lacking = why_not()
    if lacking:
        harness.skip(lacking)
    harness.main(isolated=False)
