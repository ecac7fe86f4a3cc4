// SPDX-License-Identifier: BSD-3-Clause
#include "captures/view/html/style.h"

namespace unecho::view {
namespace {

constexpr std::string_view kColours = R"(
:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f5f7f9; --ink: #17202b; --muted: #566373; --line: #d5dce4;
  --echo: #c2410c; --echo-rgb: 194 65 12; --new: #7688a0; --accent: #0b62c4; --lost: #7b2cbf;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #10151b; --panel: #19212a; --ink: #e4e9ef; --muted: #9dabba; --line: #2f3b48;
    --echo: #ff9a57; --echo-rgb: 255 154 87; --new: #667c96; --accent: #74b3ff; --lost: #d0a2ff;
  }
}
@media print {
  :root {
    color-scheme: light;
    --page: #ffffff; --panel: #f5f7f9; --ink: #17202b; --muted: #566373; --line: #d5dce4;
    --echo: #c2410c; --echo-rgb: 194 65 12; --new: #7688a0; --accent: #0b62c4; --lost: #7b2cbf;
  }
}
)";

constexpr std::string_view kText = R"(
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 72rem; padding: 2.5rem clamp(1rem, 4vw, 3rem) 3rem;
  background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans",
    sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
h1, h2, h3, p, dl, ul, figure, pre, table { margin: 0; }
h1 { font-size: clamp(1.75rem, 1.2rem + 2.4vw, 2.75rem); line-height: 1.15; font-weight: 650;
  letter-spacing: -0.015em; text-wrap: balance; }
h2 { font-size: 1.25rem; line-height: 1.3; font-weight: 650; }
h3 { font-size: 0.9375rem; font-weight: 650; margin: 1.25rem 0 0.25rem; }
p { max-width: 44rem; text-wrap: pretty; }
p + p { margin-top: 0.5rem; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: 0.875em; }
.lead { font-size: 1.125rem; margin-top: 0.75rem; }
.muted, .source { color: var(--muted); }
.source { font-size: 0.9375rem; margin-bottom: 0.75rem; }
section { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.25rem; }
section > h2 + p { margin-top: 0.25rem; }
.pair { display: grid; gap: 0 3rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 60rem) {
  .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .pair > section:last-child:nth-child(odd) { grid-column: 1 / -1; }
  .charts > section { display: grid; grid-template-rows: subgrid; grid-row: span 5; gap: 0;
    align-content: start; }
}
.warning { border-left: 3px solid var(--lost); padding-left: 0.75rem; margin-top: 0.75rem; }
.answer + .warning { margin-top: 1.5rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem;
  color: var(--muted); font-size: 0.875rem; }
a { color: var(--accent); }
)";

constexpr std::string_view kBlocks = R"(
.answer { display: grid; gap: 1rem; margin-top: 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 13rem), 1fr)); }
.answer > div { border-top: 3px solid var(--tone, var(--ink)); padding-top: 0.625rem; }
.answer dt { color: var(--muted); font-size: 0.875rem; }
.answer dd { margin: 0; }
.big { font-size: 2.25rem; line-height: 1.2; font-weight: 600; letter-spacing: -0.02em; }
.small { color: var(--muted); font-size: 0.875rem; }
.facts { display: grid; gap: 0.875rem 2rem; margin-top: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(45%, 11rem), 1fr)); }
.facts.narrow { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0.5rem 1rem; }
.facts dt { color: var(--muted); font-size: 0.8125rem; }
.facts dd { margin: 0; }
.reasons { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 1.5rem; margin-top: 1rem; }
.reasons .sub { font-weight: 400; }
.reasons dt { font-weight: 600; }
.reasons dd { margin: 0 0 0.875rem; max-width: 44rem; }
.reasons dt { margin-bottom: 0.125rem; }
@media (min-width: 40rem) {
  .reasons { grid-template-columns: 11rem minmax(0, 1fr); }
  .reasons dt { margin-bottom: 0.875rem; }
}
ul { padding-left: 1.125rem; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px;
  padding: 1rem; overflow-x: auto; line-height: 1.5; overflow-wrap: normal; }
.code { position: relative; margin-top: 1rem; }
.code button { position: absolute; top: 0.5rem; right: 0.5rem; font: inherit; font-size: 0.8125rem;
  color: var(--ink); background: var(--page); border: 1px solid var(--line); border-radius: 5px;
  padding: 0.1875rem 0.75rem; cursor: pointer; }
