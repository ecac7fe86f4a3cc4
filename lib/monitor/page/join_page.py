#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""join_page.py [OUTPUT.cpp]: the page of `unecho serve` as one file, from page.html, style.css and
the modules that main.js imports.

The modules become one script, each behind those that it imports; a name may be at the top of one of
them alone. With OUTPUT.cpp page_html() and page_policy() of page.h are written there, else the page
to standard output. The policy lets this style and this script run, and nothing else. The runbook
comes from docs/runbook.md, so that the page's links work without a network.
"""
import base64
import hashlib
import html
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
IMPORT = re.compile(r'^import \{[^}]*\}\s+from "\./(\w+\.js)";\n', re.M)
EXPORT = re.compile(r"^export (?=const |let |class |function |async )", re.M)
TOP = re.compile(r"^(?:export )?(?:const|let|class|function\*?|async function) (\w+)", re.M)
COMMENT_LINE = re.compile(r"^\s*//.*\n", re.M)
BLANK = re.compile(r"\n{2,}")


def modules(name="main.js", seen=None):
    """(name, text) of all modules, each behind those that it imports."""
    seen = {} if seen is None else seen
    if name not in seen:
        seen[name] = None
        text = (FOLDER / name).read_text(encoding="utf-8")
        for other in IMPORT.findall(text):
            modules(other, seen)
        seen[name] = seen.pop(name) or text
    return seen.items()


def script():
    owners = {}
    parts = []
    for name, text in modules():
        for top in TOP.findall(text):
            if top in owners:
                sys.exit("%s: %s is in %s too" % (name, top, owners[top]))
            owners[top] = name
        text = EXPORT.sub("", COMMENT_LINE.sub("", IMPORT.sub("", text)))
        if re.search(r"^(?:import|export)\b", text, re.M):
            sys.exit("%s: an import or export that is not understood" % name)
        parts.append(text)
    joined = BLANK.sub("\n", "\n" + "".join(parts))
    if "</script" in joined or "<!--" in joined:
        sys.exit("the script would end, or hide, within itself")
    return joined


def style():
    text = (FOLDER / "style.css").read_text(encoding="utf-8")
    return BLANK.sub("\n", "\n" + re.sub(r"/\*.*?\*/\n?", "", text, flags=re.S))


def source_of(text):
    digest = hashlib.sha256(text.encode()).digest()
    return "'sha256-%s'" % base64.b64encode(digest).decode()


def page():
    """(the page, its Content-Security-Policy)"""
    look, code = style(), script()
    text = (FOLDER / "page.html").read_text(encoding="utf-8")
    for mark, content in (("@STYLE@", look), ("@SCRIPT@", code)):
        before, found, after = text.partition(mark)
        if not found:
            sys.exit("page.html has no " + mark)
        text = before + content + after
    policy = ["default-src 'none'", "style-src " + source_of(look), "script-src " + source_of(code),
              "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'",
              "frame-ancestors 'none'", "require-trusted-types-for 'script'",
              "trusted-types 'none'"]
    return text, "; ".join(policy)


LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
RUNBOOK_STYLE = ("body{max-width:48rem;margin:1rem auto;padding:0 1rem;"
                 "font:1rem/1.5 system-ui,sans-serif;color-scheme:light dark}"
                 ":target{border-left:4px solid;padding-left:.5rem}")


def inline(text):
    """Text with `code`; links to other documents, which are not served, become text."""
    text = html.escape(LINK.sub(r"\1", text), quote=False)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def block(text):
    """One block of the runbook's Markdown as HTML."""
    head, _, name = text.partition(" ")
    if head and set(head) == {"#"}:
        return '<h%d id="%s">%s</h%d>' % (len(head), re.sub(r"[^\w-]", "", name.replace(" ", "-")
                                                           .lower()), inline(name), len(head))
    if text.startswith("```"):
        return "<pre>%s</pre>" % html.escape("\n".join(text.split("\n")[1:-1]))
    if text.startswith("- "):
        items = re.split(r"\n(?=- )", text)
        return "<ul>%s</ul>" % "".join("<li>%s</li>" % inline(item[2:]) for item in items)
    return "<p>%s</p>" % inline(text)


def runbook():
    """(the runbook, its Content-Security-Policy)"""
    text = (FOLDER.parents[2] / "docs" / "runbook.md").read_text(encoding="utf-8")
    body = "\n".join(block(each) for each in re.split(r"\n\n+", text.strip()))
    page_text = ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
                 '<meta name="viewport" content="width=device-width, initial-scale=1">'
                 '<title>unecho: runbook</title><style>%s</style></head>'
                 '<body>\n%s\n</body></html>\n' % (RUNBOOK_STYLE, body))
    return page_text, "default-src 'none'; style-src %s; base-uri 'none'; form-action 'none'; " \
        "frame-ancestors 'none'" % source_of(RUNBOOK_STYLE)


def chars(name, text):
    """An array: a literal may not be as long as the page."""
    values = [str(byte if byte < 128 else byte - 256) for byte in text.encode()]
    lines = [",".join(values[i:i + 24]) for i in range(0, len(values), 24)]
    return "constexpr char %s[] = {\n%s};\n" % (name, ",\n".join(lines))


def source():
    text, policy = page()
    book, book_policy = runbook()
    return """// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/page/page.h"

namespace unecho::monitor {
namespace {

%s
%s
%s
%s
}  // namespace

std::string_view page_html() {
    return {kPage, sizeof(kPage)};
}

std::string_view page_policy() {
    return {kPolicy, sizeof(kPolicy)};
}

std::string_view runbook_html() {
    return {kRunbookPage, sizeof(kRunbookPage)};
}

std::string_view runbook_policy() {
    return {kRunbookPolicy, sizeof(kRunbookPolicy)};
}

}  // namespace unecho::monitor
""" % (chars("kPage", text), chars("kPolicy", policy), chars("kRunbookPage", book),
       chars("kRunbookPolicy", book_policy))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(source(), encoding="utf-8")
    else:
        sys.stdout.write(page()[0])
