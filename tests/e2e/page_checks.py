# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a page in the browser, shared by the report and `unecho serve`."""
import html.parser
import re

VOID = {"meta", "br", "link", "img", "input", "hr"}

# Elements wider than the page, except those that scroll by themselves.
OVERFLOWING = """
[...document.querySelectorAll("body *")].filter(element => {
  const box = element.getBoundingClientRect();
  return !element.closest("pre, .scroll") && box.width > 0 && getComputedStyle(element).position
    && (box.right > document.documentElement.clientWidth + 0.5 || box.left < -0.5);
}).map(element => element.outerHTML.slice(0, 120))
"""
# Tables that have to be scrolled.
SCROLLING = """
[...document.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth)
  .map(box => box.outerHTML.slice(0, 200))
"""
# Visible labels of a chart that overlap, or are so close that they read as one.
TOUCHING = """
[...document.querySelectorAll("svg.plot")].flatMap(plot => {
  const boxes = [...plot.querySelectorAll("text")].map(
    text => [text.textContent, text.getBoundingClientRect()]).filter(([_, box]) => box.width > 0);
  return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([_, b]) =>
    a.left < b.right + 6 && b.left < a.right + 6 && a.top < b.bottom - 2 && b.top < a.bottom - 2
  ).map(([other, _]) => plot.querySelector("title").textContent + ": " + one + " / " + other));
})
"""
# The colours of the style sheet as the page resolves them: {"--ink": [r, g, b]}.
COLOURS = """
Object.fromEntries(["--page", "--panel", "--ink", "--muted", "--line", "--echo", "--new", "--accent",
                    "--lost"].map(name => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const rgb = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return [name, rgb];
}))
"""
TEXTS = ("--ink", "--muted", "--echo", "--accent", "--lost")
AREAS = ("--echo", "--new", "--accent", "--lost")


class Structure(html.parser.HTMLParser):
    """Tracks open elements and collects every problem with them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.problems, self.ids, self.references, self.links = [], [], [], [], []
        self.feed(text)
        self.close()
        self.problems += ["%s is not closed" % tag for tag in self.open]
        self.problems += ["id %s twice" % each for each in set(self.ids)
                          if self.ids.count(each) > 1]
        self.problems += ["no id %s" % each for each in self.references if each not in self.ids]

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name in ("aria-labelledby", "data-copy"):
                self.references += value.split()
            elif name == "href" and value.startswith("#"):
                self.references.append(value[1:])
            elif name in ("src", "href", "xlink:href", "srcset", "action"):
                self.links.append(value)
            elif name.startswith("on"):
                self.problems.append("%s has %s" % (tag, name))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append("</%s> at %s closes nothing" % (tag, self.getpos()))


def contrast(one, other):
    """Return the contrast of two colours (WCAG 2.1)."""
    def luminance(rgb):
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


UNITS = {"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "ns": 1, "us": 1e3,
         "\N{MICRO SIGN}s": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "d": 86400e9,
         "days": 86400e9}


def shown_value(text):
    """Parse a figure as shown ("1,156", "2.05 ms", "14 min 35 s"); return the number and its
    rounding error."""
    parts = re.findall("([0-9.,]+)\\s?([a-zA-Z\N{MICRO SIGN}]*)", text)
    numbers = [float(number.replace(",", "")) * UNITS[unit] for number, unit in parts]
    last = parts[-1][1]
    if last == "":
        return sum(numbers), 0
    tenths = 0.05 * UNITS[last] if last == "days" else 0
    return sum(numbers), max(0.005 * numbers[0], tenths, UNITS[last] / 2 if len(parts) > 1 else 0)
