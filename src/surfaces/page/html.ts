import type { ServerResponse } from 'node:http'
import { plain } from '../../contracts/plain.ts'

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
    return plain(String(value)).replace(/[&<>"']/g, (character) => escapes[character] as string)
  })
  return new Markup(parts.map((part, index) => part + (shown[index] ?? '')).join(''))
}

const style = `
  body { font: 16px/1.6 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1rem; color: #222; background: #fafafa }
  code, pre, input, textarea { font: 14px/1.5 ui-monospace, monospace }
  code, pre { background: #eee; border-radius: 4px; padding: .1em .3em }
  pre { padding: .8em 1em; overflow-x: auto }
  table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .4em .8em .4em 0; border-bottom: 1px solid #8884 }
  h2 { font-size: 1rem; font-weight: normal; margin: 1.2em 0 .3em }
  .diff { white-space: pre-wrap; overflow-wrap: anywhere } .diff b { font-weight: normal; display: block }
  .in { background: #d7f5dd } .out { background: #fbdcdc } .place { color: #777 }
  textarea { width: 100%; box-sizing: border-box } button { font: inherit; padding: .5em 1.4em; margin-right: 1em; border-radius: 6px; border: 1px solid #8888; cursor: pointer }
  .yes { background: #1a7f37; color: #fff } .no { background: #fff; color: #a40e26 }
  a { color: #0b57d0 }
  @media (prefers-color-scheme: dark) {
    body { color: #ddd; background: #161616 } code, pre { background: #262626 } .in { background: #12351c } .out { background: #4a1a1f }
    .no { background: #262626; color: #ff8f9c } a { color: #8ab4f8 } input, textarea { background: #222; color: #ddd; border: 1px solid #555 }
  }`

/** A page that runs no script, loads nothing, and cannot be framed. */
export function sendPage(response: ServerResponse, status: number, title: string, body: Markup, again?: number): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    'X-Frame-Options': 'DENY',
    // Not `no-referrer`: with that, browsers send our own forms with `Origin: null`, which the listener refuses.
    'Referrer-Policy': 'same-origin',
    ...(again !== undefined && { Refresh: String(again) }),
  })
  response.end(
    `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n` +
      `${html`<title>${title} · Handrail</title>`.text}<style>${style}</style>\n${body.text}\n</html>\n`,
  )
}

export function goTo(response: ServerResponse, path: string, cookie?: string): void {
  response.writeHead(303, { Location: path, ...(cookie !== undefined && { 'Set-Cookie': cookie }) })
  response.end()
}
