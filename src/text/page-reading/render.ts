import type { PageBlock, PageElement } from './blocks.ts'
import { visibleWords } from './visible.ts'

/** What rendering needs to know, and what it learns on the way. */
export interface Rendering {
  /** Where the page is: what is on the same site is written from its root. */
  base: string
  /** Whether links carry their ids; what else can be acted on always does. */
  linkIds: boolean
  elements: ReadonlyMap<number, PageElement>
  /** What stands in the text, as it is come to. */
  seen: (element: PageElement) => void
  /** Characters nobody sees, left out. */
  unseen: (count: number) => void
}

/** One block as Markdown, the same whatever stands around it. */
export function blockMarkdown(block: PageBlock, rendering: Rendering): string {
  if (block.kind === 'pre') return quoted(block, fenced(block, rendering))
  const shown = visibleWords(withoutOurs(block.text))
  rendering.unseen(shown.unseen)
  const text = inline(shown.text, rendering)
  if (block.kind === 'tr') return quoted(block, row(text, block.level === 1))
  const oneLine = text
    .replace(/[ \t\u00a0]*\n[ \t\u00a0]*/g, '\n')
    .replace(/[ \t\u00a0]+/g, ' ')
    .replace(/\n{2,}/g, '\n')
    .trim()
  if (oneLine === '') return ''
  const body =
    block.kind === 'h'
      ? `${'#'.repeat(Math.min(6, Math.max(1, block.level)))} ${oneLine.replaceAll('\n', ' ')}`
      : oneLine.split('\n').map(unlikeMarkup).join('\n')
  const lead = block.kind === 'dd' ? ': ' : block.lead === '' ? '' : `${block.lead} `
  const indent = '  '.repeat(block.indent)
  return quoted(block, `${indent}${lead}${body.replaceAll('\n', `\n${indent}${' '.repeat(lead.length)}`)}`)
}

/** What goes between two blocks: a line where they belong together or are short, else an empty one. */
export function between(before: PageBlock | undefined, after: PageBlock): string {
  if (!before) return ''
  const isClose =
    (before.kind === 'li' && after.kind === 'li') ||
    (before.kind === 'tr' && after.kind === 'tr' && after.level === 0) ||
    after.kind === 'dd' ||
    (before.kind === 'p' && after.kind === 'p' && before.indent === after.indent && isShort(before) && isShort(after))
  return isClose && before.quote === after.quote ? '\n' : '\n\n'
}

const isShort = ({ text }: PageBlock): boolean => text.length <= 80

/** Marks become Markdown; nothing in the words of the page does. */
function inline(text: string, rendering: Rendering): string {
  const open: { kind: string; index: number; before: string }[] = []
  let out = ''
  const pieces = text.split(/(\u0001[A-Z]\d*\u0002|\u0003)/)
  for (const [at, piece] of pieces.entries()) {
    const head = /^\u0001([A-Z])(\d*)\u0002$/.exec(piece)
    if (head) {
      // Code with a link in it is a link: Markdown has no links in code.
      const isCode = head[1] === 'C' && pieces[at + 2] === '\u0003'
      open.push({ kind: head[1] === 'C' && !isCode ? '' : (head[1] ?? ''), index: Number(head[2]), before: out })
      out = ''
    } else if (piece === '\u0003') {
      const mark = open.pop()
      if (mark) out = mark.before + closed(mark.kind, mark.index, out, rendering)
    } else out += open.some(({ kind }) => kind === 'C') ? piece : words(piece)
  }
  while (open.length > 0) out = (open.pop()?.before ?? '') + out
  return out
}

function closed(kind: string, index: number, said: string, rendering: Rendering): string {
  const [, lead = '', text = '', tail = ''] = /^(\s*)([\s\S]*?)(\s*)$/.exec(said) ?? []
  if (kind === '') return said
  if (kind === 'C') return text === '' ? said : lead + codeSpan(text) + tail
  if (kind === 'D') return text === '' ? said : `${lead}~~${text}~~${tail}`
  if (kind === 'F') return text === '' ? said : `${lead}⟦as its background: ${text}⟧${tail}`
  if (kind === 'I') return `![${text}]`
  const element = rendering.elements.get(index)
  if (!element) return said
  rendering.seen(element)
  if (kind === 'L') {
    const id = rendering.linkIds && element.id !== '' ? `⟦${element.id}⟧` : ''
    return `${lead}[${text}](${shortAddress(element.url ?? '', rendering.base)})${id}${tail}`
  }
  return kind === 'B' ? `${lead}${button(element, text)}${tail}` : field(element)
}

