/** Sections of a package.json whose entries are packages. */
const sections = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const

/** Scripts that a package manager runs by itself. */
const unasked = new Set(['preinstall', 'install', 'postinstall', 'prepare', 'prepublish', 'preprepare', 'postprepare'])

/**
 * A change of a package.json or a lock file as packages: which come, which go, which get another version, each with its sign. Nothing where the
 * file is none, or cannot be read as one.
 */
export function packageRows(path: string, before: string, after: string): string[] | undefined {
  const read = readers[path.slice(path.lastIndexOf('/') + 1).toLowerCase()]
  if (!read) return undefined
  const [was, is] = [read(before), read(after)]
  if (!was || !is) return undefined
  const names = [...new Set([...was.keys(), ...is.keys()])].sort()
  return names.flatMap((name) => {
    const [old, now] = [was.get(name), is.get(name)]
    if (old === now) return []
    return [...(old === undefined ? [] : [`- ${name} ${old}`]), ...(now === undefined ? [] : [`+ ${name} ${now}`])]
  })
}

type Packages = Map<string, string>

const readers: Record<string, (text: string) => Packages | undefined> = {
  'package.json': ofManifest,
  'package-lock.json': ofNpmLock,
  'npm-shrinkwrap.json': ofNpmLock,
  'yarn.lock': (text) => byPattern(text, /^"?((?:@[^/\n"@]+\/)?[^@\n"]+)@[^\n]*:\n {2}version:? "?([^\s"]+)/gm),
  'pnpm-lock.yaml': (text) => byPattern(text, /^ {2}'?\/?((?:@[^/\n]+\/)?[^@/\n:']+)@([^\s:'(]+)[^\n]*:$/gm),
  'cargo.lock': ofTomlLock,
  'poetry.lock': ofTomlLock,
  'uv.lock': ofTomlLock,
}

function ofTomlLock(text: string): Packages {
  return byPattern(text, /^\[\[package\]\]\nname = "([^"\n]*)"\nversion = "([^"\n]*)"/gm)
}

function ofManifest(text: string): Packages | undefined {
  const manifest = objectIn(text)
  if (!manifest) return undefined
  const found: Packages = new Map()
  for (const section of sections)
    for (const [name, version] of entriesOf(manifest[section]))
      found.set(section === 'dependencies' ? name : `${name} (${section})`, String(version))
  for (const [name, command] of entriesOf(manifest['scripts']))
    found.set(unasked.has(name) ? `script ${name}, which runs by itself:` : `script ${name}:`, String(command))
  return found
}

function ofNpmLock(text: string): Packages | undefined {
  const lock = objectIn(text)
  if (!lock) return undefined
  const found: Packages = new Map()
  for (const [place, one] of entriesOf(lock['packages'] ?? lock['dependencies'])) {
    if (place === '') continue
    const { version, hasInstallScript } = (one ?? {}) as { version?: unknown; hasInstallScript?: unknown }
    const name = place.replace(/^node_modules\//, '')
    found.set(name, `${String(version ?? '?')}${hasInstallScript === true ? ', runs a script when it is installed' : ''}`)
  }
  return found
}

/** Several versions of one package stand side by side in a lock file. */
function byPattern(text: string, pattern: RegExp): Packages {
  const found: Packages = new Map()
  for (const [, name = '', version = ''] of text.matchAll(pattern))
    found.set(name, found.has(name) ? `${found.get(name)}, ${version}` : version)
  return found
}

function objectIn(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
}
