/** The style sheet of the report: light and dark, system fonts, printable. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #d5dae0; --paper: #fff; --card: #f6f8fa; --requests: #9db4d0; --denied: #c2362b; --shadow: #b7791f }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa5b1; --line: #323a44; --paper: #12161b; --card: #1a2027; --requests: #46617f; --denied: #f0685c; --shadow: #d9a441 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1040px; padding: 24px 20px 64px; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 24px; margin: 0 0 4px } h2 { font-size: 19px; margin: 40px 0 8px } h3 { font-size: 15px; margin: 24px 0 6px }
p { margin: 6px 0 } .soft, .legend { color: var(--soft) } .legend { font-size: 13px }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { font-weight: 600; font-size: 13px; color: var(--soft) } td.n, th.n { text-align: right } td { overflow-wrap: anywhere }
svg { width: 100%; height: auto; display: block } svg text { fill: var(--soft); font: 11px system-ui, sans-serif } .grid { stroke: var(--line) }
rect.requests, .key.requests { fill: var(--requests); background: var(--requests) } rect.denied, .key.denied { fill: var(--denied); background: var(--denied) } rect.shadow, .key.shadow { fill: var(--shadow); background: var(--shadow) }
.key { display: inline-block; width: 10px; height: 10px; margin-left: 10px } .key:first-child { margin-left: 0 }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 18px 0 }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px } .card b { display: block; font-size: 21px; font-variant-numeric: tabular-nums }
code { font: 13px ui-monospace, monospace } .columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 0 32px }
@media print { body { max-width: none } h2 { break-before: auto } table, svg { break-inside: avoid } }
`
