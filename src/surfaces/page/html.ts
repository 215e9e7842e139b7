import type { ServerResponse } from 'node:http'
import { printable } from '../../text/printable.ts'

/** Markup that was written here, as opposed to text that came from somewhere. */
class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
export type { Markup }

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** A template in which every value is text, unless it is markup itself: what cannot be seen is shown, and nothing is obeyed. */
export function html(parts: TemplateStringsArray, ...values: (string | number | Markup | Markup[])[]): Markup {
  const shown = values.map((value) => {
    if (value instanceof Markup) return value.text
    if (Array.isArray(value)) return value.map((one) => one.text).join('')
    return printable(String(value)).replace(/[&<>"']/g, (character) => escapes[character] as string)
  })
  return new Markup(parts.map((part, index) => part + (shown[index] ?? '')).join(''))
}

const style = `
  :root { color-scheme: light dark; --text: #1f2328; --quiet: #59636e; --page: #f6f8fa; --sheet: #fff; --line: #d1d9e0; --code: #eff1f3; --link: #0b57d0;
    --in: #dafbe1; --out: #ffe2e0; --yes: #1a7f37; --no: #b3242f; --note: #fff8c5; --note-line: #d4a72c }
  @media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --quiet: #9aa4af; --page: #101214; --sheet: #181b1f; --line: #343a41; --code: #24292f; --link: #8ab4f8;
    --in: #12351c; --out: #4a1a1f; --yes: #238636; --no: #ff8f9c; --note: #3a2f0b; --note-line: #8d6e12 } }
  header, main, input, textarea { box-sizing: border-box }
  body { font: 16px/1.6 system-ui, sans-serif; margin: 0; color: var(--text); background: var(--page) }
  header, main { max-width: 62rem; margin: 0 auto; padding: 0 1.5rem }
  header { display: flex; gap: 1.5rem; align-items: baseline; padding-top: 1rem; padding-bottom: 1rem }
  header strong { margin-right: auto } header a { text-decoration: none }
  main { background: var(--sheet); border: 1px solid var(--line); border-radius: 12px; padding: 1.2rem 2rem 2rem; margin-bottom: 3rem }
  @media (max-width: 64rem) { main { max-width: none; border-radius: 0; border-width: 1px 0; padding: 1rem 1.2rem 2rem } }
  h1 { font-size: 1.5rem; line-height: 1.3; margin: .6em 0 .5em; overflow-wrap: anywhere } h2 { font-size: 1rem; font-weight: normal; margin: 1.2em 0 .3em }
  code, pre, input, textarea { font: 14px/1.5 ui-monospace, monospace }
  code, pre { background: var(--code); border-radius: 6px; padding: .1em .35em }
  main { overflow-wrap: anywhere } code { white-space: pre-wrap; unicode-bidi: isolate }
  pre { padding: .8em 1em; overflow-x: auto }
  table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .5em .8em .5em 0; border-bottom: 1px solid var(--line) } th { color: var(--quiet); font-weight: 500 } th, td:last-child { white-space: nowrap }
  .diff { white-space: pre-wrap; overflow-wrap: anywhere } .diff b { font-weight: normal; display: block; padding-left: 4ch; text-indent: -4ch }
  .said, h1, h2 { padding-left: 2em; text-indent: -2em }
  .in { background: var(--in) } .out { background: var(--out) } .place, .quiet { color: var(--quiet) }
  input, textarea { color: inherit; background: var(--sheet); border: 1px solid var(--line); border-radius: 6px; padding: .45em .6em } textarea { width: 100% }
  .number { font: 600 2rem/1.2 ui-monospace, monospace; letter-spacing: .15em; margin: .3em 0 } .number + p input { font-size: 1.3rem; width: 5em; letter-spacing: .15em }
  button { font: inherit; padding: .5em 1.4em; margin: 0 1em .5em 0; border-radius: 8px; border: 1px solid var(--line); cursor: pointer; background: var(--sheet); color: var(--text) }
  .yes { background: var(--yes); border-color: transparent; color: #fff } .no { color: var(--no) }
  .notice { background: var(--note); border: 1px solid var(--note-line); border-radius: 8px; padding: .6em 1em; margin: 1em 0 }
  a { color: var(--link) } :focus-visible { outline: 3px solid var(--link); outline-offset: 2px }`

export interface PageOptions {
  /** Said above everything else. */
  notices?: readonly string[]
  headers?: Record<string, string>
  /** The one origin from which this page may show a picture. */
  pictureFrom?: string
}

/** A page that runs no script, cannot be framed or held by another window, and is read by no other origin. */
export function sendPage(
  response: ServerResponse,
  status: number,
  title: string,
  body: Markup,
  again?: number,
  { notices = [], headers = {}, pictureFrom }: PageOptions = {},
): void {
  const room = roomOf(response)
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(pictureFrom === undefined ? [] : [`img-src ${pictureFrom}`]),
  ]
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Origin-Agent-Cluster': '?1',
    // Not `no-referrer`: with that, browsers send our own forms with `Origin: null`, which the listener refuses.
    'Referrer-Policy': 'same-origin',
    ...(again !== undefined && { Refresh: String(again) }),
    ...headers,
  })
  const nav = room === '' ? html`` : html`<a href="/approvals">Approvals</a><a href="/sign-out">Sign out</a>`
  const shell = html`<header><strong>Handrail</strong>${nav}</header>
    <main>${notices.map((notice) => html`<p class="notice">${notice}</p>`)}${body}</main>`
  response.end(
    `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n` +
      `${html`<title>${title} · Handrail</title>`.text}<style>${style}</style>\n${below(room, shell)}\n</html>\n`,
  )
}

/** Sends a browser on to another of our own pages. */
export function goTo(response: ServerResponse, path: string, cookie?: string): void {
  response.writeHead(303, { Location: roomOf(response) + path, ...(cookie !== undefined && { 'Set-Cookie': cookie }) })
  response.end()
}

/** The room in which this answer was asked for, or nothing. The listener has seen that it is the right one. */
function roomOf({ req }: ServerResponse): string {
  return /^\/p\/[a-z2-7]+(?=\/)/.exec(req.url ?? '')?.[0] ?? ''
}

/** Our links name pages; where they are is put in here. In what came from others every quotation mark is escaped. */
function below(room: string, { text }: Markup): string {
  return room === '' ? text : text.replaceAll(/ (href|action)="\//g, ` $1="${room}/`)
}
