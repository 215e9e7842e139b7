import { redact } from '../../text/redact/redact.ts'
import { addressWithoutLogin } from './git-config-filter.ts'
import { lazy } from '../../text/lazy.ts'

/** What other version controls keep beside their history: settings with addresses, which are shown without logins, and what is not shown at all. */
const kept: Record<string, { shown?: RegExp; hidden?: RegExp }> = {
  '.hg': { shown: /^hgrc[^/]*$/, hidden: /^blackbox\.log/ },
  '.sl': { shown: /^(?:config|hgrc)[^/]*$/, hidden: /^blackbox[^/]*$/ },
  '.jj': { hidden: /(?:^|\/)(?:workspace-)?config\.toml$/ },
  '.svn': { hidden: /^auth$/ },
  '.bzr': { shown: /^(?:[^/]+\/)?(?:branch\.conf|control\.conf|location|parent|push-location|bound|references)$/ },
  '.pijul': { hidden: /^config/ },
  _darcs: { shown: /^prefs\/(?:defaultrepo|repos|sources)$/, hidden: /^prefs\/(?:defaults|prefs|environment|post|email)$/ },
}

/** What such a file is to a program: hidden, to be read first, or like any other. */
export function otherVcsSettings(names: readonly string[]): 'hidden' | 'read' | undefined {
  const at = names.findLastIndex((name) => Object.hasOwn(kept, name))
  if (at < 0) return undefined
  const { shown, hidden } = kept[names[at] as string] ?? {}
  const path = names.slice(at + 1).join('/')
  if (hidden?.test(path)) return 'hidden'
  return shown?.test(path) ? 'read' : undefined
}

const person = lazy(() => /^[\p{L}\p{M}\p{N} .,'’()_+&-]{1,100}(?:<[^\s@:/<>]{1,64}@[A-Za-z\d.-]{1,200}>)?$/u)

/** Such settings as programs may read them: who somebody is and where from, without logins, and nothing else. */
export function shownVcsSettings(text: string): string {
  const lines = text.split(/\r?\n/)
  const isList = !lines.some((line) => /^\[|=/.test(line.replace(/:\/\/\S*/, '')))
  let section = ''
  let heading: string[] = []
  const shown = lines.flatMap((line) => {
    const named = /^\[([^\]]*)\]\s*$/.exec(line)?.[1]
    if (named !== undefined) {
      section = named.toLowerCase()
      heading = [line.trim()]
      return []
    }
    const value = isList ? addressWithoutLogin(line.trim()) : valueIn(section, line)
    if (value === undefined || value === '' || redact(value) !== value) return []
    const above = heading
    heading = []
    return [...above, value]
  })
  return shown.map((line) => `${line}\n`).join('')
}

function valueIn(section: string, line: string): string | undefined {
  const [, key = '', given = ''] = /^([\w.:-]+)[ \t]*=(.*)$/.exec(line) ?? []
  const value = given.trim()
  const isAddress = section === 'paths' || (section === '' && key.endsWith('_location'))
  const seen = isAddress
    ? addressWithoutLogin(value)
    : section === 'ui' && key === 'username' && person().test(value)
      ? value
      : undefined
  return seen === undefined || key === '' ? undefined : `${key} = ${seen}`
}
