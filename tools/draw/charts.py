# SPDX-License-Identifier: BSD-3-Clause
"""SVG charts for tools/draw/filters. Text follows the reader's light or dark scheme; series differ
by colour and by mark."""
import csv
import math
from html import escape

STYLE = """
svg { color: #24292f; font: 13px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { svg { color: #d8dee6; } }
text { fill: currentColor; }
.title { font-weight: 600; }
.axis { stroke: currentColor; fill: none; }
.grid { stroke: currentColor; opacity: 0.15; }
.guide { stroke: currentColor; fill: none; opacity: 0.6; stroke-dasharray: 5 4; }
.s0 { color: #3b82d0; } .s1 { color: #d9731a; } .s2 { color: #2f9e62; } .s3 { color: #a566cc; }
.line { stroke: currentColor; fill: none; stroke-width: 1.6; }
.bar { stroke: currentColor; fill: none; stroke-width: 1.3; }
.mark { fill: currentColor; stroke: none; }
"""


class Axis:
    """Maps values to pixels, linearly or logarithmically, and chooses the ticks."""

    def __init__(self, low, high, ticks=None, log=False, form="%g"):
        self.low, self.high, self.log, self.form = low, high, log, form
        if ticks is None:
            ticks = [10.0 ** e for e in range(round(math.log10(low)), round(math.log10(high)) + 1)]
        self.ticks = ticks

    def place(self, value, start, end):
        scale = math.log10 if self.log else float
        value = min(max(value, self.low), self.high)
        part = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return start + part * (end - start)

    def label(self, value):
        return "1e%d" % round(math.log10(value)) if self.log and value < 0.01 else self.form % value


class Elements:
    """SVG elements."""

    def __init__(self):
        self.parts = []

    def add(self, element):
        self.parts.append(element)

    def text(self, x, y, words, anchor="start", extra=""):
        self.add('<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>'
                 % (x, y, anchor, extra, escape(words)))


class Panel(Elements):
    """A pair of axes with a title."""

    def __init__(self, box, x, y, title, x_title, y_title):
        super().__init__()
        self.left, self.top, self.right, self.bottom = box
        self.x, self.y = x, y
        self._frame(title, x_title, y_title)

    def at(self, x, y):
        return (self.x.place(x, self.left, self.right), self.y.place(y, self.bottom, self.top))

    def _frame(self, title, x_title, y_title):
        for tick in self.x.ticks:
            x = self.x.place(tick, self.left, self.right)
            self.add('<path class="grid" d="M%.1f %.1fV%.1f"/>' % (x, self.top, self.bottom))
            self.text(x, self.bottom + 18, self.x.label(tick), "middle")
        for tick in self.y.ticks:
            y = self.y.place(tick, self.bottom, self.top)
            self.add('<path class="grid" d="M%.1f %.1fH%.1f"/>' % (self.left, y, self.right))
            self.text(self.left - 7, y + 4, self.y.label(tick), "end")
        self.add('<path class="axis" d="M%.1f %.1fV%.1fH%.1f"/>'
                 % (self.left, self.top, self.bottom, self.right))
        middle = (self.left + self.right) / 2
        self.text(middle, self.bottom + 38, x_title, "middle")
        self.text(self.left - 45, self.top - 30, title, extra=' class="title"')
        self.text(self.left - 45, self.top - 11, y_title)

    def line(self, points, kind):
        path = " ".join("%.1f,%.1f" % self.at(x, y) for x, y in points)
        self.add('<polyline class="%s" points="%s"/>' % (kind, path))

    def mark(self, x, y, series):
        self.add(mark_at(*self.at(x, y), series))

    def bar(self, x, low, high):
        across, top = self.at(x, high)
        bottom = self.at(x, low)[1]
        self.add('<path class="bar" d="M%.1f %.1fV%.1fM%.1f %.1fh6m-6 %.1fh6"/>'
                 % (across, top, bottom, across - 3, top, bottom - top))

    def legend(self, x, y, entries):
        """entries: (series or None for a dashed guide, text)."""
        for row, (series, words) in enumerate(entries):
            height = y + 19 * row
            if series is None:
                self.add('<path class="guide" d="M%.1f %.1fh24"/>' % (x, height))
            else:
                self.add('<g class="s%d"><path class="line" d="M%.1f %.1fh24"/>%s</g>'
                         % (series, x, height, mark_at(x + 12, height, series)))
            self.text(x + 31, height + 4, words)


def mark_at(x, y, series):
    if series == 0:
        return '<circle class="mark" cx="%.1f" cy="%.1f" r="3.6"/>' % (x, y)
    if series == 1:
        corner = (x - 3.3, y - 3.3)
        return '<rect class="mark" x="%.1f" y="%.1f" width="6.6" height="6.6"/>' % corner
    if series == 2:
        return '<path class="mark" d="M%.1f %.1fl4.4 7.6h-8.8z"/>' % (x, y - 4.9)
    return '<path class="mark" d="M%.1f %.1fl4.6 4.6l-4.6 4.6l-4.6 -4.6z"/>' % (x, y - 4.6)


def group(panel, series, draw):
    panel.add('<g class="s%d">' % series)
    draw()
    panel.add("</g>")


def save(path, width, height, words, panels, style=""):
    body = "\n".join("\n".join(panel.parts) for panel in panels)
    with open(path, "w", encoding="utf-8") as out:
        out.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
                  'width="%d" height="%d" role="img">\n'
                  '<title>%s</title>\n<style>%s</style>\n%s\n</svg>\n'
                  % (width, height, width, height, escape(words), STYLE + style, body))


def read(path, texts):
    """Return the rows of a CSV file as numbers, except columns with these names."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [{k: v if k in texts else float(v) for k, v in row.items()} for row in rows]


def of(rows, column, value):
    return [row for row in rows if row[column] == value]


def values(rows, column):
    return list(dict.fromkeys(row[column] for row in rows))
