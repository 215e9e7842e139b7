import type { ServerResponse } from 'node:http'
import { oneLine, printable } from '../../text/printable.ts'
import { style } from './style.ts'
import { wordsFor } from './language.ts'

/** Markup that was written here, as opposed to text that came from somewhere. */
class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
export type { Markup }

type Shown = string | number | Markup | Markup[]

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** A template in which every value is text, unless it is markup itself: what cannot be seen is shown, and nothing is obeyed. */
export function html(parts: TemplateStringsArray, ...values: Shown[]): Markup {
  let text = parts[0] as string
  for (let at = 0; at < values.length; at++) text += shown(values[at] as Shown) + (parts[at + 1] as string)
  return new Markup(text)
}

/** Lines of text one below the other, for a place where line ends count. */
export function lines(texts: readonly string[]): Markup {
  return new Markup(texts.map((text) => `${shown(text)}\n`).join(''))
}

function shown(value: Shown): string {
  if (value instanceof Markup) return value.text
  if (Array.isArray(value)) return value.map((one) => one.text).join('')
  const text = printable(String(value))
  // Most has nothing to escape, and looking is cheaper than making it anew.
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (character) => escapes[character] as string) : text
}

export interface PageOptions {
  /** Said above everything else. */
  notices?: readonly string[]
  headers?: Record<string, string>
  /** The one origin from which this page may show a picture; `self` for pictures of changes, which only we serve. */
  pictureFrom?: string
  /** What it is of, and how many questions wait there: said in the heading and in the title. */
  about?: { name: string; waiting: number }
  /** Where the page has one, the answer can be reached at once. */
  answers?: boolean
}

/** A page that runs no script, cannot be framed or held by another window, and is read by no other origin. */
export function sendPage(
  response: ServerResponse,
  status: number,
  title: string,
  body: Markup,
  again?: number,
  { notices = [], headers = {}, pictureFrom, about, answers }: PageOptions = {},
): void {
  const basePath = basePathOf(response)
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(pictureFrom === undefined ? [] : [`img-src ${pictureFrom === 'self' ? "'self'" : pictureFrom}`]),
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
  const words = wordsFor(response.req)
  const nav =
    basePath === ''
      ? html``
      : html`<a href="/approvals">${words.nav.approvals}${about?.waiting ? ` (${about.waiting})` : ''}</a
          ><a href="/language/${words.other.lang}" lang="${words.other.lang}">${words.other.name}</a
          ><a href="/sign-out">${words.nav.signOut}</a>`
  const shell = html`${answers ? html`<a class="skip" href="#answer">${words.nav.skip}</a>` : html``}
    <header><strong>Handrail</strong><span class="where">${about?.name ?? ''}</span>${nav}</header>
    <main>${notices.map((notice) => html`<p class="notice">${notice}</p>`)}${body}</main>`
  const count = about?.waiting ? `(${about.waiting}) ` : ''
  const of = about ? ` · ${oneLine(about.name, 40)}` : ''
  response.end(
    `<!doctype html>\n<html lang="${words.lang}">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n` +
      `${html`<title>${count}${title}${of} · Handrail</title>`.text}<style>${style}</style>\n${below(basePath, shell)}\n</html>\n`,
  )
}

/** Sends a browser on to another of our own pages. */
export function goTo(response: ServerResponse, path: string, cookie?: string): void {
  response.writeHead(303, { Location: basePathOf(response) + path, ...(cookie !== undefined && { 'Set-Cookie': cookie }) })
  response.end()
}

/** The base path below which this answer was asked for, or nothing. The listener has seen that it is the right one. */
function basePathOf({ req }: ServerResponse): string {
  return /^\/p\/[a-z2-7]+(?=\/)/.exec(req.url ?? '')?.[0] ?? ''
}

/** Our links name pages; where they are is put in here. In what came from others every quotation mark is escaped. */
function below(basePath: string, { text }: Markup): string {
  return basePath === '' ? text : text.replaceAll(/ (href|action|src)="\//g, ` $1="${basePath}/`)
}
