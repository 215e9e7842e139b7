import type { AuditLine } from '../../contracts/audit.ts'
import { jsonInPage } from '../json-in-page.ts'
import { checkChain } from './check-chain.ts'
import { showLog, type LogFacts } from './show-log.ts'

const style = `
  :root { color-scheme: light dark; --text: #1f2328; --quiet: #57606a; --page: #fff; --line: #d1d9e0; --code: #eff1f3; --good: #116329; --bad: #a40e26 }
  @media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --quiet: #a3adb8; --page: #181b1f; --line: #343a41; --code: #24292f; --good: #7ee2a0; --bad: #ffa8b0 } }
  body { font: 16px/1.6 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 62rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere }
  #verdict { font-weight: 600; border: 2px solid currentColor; border-radius: 8px; padding: .6em 1em } .good { color: var(--good) } .bad { color: var(--bad) } .quiet, time { color: var(--quiet) }
  .story { border-top: 1px solid var(--line); padding: .3em 0 } summary { cursor: pointer } summary > *, p > * { margin-right: .8em } time { font-variant-numeric: tabular-nums }
  code, pre { font: 14px/1.5 ui-monospace, monospace; white-space: pre-wrap } pre { background: var(--code); border-radius: 6px; padding: .5em; margin: .2em 0 .6em } .story p { margin: .4em 0 0 }
  input { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--quiet); border-radius: 6px; padding: .3em .6em; max-width: 100% } button { font: inherit }`

/** The script of every exported page: what checks the log, and what shows it. */
const script = `(${showLog.toString()})(document, ${checkChain.toString()}, JSON.parse(document.getElementById('facts').textContent), /^zh\\b/i.test(navigator.language))`

/**
 * The log as one page, part by part: it loads nothing, runs only the script whose digest its own policy names, and shows nothing but what it has
 * checked. `digest` makes the base64 of a SHA-256.
 */
export function* logPage(lines: Iterable<AuditLine>, facts: LogFacts, digest: (text: string) => string): Generator<string> {
  const policy = `default-src 'none'; script-src 'sha256-${digest(script)}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`
  yield `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<title>Handrail log</title>
<style>${style}</style>
<main>
<h1>Handrail</h1>
<p id="verdict" role="status">Not checked: this page needs its script.</p>
<p id="about"></p>
<p class="quiet" id="trust"></p>
<p><label><span id="find-label"></span> <input id="find" type="search"></label></p>
<p class="quiet" id="count" role="status"></p>
<div id="stories"></div>
<button id="more" hidden></button>
</main>
<script type="application/json" id="facts">${jsonInPage(facts)}</script>
<script type="application/x-ndjson" id="log">
`
  for (const line of lines) yield `${jsonInPage(line)}\n`
  yield `</script>\n<script>${script}</script>\n</html>\n`
}
