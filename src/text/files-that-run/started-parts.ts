/** What of a file counts: what starts by itself, and what starts when somebody calls it by its name (`*`: all of it at once). */
export interface Parts {
  itself: string
  called: ReadonlyMap<string, string>
  /** A key of `callers`: who calls the parts. */
  by?: string
}

/** Scripts of a package that run without being asked for: what the others start is everyday code. The last are hooks of git, as older tools name them. */
const byThemselves =
  /^(?:pre|post)?(?:install|uninstall|prepare|publish|pack)$|^(?:prepublishOnly|dependencies|pnpm:devPreinstall)$|^(?:pre-?(?:commit|push|rebase|applypatch)|post-?(?:checkout|commit|merge|rewrite|applypatch)|(?:prepare-?)?commit-?msg)$/i
/** Sections in which managers of hooks say what runs. */
const ofHooks = /hooks?$|husky|staged|^(?:pre|post)-|^commit-msg$/i

/** Of a file that starts nothing, and only takes others in. */
export const takesIn: Parts = { itself: '', called: new Map() }

/** Reads off a file what it starts, by its name. */
export function startedParts(name: string, text: string): Parts {
  const none = new Map<string, string>()
  if (name === 'package.json') return ofPackage(text)
  if (name === 'composer.json') return ofComposer(text)
  if (name === 'pyproject.toml') return ofPyproject(text)
  if (name === 'handrail.config.json') return { itself: mountedIn(text), called: none }
  // A script of a package that makes it: the rest of the file names what it is made of.
  if (name === 'cargo.toml') return { itself: (text.match(/^[ \t]*build[ \t]*=.*$/gm) ?? []).join('\n'), called: none }
  if (name.endsWith('makefile')) return { itself: '', called: new Map([['*', recipes(text)]]), by: 'make' }
  if (name.endsWith('justfile')) return { itself: '', called: new Map([['*', recipes(text)]]), by: 'just' }
  if (name.startsWith('taskfile')) return { itself: '', called: new Map([['*', text]]), by: 'task' }
  if (name.startsWith('deno.')) return { itself: '', called: new Map([['*', text]]), by: 'deno' }
  return { itself: text, called: none }
}

function ofPackage(text: string): Parts {
  const { scripts = {}, config, imports, exports, main, bin, name, ...rest } = objectIn(text)
  const called = new Map(Object.entries(asObject(scripts)).map(([one, script]) => [one.toLowerCase(), String(script)]))
  const sections = [...Object.entries(rest), ...Object.entries(asObject(config))].filter(([one]) => ofHooks.test(one))
  const own = [
    ...Object.entries(asObject(scripts)).flatMap(([one, script]) => (byThemselves.test(one) ? [String(script)] : [])),
    ...sections.map(([, what]) => JSON.stringify(what)),
  ]
  // Those call each other, with a program of npm's kind or in a list of names.
  const said = new Set<string>()
  for (const part of own)
    for (const word of part.split(/[\s"',;&|[\]{}]+/)) {
      const script = said.has(word.toLowerCase()) ? undefined : called.get(word.toLowerCase())
      said.add(word.toLowerCase())
      if (script !== undefined) own.push(script)
    }
  const all = own.join('\n')
  // Names that only this package knows: `#hook`, and its own.
  const names = [
    ...(/#\w/.test(all) ? [imports] : []),
    ...(typeof name === 'string' && name !== '' && all.includes(name) ? [exports, main, bin] : []),
  ]
  return { itself: [all, ...names.map((one) => JSON.stringify(one) ?? '')].join('\n'), called, by: 'npm' }
}

/** The programs of the servers that it mounts. */
function mountedIn(text: string): string {
  const mounts = Object.values(asObject(objectIn(text)['mounts'])).map(asObject)
  return mounts.map(({ command, args, env }) => JSON.stringify({ command, args, env })).join('\n')
}

function ofComposer(text: string): Parts {
  const scripts = Object.entries(asObject(objectIn(text)['scripts'])).map(
    ([one, what]) => [one.toLowerCase(), JSON.stringify(what) ?? ''] as const,
  )
  const itself = scripts.flatMap(([one, what]) => (/^(?:pre|post)-/.test(one) ? [what] : [])).join('\n')
  return { itself, called: new Map(scripts), by: 'composer' }
}

function ofPyproject(text: string): Parts {
  const called = new Map<string, string>()
  let itself = ''
  let section = ''
  for (const line of text.split('\n')) {
    const heading = /^\s*\[+([^\]]+)\]/.exec(line)?.[1]
    if (heading !== undefined) section = heading.toLowerCase()
    else if (section === 'build-system') itself += `${line}\n`
    else if (/scripts|tasks|entry-points/.test(section)) {
      const [, name = '', value = ''] = /^\s*["']?([\w.:-]+)["']?\s*=(.*)$/.exec(line) ?? []
      if (name !== '') called.set(name.toLowerCase(), value)
    }
  }
  return { itself, called, by: 'python' }
}

/** The lines that are run, of those that say what is made of what. */
function recipes(text: string): string {
  return text
    .split('\n')
    .flatMap((line) => (/^\s/.test(line) ? [line] : line.includes(':') ? line.split(';').slice(1) : []))
    .concat(text.match(/\$\(shell [^\n]*|\bshell\([^\n]*/g) ?? [])
    .join('\n')
}

function objectIn(text: string): Record<string, unknown> {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return {}
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
