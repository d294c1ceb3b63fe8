/**
 * The one stylesheet of the pages: light and dark, from wide screens to phones. States are told by
 * a sign and a word as well as by colour.
 *
 * @module
 */

export const stylesheet = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --line: #dfe3e8; --faint: #eef1f4;
  --text: #1b2128; --quiet: #5a6572; --link: #0b57b0; --focus: #0b57b0;
  --ok: #1b7a3d; --warn: #8a5a00; --bad: #c0272d; --idle: #5a6572;
  --ok-back: #e5f4ea; --warn-back: #fdf1d8; --bad-back: #fdeaea; --idle-back: #eceff2;
  --bar: #4a83c4; --bar-out: #a9b4c0; --mark: #1b2128;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11151a; --card: #191f26; --line: #2c353f; --faint: #212932;
    --text: #e3e8ee; --quiet: #98a5b3; --link: #7db4f5; --focus: #7db4f5;
    --ok: #63c989; --warn: #e5b454; --bad: #ff8b85; --idle: #98a5b3;
    --ok-back: #17301f; --warn-back: #35290f; --bad-back: #3c1b1c; --idle-back: #262f38;
    --bar: #4f8fd6; --bar-out: #46525f; --mark: #e3e8ee;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
a { color: var(--link); text-underline-offset: 2px; }
a:not(:hover) { text-decoration: none; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
code, .mono { font: 12.5px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 8px; top: 8px; background: var(--card); padding: 6px 10px; z-index: 1; }

header.top { background: var(--card); border-bottom: 1px solid var(--line); }
header.top > div, main { max-width: 1240px; margin: 0 auto; padding: 0 24px; }
header.top > div { display: flex; align-items: center; gap: 4px 20px; flex-wrap: wrap; min-height: 48px; }
.brand { font-weight: 650; letter-spacing: -.01em; color: var(--text); display: flex; align-items: center; gap: 8px; }
.brand svg { width: 18px; height: 18px; }
nav { display: flex; gap: 2px; flex: 1; }
nav a { padding: 13px 10px 11px; color: var(--quiet); border-bottom: 2px solid transparent; }
nav a:hover { color: var(--text); text-decoration: none; }
nav a[aria-current] { color: var(--text); border-color: var(--bar); font-weight: 550; }
.who { display: flex; align-items: center; gap: 10px; color: var(--quiet); }
.who b { color: var(--text); font-weight: 550; }
main { padding-top: 20px; padding-bottom: 48px; }
h1 { font-size: 20px; line-height: 1.3; margin: 0 0 14px; font-weight: 650; letter-spacing: -.01em; }
h2 { font-size: 15px; margin: 0; font-weight: 650; }
h3 { font-size: 13px; margin: 18px 0 6px; font-weight: 650; }
p { margin: 6px 0; }
.quiet { color: var(--quiet); }
.small { font-size: 12.5px; }
.nowrap { white-space: nowrap; }
.narrow { display: none; }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; margin: 0 0 16px; }
.card > header { display: flex; align-items: baseline; gap: 4px 14px; flex-wrap: wrap; margin-bottom: 8px; }
.card > header .end { margin-left: auto; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); gap: 1px; background: var(--line); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; margin: 0 0 16px; }
.facts > div { background: var(--card); padding: 10px 14px; }
.facts dt { color: var(--quiet); font-size: 12px; }
.facts dd { margin: 1px 0 0; font-size: 17px; font-weight: 600; line-height: 1.3; }
.facts dd small { display: block; font-size: 12px; font-weight: 400; color: var(--quiet); }
dl.plain { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 16px; margin: 0; }
dl.plain > * { align-self: baseline; }
dl.plain dt { color: var(--quiet); }
dl.plain dd { margin: 0; }

.state { display: inline-flex; align-items: center; gap: 5px; white-space: nowrap; font-weight: 550; }
.state svg { width: 11px; height: 11px; flex: none; }
.ok { color: var(--ok); } .warn { color: var(--warn); } .bad { color: var(--bad); } .idle { color: var(--idle); }
.tag { display: inline-block; padding: 0 6px; border-radius: 4px; font-size: 12px; line-height: 18px; background: var(--idle-back); color: var(--idle); white-space: nowrap; }
.tag.ok { background: var(--ok-back); color: var(--ok); } .tag.warn { background: var(--warn-back); color: var(--warn); } .tag.bad { background: var(--bad-back); color: var(--bad); }
.tags { display: inline-flex; flex-wrap: wrap; gap: 4px; }
.notice { border-radius: 8px; padding: 10px 14px; margin: 0 0 16px; border: 1px solid var(--line); background: var(--card); border-left: 4px solid var(--idle); }
.notice.ok { border-left-color: var(--ok); color: inherit; } .notice.bad { border-left-color: var(--bad); color: inherit; } .notice.warn { border-left-color: var(--warn); color: inherit; }
.notice ul { margin: 4px 0 0; padding-left: 18px; }