function button({ id, role, checked, expanded, disabled }: PageElement, text: string): string {
  const facts = [
    ...(role === 'button' || role === 'clickable' ? [] : [role]),
    ...(checked === undefined ? [] : [checked ? 'on' : 'off']),
    ...(expanded === undefined ? [] : [expanded ? 'open' : 'closed']),
    ...(disabled ? ['disabled'] : []),
  ]
  return `⟦${[id, ...facts.map((fact) => `${fact},`), text.replace(/\s+/g, ' ')].filter(Boolean).join(' ').replace(/,$/, '')}⟧`
}

/** How many of what a list offers are written into the text; all of them are in `elements`. */
const offered = 12

function field({
  id,
  role,
  name,
  type,
  value,
  checked,
  options,
  moreOptions = 0,
  disabled,
  required,
  labelled,
}: PageElement): string {
  if (role === 'button')
    return `⟦${[id, withoutOurs(visibleWords(name).text), disabled && '(disabled)'].filter(Boolean).join(' ')}⟧`
  const plain = (text: string): string => words(withoutOurs(visibleWords(text).text))
  const kind = type === undefined || type === 'text' || type === role || type === 'search' ? role : type
  const rest = (options?.length ?? 0) + moreOptions - offered
  const facts = [
    id,
    role === 'textbox' && kind === 'textbox' ? 'text' : kind,
    ...(labelled || name === '' ? [] : [`"${plain(name)}"`]),
    ...(checked === undefined ? [] : [checked ? '[x]' : '[ ]']),
    ...(required ? ['required'] : []),
    ...(disabled ? ['disabled'] : []),
    ...(value === undefined || checked !== undefined ? [] : [`= ${plain(value)}`]),
    ...(options ? [`of ${options.slice(0, offered).map(plain).join(' | ')}${rest > 0 ? ` | ${rest} more` : ''}`] : []),
  ]
  return `⟦${facts.filter(Boolean).join(' ')}⟧`
}

/** The brackets are ours, in code as well: nothing a page says can pass for something to act on. */
function withoutOurs(text: string): string {
  return text.replaceAll('⟦', '[').replaceAll('⟧', ']')
}

/** Nor for a link or for code. */
function words(text: string): string {
  return text.replace(/\](?=[([])/g, '\\]').replaceAll('`', '\\`')
}

/** A line that would be read as a heading, an item, a quotation or a fence is kept from it. */
function unlikeMarkup(line: string): string {
  return line.replace(/^(?=#{1,6} |> |[-*+] |```|~~~|\||: )/, '\\').replace(/^(\d{1,9})(?=[.)] )/, '$1\\')
}

function codeSpan(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return longest > 0 ? `${fence} ${line} ${fence}` : fence + line + fence
}

function fenced({ text, lead }: PageBlock, rendering: Rendering): string {
  const shown = visibleWords(withoutOurs(text.replace(/\u0001[A-Z]\d*\u0002|[\u0003-\u0005]/g, '')))
  rendering.unseen(shown.unseen)
  for (const [, index] of text.matchAll(/\u0001[LBE](\d+)\u0002/g)) {
    const element = rendering.elements.get(Number(index))
    if (element) rendering.seen(element)
  }
  const body = shown.text.replaceAll('\u00a0', ' ').replace(/^\n+|\s+$/g, '')
  if (body === '') return ''
  const longest = Math.max(2, ...[...body.matchAll(/`{3,}/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${lead}\n${body}\n${fence}`
}

function row(text: string, isFirst: boolean): string {
  const cells = text.split('\u0004').map((cell) =>
    cell
      .replace(/[ \t\n\u00a0]+/g, ' ')
      .replace(/^[ \u0005]+|[ \u0005]+$/g, '')
      .replace(/(?: ?\u0005 ?)+/g, ' / ')
      .replaceAll('|', '\\|'),
  )
  const line = `|${cells.join('|')}|`
  return isFirst ? `${line}\n|${cells.map(() => '-').join('|')}|` : line
}

function quoted({ quote }: PageBlock, text: string): string {
  if (quote === 0 || text === '') return text
  const lead = '> '.repeat(quote)
  return lead + text.replaceAll('\n', `\n${lead}`)
}

/** An address as short as it can be said to somebody who knows where the page is. */
export function shortAddress(address: string, base: string): string {
  const safe = address.replace(/[()\s<>"]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
  const page = base.split('#', 1)[0] ?? ''
  if (safe.startsWith(`${page}#`)) return safe.slice(page.length)
  const site = /^https?:\/\/[^/?#]*/.exec(base)?.[0]
  const short = site !== undefined && safe.startsWith(`${site}/`) ? safe.slice(site.length) : safe
  return short.length > longestAddress ? `${short.slice(0, longestAddress)}…` : short
}

/** Longer ones are whole in `links`. */
const longestAddress = 300