.code button:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
details { margin-top: 0.75rem; font-size: 0.875rem; }
summary { color: var(--muted); cursor: pointer; }
.scroll { overflow-x: auto; }
.source details { margin-top: 0; }
)";

constexpr std::string_view kTables = R"(
table { border-collapse: collapse; width: 100%; font-size: 0.9375rem; margin-top: 1rem; }
caption { text-align: left; color: var(--muted); font-size: 0.875rem; padding-bottom: 0.25rem; }
th, td { text-align: left; vertical-align: top; padding: 0.375rem 1rem 0.375rem 0;
  border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--muted); font-size: 0.8125rem; font-weight: 400; vertical-align: bottom; }
tbody th { font-weight: 400; min-width: 4.5rem; }
.place { display: block; min-width: 7rem; }
.n { text-align: right; white-space: nowrap; }
thead .n { white-space: normal; overflow-wrap: normal; }
.sub { display: block; color: var(--muted); font-size: 0.8125rem; }
.meter { display: block; height: 0.375rem; margin: 0.125rem 0 0.125rem; background: var(--panel);
  border-radius: 2px; overflow: hidden; white-space: nowrap; font-size: 0; }
.meter i { display: inline-block; height: 100%; background: var(--tone, var(--echo)); }
.matrix { width: auto; margin-top: 0.25rem; }
.matrix thead td { border: 0; background: none; }
.matrix tbody td { text-align: right; padding: 0.5rem 0.75rem; min-width: 4rem; white-space: nowrap;
  border: 2px solid var(--page); background: rgb(var(--echo-rgb) / calc(var(--s) * 0.32)); }
.matrix td.none { background: var(--panel); color: var(--muted); }
.matrix th { border: 0; padding: 0.5rem 0.75rem 0.5rem 0; }
.matrix thead th { text-align: right; padding-right: 0.75rem; }
.echo-text { color: var(--echo); } .lost-text { color: var(--lost); }
@media (max-width: 36rem) {
  th, td { padding-right: 0.625rem; }
}
)";

constexpr std::string_view kCharts = R"(
figure { margin-top: 1rem; }
figcaption { color: var(--muted); font-size: 0.8125rem; }
.plot { display: block; overflow: visible; margin: 2rem 0 0 2.75rem;
  width: calc(100% - 3.5rem); }
.plot svg { overflow: visible; }
.plot text { fill: var(--muted); font-size: 12px; }
.plot .grid { stroke: var(--line); } .plot .base { stroke: var(--muted); }
.plot .tick { stroke: var(--muted); }
.plot .in { fill: var(--echo); } .plot .out, .plot .new { fill: var(--new); }
.plot .curve { fill: none; stroke: var(--echo); stroke-width: 2; stroke-linejoin: round; }
.plot .second { fill: none; stroke: var(--new); stroke-width: 2; }
.plot .again { fill: var(--lost); fill-opacity: 0.35; }
.plot .limit { stroke: var(--muted); stroke-dasharray: 2 3; }
.plot .mark { stroke: var(--accent); stroke-width: 1.5; stroke-dasharray: 5 3; }
.plot text.mark-label { fill: var(--accent); font-weight: 600; }
.plot .curve-label, .plot .second-label, .plot .mark-label { paint-order: stroke;
  stroke: var(--page); stroke-width: 3px; }
.plot text.curve-label { fill: var(--echo); font-weight: 600; }
.plot text.second-label { fill: var(--muted); font-weight: 600; }
.swatch { display: inline-block; width: 0.75em; height: 0.75em; border-radius: 2px;
  background: var(--tone); margin-right: 0.25em; }
@media (max-width: 36rem) { .plot .minor { display: none; } }
@media print {
  * { print-color-adjust: exact; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  section { break-inside: avoid-page; margin-top: 1.5rem; }
  #advice { break-inside: auto; }
  pre { white-space: pre-wrap; }
  button { display: none; }
}
)";

constexpr std::string_view kScript = R"(
for (const button of document.querySelectorAll("button[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
)";

}  // namespace

std::string style_sheet() {
    std::string all;
    for (const std::string_view part : {kColours, kText, kBlocks, kTables, kCharts}) {
        all += part;
    }
    return all;
}

std::string_view copy_script() {
    return kScript;
}

}  // namespace unecho::view
