import { ToolError } from '../contracts/errors.ts'

/** Names no tool may reach, whatever the policy says: our own state and settings, also while they do not exist. */
const reserved = ['.handrail', 'handrail.config.json']
const temporary = '.handrail-'

export interface PathRules {
  /** Says why a single name is out of reach, or nothing. */
  refuse(name: string): string | undefined
}

/** Compiles the forbidden names once; each path then costs one look-up per component. */
export function pathRules(forbidden: readonly string[]): PathRules {
  const names = new Map<string, string>()
  for (const name of [...reserved, ...forbidden]) names.set(foldName(name.replace(/\/+$/, '')), name)
  const shortNames = new Set([...names.keys()].map((name) => name.replace(/[^a-z0-9]/g, '').slice(0, 6)))
  return {
    refuse(name) {
      const folded = foldName(name)
      const hit = names.get(folded)
      if (hit !== undefined) return `"${hit}" is out of reach of tools`
      if (folded.startsWith(temporary)) return 'it is a temporary file of Handrail'
      const short = /^([a-z0-9]{1,6})~\d+$/.exec(folded)?.[1]
      if (short !== undefined && shortNames.has(short)) return 'it is a short name of a forbidden folder'
      return undefined
    },
  }
}

/** One spelling for all spellings a file system may take for the same name: letter case, Unicode form, invisible characters, trailing dots, streams. */
export function foldName(name: string): string {
  const plain = /^[\x21-\x7e]*$/.test(name)
    ? name
    : name
        .normalize('NFKC')
        .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
        .normalize('NFC')
  return plain
    .toLowerCase()
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '')
}

/** Splits a relative path into its names, or says why it may not be used. Nothing here looks at the disk. */
export function splitPath(path: string, rules: PathRules): string[] {
  const deny = (why: string): ToolError =>
    new ToolError('E_DENY_PATH', `Path not allowed: ${why}`, {
      details: { path: path.length > 300 ? `${path.slice(0, 300)}…` : path },
      hint: 'Use a path relative to the project root with forward slashes, e.g. "game/scene/start.txt".',
    })
  if (path.length > 4_096) throw deny('it is longer than 4096 characters')
  if (path.startsWith('/')) throw deny('it is absolute')
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(path)) throw deny('it holds a control character')
  if (path.includes('\\')) throw deny('it holds a backslash')
  if (/^[a-z]:/i.test(path)) throw deny('it names a drive')
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) throw deny('it is a URL')
  if (!path.isWellFormed()) throw deny('it is not well-formed Unicode')
  if (/[\u202a-\u202e\u2066-\u2069]/.test(path)) throw deny('it holds characters that change the reading direction')
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  names.forEach((name, index) => {
    if (index === 0 && name === '~') throw deny('"~" is not expanded')
    if (Buffer.byteLength(name) > 255) throw deny('one of its names is longer than 255 bytes')
    const spelled = decodeDots(name)
    if (/^\.+$/.test(spelled) || /[/\\]/.test(spelled)) throw deny('it climbs out with ".."')
    const why = rules.refuse(name)
    if (why) throw deny(why)
  })
  return names
}

/** What a name would be after the decodings that other programs apply: `%2e%2e` and full-width dots are dots. */
function decodeDots(name: string): string {
  return name
    .replace(/%2e/gi, '.')
    .replace(/%(2f|5c)/gi, '/')
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
}
