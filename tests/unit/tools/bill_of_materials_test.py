#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""packaging/debian/bill_of_materials, on packages of one file: every compiled-in library has its
notice, and a library whose headers are new to the sources is reported."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import tool
from tool import ROOT

# Only declarations of these are compiled in; the packages list the libraries in Depends.
LOADED = {"libhiredis-dev", "libisal-dev", "liblz4-dev", "libmicrohttpd-dev", "libpcap0.8-dev", "libzstd-dev"}
OF_THE_SYSTEM = re.compile(r"libc6-dev|linux-libc-dev|libstdc\+\+-\d+-dev|libgcc-\d+-dev|libclang-.*")
PACKAGING = ROOT / "packaging"
COMPILED_IN = tool.load("../packaging/debian/bill_of_materials").COMPILED_IN
NOTICE = {"libcli11-dev": "University of Cincinnati", "nlohmann-json3-dev": "Niels Lohmann",
          "libexpected-dev": "Simon Brand", "libdpdk-dev": "Intel Corporation",
          "libfmt-dev": "Victor Zverovich", "libtomlplusplus-dev": "Mark Gillard"}


class BillOfMaterials(unittest.TestCase):
    def made(self, name):
        """Return (copyright, bill) of a package."""
        with tempfile.TemporaryDirectory() as at:
            folder = pathlib.Path(at) / name
            documents = folder / "usr/share/doc" / name
            documents.mkdir(parents=True)
            (documents / "copyright").write_text("as dh_installdocs has it\n")
            subprocess.run([sys.executable, "-B", PACKAGING / "debian/bill_of_materials", folder],
                           check=True, cwd=PACKAGING, env={**os.environ, "SOURCE_DATE_EPOCH": "1"})
            return ((documents / "copyright").read_text(),
                    json.loads((documents / (name + ".spdx.json")).read_text()))

    def test_what_is_compiled_in_has_its_notice_and_stands_in_the_bill(self):
        for name, libraries in (("unecho", set(COMPILED_IN)),
                                ("libunecho-filters-dev", {"libexpected-dev"})):
            text, bill = self.made(name)
            self.assertTrue(text.startswith((PACKAGING / "debian/copyright").read_text()))
            for library in COMPILED_IN:
                notice = pathlib.Path("/usr/share/doc", library, "copyright").read_text()
                self.assertIn(NOTICE[library], notice)
                self.assertEqual(notice.strip() in text, library in libraries, library)
            own = next(each["SPDXID"] for each in bill["packages"] if each["name"] == name)
            names = {each["SPDXID"]: each["name"] for each in bill["packages"]}
            self.assertEqual({names[each["relatedSpdxElement"]] for each in bill["relationships"]
                              if each["relationshipType"] == "STATIC_LINK"
                              and each["spdxElementId"] == own}, libraries)
            self.assertIn("./usr/share/doc/%s/copyright" % name,
                          [each["fileName"] for each in bill["files"]])

    def test_each_library_that_is_included_is_known(self):
        included = {name for folder in ("app", "lib") for path in (ROOT / folder).rglob("*")
                    if path.suffix in (".h", ".cpp")
                    for name in re.findall(r"^#include <([^>]+)>", path.read_text(), re.M)}
        paths = [path for name in sorted(included)
                 for path in (pathlib.Path(base, name) for base in (
                     "/usr/include", "/usr/include/dpdk", "/usr/include/x86_64-linux-gnu",
                     "/usr/include/x86_64-linux-gnu/dpdk")) if path.exists()]
        said = subprocess.run(["dpkg-query", "-S", *map(str, paths)], capture_output=True, text=True,
                              check=False).stdout
        found = {name.partition(":")[0] for line in said.splitlines()
                 for name in line.partition(": ")[0].split(", ")}
        libraries = {name for name in found if not OF_THE_SYSTEM.fullmatch(name)}
        self.assertEqual(libraries, set(COMPILED_IN) | LOADED)


if __name__ == "__main__":
    unittest.main(verbosity=2)
