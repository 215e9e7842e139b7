/** One line of git's settings that counts. */
export interface GitSetting {
  section: string
  subsection: string | undefined
  /** As it is written; git does not tell large letters from small. */
  key: string
  /** Nothing where only the name stands there, which means true. */
  value: string | undefined
}

export interface Settings {
  settings: GitSetting[]
  /** Headings by themselves, those with nothing below them too. */
  headings: Pick<GitSetting, 'section' | 'subsection'>[]
  /** Whether there is more in the text than these say: comments, or what git cannot read. */
  more: boolean
}

/**
 * Reads settings as git does (its config.c): comments do not go on in the next line, values do; headings hold anything in quotes.
 * Where git would give up, nothing further is read.
 */
export function readGitConfig(text: string): Settings {
  const found: Settings = { settings: [], headings: [], more: false }
  const source = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const all = pattern.exec(source)?.[0]
    if (all !== undefined) at += all.length
    return all
  }
  let heading: Settings['headings'][number] | undefined
  while (at < source.length) {
    if (take(/[ \t\r\n]+/y) !== undefined) continue
    if (take(/[#;][^\n]*/y) !== undefined) {
      found.more = true
      continue
    }
    const opening = take(/\[[A-Za-z\d.-]+(?:[ \t\r]+"(?:[^"\\\n]|\\[^\n])*")?\]/y)
    if (opening !== undefined) {
      heading = headingOf(opening)
      found.headings.push(heading)
      continue
    }
    const key = heading && take(/[A-Za-z][A-Za-z\d-]*/y)
    if (!heading || key === undefined) return { ...found, more: true }
    take(/[ \t]+/y)
    if (at >= source.length || source[at] === '\n') {
      found.settings.push({ ...heading, key, value: undefined })
      continue
    }
    const read = take(/=/y) === undefined ? undefined : valueAt(source, at)
    if (!read) return { ...found, more: true }
    at = read.end
    found.more ||= read.remark
    found.settings.push({ ...heading, key, value: read.value })
  }
  return found
}

function headingOf(opening: string): Pick<GitSetting, 'section' | 'subsection'> {
  const quote = opening.indexOf('"')
  const name = opening
    .slice(1, quote < 0 ? -1 : quote)
    .trim()
    .toLowerCase()
  const dot = name.indexOf('.')
  const section = dot < 0 ? name : name.slice(0, dot)
  if (quote >= 0) return { section, subsection: opening.slice(quote + 1, -2).replace(/\\(.)/gs, '$1') }
  return { section, subsection: dot < 0 ? undefined : name.slice(dot + 1) }
}

const escapes: Record<string, string> = { t: '\t', b: '\b', n: '\n', '\\': '\\', '"': '"', '\n': '' }

/** A value up to the end of its line or lines; nothing where git would give up. */
function valueAt(source: string, from: number): { value: string; end: number; remark: boolean } | undefined {
  let value = ''
  let quoted = false
  /** Room that counts only if something follows. */
  let room = ''
  for (let at = from; at < source.length; at++) {
    const char = source[at] as string
    if (char === '\n') return quoted ? undefined : { value, end: at, remark: false }
    if (!quoted && /[ \t\r]/.test(char)) {
      if (value !== '') room += char
      continue
    }
    if (!quoted && (char === '#' || char === ';')) {
      const end = source.indexOf('\n', at)
      return { value, end: end < 0 ? source.length : end, remark: true }
    }
    value += room
    room = ''
    if (char === '"') quoted = !quoted
    else if (char !== '\\') value += char
    else {
      const escaped = escapes[source[++at] ?? '\n']
      if (escaped === undefined) return undefined
      value += escaped
    }
  }
  return quoted ? undefined : { value, end: source.length, remark: false }
}

/** Settings as a text that git reads as exactly these. */
export function writeGitConfig(settings: readonly GitSetting[]): string {
  let last = ''
  return settings
    .map(({ section, subsection, key, value }) => {
      const name = subsection === undefined ? section : `${section} "${subsection.replace(/["\\]/g, '\\$&')}"`
      const heading = name === last ? '' : `[${name}]\n`
      last = name
      return `${heading}\t${key}${value === undefined ? '' : ` = ${written(value)}`}\n`
    })
    .join('')
}

function written(value: string): string {
  const plain = value.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\b', '\\b')
  return /^\s|\s$|[#;\r]/.test(value) ? `"${plain}"` : plain
}