table { border-collapse: collapse; width: 100%; }
caption.unseen { position: absolute; width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%); }
caption { text-align: left; color: var(--quiet); font-size: 12.5px; padding: 0 0 6px; }
th { text-align: left; font-weight: 500; font-size: 12px; color: var(--quiet); white-space: nowrap; vertical-align: bottom; }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--faint); }
thead th { border-bottom-color: var(--line); }
tbody th { font-size: 14px; color: inherit; font-weight: 550; white-space: normal; }
tbody tr:last-child > * { border-bottom: 0; }
td, tbody th { vertical-align: middle; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; white-space: nowrap; }
th.number, td.number { width: 1%; padding-left: 6px; padding-right: 22px; }
.top-aligned td, .top-aligned th { vertical-align: top; }
.scroll { overflow-x: auto; }
.share { display: grid; grid-template-columns: minmax(60px, 1fr) 54px 76px; gap: 10px; align-items: center; }
.share svg { width: 100%; height: 14px; display: block; }
.share .number:not(.quiet) { font-weight: 550; }
col.bar { width: 34%; }
.bar-track { fill: var(--faint); } .bar-fill { fill: var(--bar); } .bar-fill.out { fill: var(--bar-out); }
.bar-mark { stroke: var(--mark); stroke-width: 2; vector-effect: non-scaling-stroke; }
.bar-fill.ok { fill: var(--ok); } .bar-fill.warn { fill: var(--warn); } .bar-fill.bad { fill: var(--bad); } .bar-fill.idle { fill: var(--bar-out); }
.legend { display: inline-flex; gap: 14px; flex-wrap: wrap; color: var(--quiet); font-size: 12px; }
.legend span { display: inline-flex; align-items: center; gap: 5px; }
.legend svg { width: 16px; height: 10px; }
.skyline { width: 100%; height: 96px; display: block; margin: 4px 0 2px; }
.versions { display: grid; grid-template-columns: max-content minmax(60px, 1fr) max-content; gap: 4px 12px; align-items: center; margin: 4px 0 12px; }
.versions svg { width: 100%; height: 12px; display: block; }
details > summary { cursor: pointer; color: var(--link); padding: 8px 0 2px; }
details[open] > summary { padding-bottom: 8px; }
ul.changes { margin: 0; padding-left: 16px; } ul.changes li { margin: 1px 0; }
tr.chosen > * { background: var(--ok-back); }

form.row, .row { display: flex; flex-wrap: wrap; gap: 10px; align-items: end; }
label { display: block; font-size: 12px; color: var(--quiet); }
label.grow { flex: 1 1 220px; }
input, select, textarea, button { font: inherit; color: inherit; }
input, select, textarea { display: block; width: 100%; margin-top: 3px; padding: 6px 9px; background: var(--page); border: 1px solid var(--line); border-radius: 6px; min-height: 34px; color: var(--text); font-size: 14px; }
input.short { width: 92px; }
button { padding: 6px 14px; min-height: 34px; border-radius: 6px; border: 1px solid var(--line); background: var(--faint); cursor: pointer; font-weight: 550; white-space: nowrap; }
button:hover { border-color: var(--quiet); }
button.main { background: var(--link); border-color: var(--link); color: var(--card); }
button.link { border: 0; background: none; padding: 0; min-height: 0; color: var(--link); font-weight: 400; }
.actions { display: grid; grid-template-columns: repeat(auto-fit, minmax(280px, 1fr)); gap: 16px; }
.actions > form > p { margin: 0; min-height: 56px; }
.actions > form { border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; display: grid; gap: 10px; align-content: start; }
.actions h3 { margin: 0; }
.sign-in { max-width: 460px; margin: 12vh auto 0; }
.sign-in form { display: grid; gap: 12px; margin-top: 12px; }
.sign-in textarea { min-height: 92px; }

@media (max-width: 720px) {
  header.top > div, main { padding-left: 14px; padding-right: 14px; }
  header.top > div { padding-top: 8px; }
  nav { order: 3; flex-basis: 100%; margin: 0 -10px; }
  nav a { padding: 8px 10px; }
  .brand { flex: 1; }
  .card { padding: 12px; }
  .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .wide { display: none; }
  .state, .tag { white-space: normal; }
  th.number, td.number { padding-right: 10px; padding-left: 0; }
  th, td { padding-right: 10px; }
  tbody th { min-width: 5.2em; }
  .share { grid-template-columns: max-content max-content; gap: 1px 5px; font-size: 12px; }
  .share .small { font-size: 11px; }
  .share svg { grid-column: 1 / -1; height: 10px; }
  col.bar { width: 46%; }
  dl.plain { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dl.plain dd { margin-bottom: 8px; }
  .skyline { height: 72px; }
  .stacked thead { position: absolute; clip-path: inset(50%); }
  .stacked tbody, .stacked, .stacked caption:not(.unseen) { display: block; }
  .stacked tr { display: grid; grid-template-columns: minmax(5.2em, 1fr) minmax(0, max-content) max-content; gap: 2px 12px; padding: 7px 0; align-items: baseline; border-bottom: 1px solid var(--faint); }
  .stacked tr:last-child { border-bottom: 0; }
  .stacked tbody th, .stacked td { border: 0; padding: 0; width: auto; min-width: 0; }
  .stacked .line { grid-column: 1 / -1; order: 1; }
  .stacked .line:empty { display: none; }
  .stacked .share { grid-template-columns: minmax(0, 1fr) max-content max-content; }
  .stacked .share svg { grid-column: auto; }
  .narrow { display: inline; }
}
@media print { header.top nav, .who, form { display: none; } body { background: none; } }
`;

/** The sign of the project, for tabs of browsers. */
export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 18 18"><g fill="none" stroke="#4a83c4" stroke-width="2" stroke-linecap="round"><path d="M2 9h4c3 0 3-5 6-5h4M6 9c3 0 3 5 6 5h4M6 9h10"/></g></svg>';
