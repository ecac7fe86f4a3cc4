# SPDX-License-Identifier: BSD-3-Clause
"""The names of the reasons of lib/dedup/pipeline/reasons.h, by what becomes of the packets."""
import pathlib
import re

_TABLE = pathlib.Path(__file__).resolve().parents[2] / "lib/dedup/pipeline/reasons.h"
_ROWS = re.findall(r"\{Reason::k\w+, Disposition::k(\w+), GivenBy::k\w+,\s*\"(\w+)\"",
                   _TABLE.read_text())
NAMES = tuple(name for _, name in _ROWS)
FATES = {fate: tuple(name for of, name in _ROWS if of.lower() == fate)
         for fate in ("forwarded", "diverted", "dropped")}
assert all(FATES.values()), "lib/dedup/pipeline/reasons.h has no table of reasons"
