/** Of the page. Light and dark follow the system. */
export const STYLE = `
:root { color-scheme: light dark; --page: light-dark(#f4f6f8, #0f1317); --panel: light-dark(#ffffff, #171c22);
  --line: light-dark(#d5dce3, #2b333c); --text: light-dark(#18202a, #e6ebf0); --soft: light-dark(#53606d, #9dabb9);
  --link: light-dark(#0b5cad, #7ab8ff); --good: light-dark(#0c7a4d, #45c58e); --bad: light-dark(#b8251c, #ff8177);
  --allowed: light-dark(#2a78b8, #4a96d4); --denied: light-dark(#c9382b, #e5655a); --before: light-dark(#8a8f98, #77808b) }
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1120px; margin: 0 auto; padding: 20px 20px 60px; background: var(--page); color: var(--text); overflow-wrap: anywhere }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem } h3 { font-size: 1rem; margin: 0 }
p { margin: .25rem 0 } a { color: var(--link) } .soft { color: var(--soft) } .bad { color: var(--bad) } small { color: var(--soft) }
code { font: .86em/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace }
.answers { display: grid; grid-template-columns: 1.6fr 1fr 1fr; gap: 12px; margin: 14px 0 }
.answers section, .panel { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px }
.answers h2 { font-size: .82rem; color: var(--soft); margin: 0 0 4px } .answers ul { margin: 0; padding: 0; list-style: none }
.answers code { display: block; padding-left: 1.2em; text-indent: -1.2em } .out { color: var(--bad) } .in { color: var(--good) }
.big { font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums }
.scroll { overflow-x: auto; overflow-wrap: normal } .scroll:focus-visible, a:focus-visible, button:focus-visible { outline: 3px solid color-mix(in srgb, var(--link) 60%, transparent) }
table { border-collapse: collapse; min-width: min(100%, 40rem); font-size: .93rem }
th, td { text-align: left; padding: .3rem 1.1rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap }
th { color: var(--soft) } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums } time { font-variant-numeric: tabular-nums }
th button { all: unset; cursor: pointer; color: inherit; font: inherit } th button:hover { color: var(--link) }
th button::after { content: "\\2195"; display: inline-block; width: 1.1em; text-align: center; opacity: .55 }
th[aria-sort=ascending] button::after { content: "\\2191"; opacity: 1 } th[aria-sort=descending] button::after { content: "\\2193"; opacity: 1 }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr)); gap: 16px 28px }
.plots h3 { font-size: .93rem } svg { display: block; width: 100%; height: auto } svg text { font: 11px system-ui, sans-serif; fill: currentColor } svg line { stroke: var(--line) }
.allowed { fill: var(--allowed) } .denied { fill: var(--denied) } .before { fill: var(--before) }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; background: currentColor } .key:first-child { margin-left: 0 }
.key.allowed { color: var(--allowed) } .key.denied { color: var(--denied) } .key.before { color: var(--before) }
article { padding: 10px 0; border-bottom: 1px solid var(--line); scroll-margin-top: 12px } article ul { margin: 0; padding-left: 1.2rem } article:target { box-shadow: -12px 0 0 var(--page), -15px 0 0 var(--link) }
@media (max-width: 720px) { .answers { grid-template-columns: 1fr } body { padding: 14px 12px 40px } h1 { font-size: 1.4rem } .answers { gap: 8px } .answers section { padding: 8px 12px } .answers code { font-size: .78rem } svg.wide text { font-size: 22px } }
`
