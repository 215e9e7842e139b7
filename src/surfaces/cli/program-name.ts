import { relative } from 'node:path'

/** How this program was called, so that what it suggests can be typed as it stands. */
export function programName(): string {
  const [, script = 'handrail'] = process.argv
  if (process.env['npm_command'] === 'exec') return 'npx handrail'
  if (!script.endsWith('.js')) return 'handrail'
  const near = relative(process.cwd(), script)
  return `node ${forShell(near.startsWith('..') ? script : near)}`
}

/** A word as a shell takes it for one. */
export function forShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
