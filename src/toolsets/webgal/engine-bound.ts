import type { Game } from './game.ts'
import { commands, featureSince } from './grammar/commands.ts'
import type { Statement } from './grammar/parse.ts'
import { isBefore } from './grammar/version.ts'

/** An engine older than this could not play the game; what says so. */
export interface LowerBound {
  version: string
  from: string
}

/** Keys of `config.txt` that came with a version. */
const configSince: Readonly<Record<string, string>> = {
  Enable_Continue: '4.6.1',
  Enable_flowchart: '4.6.2',
  Cubism_Memory_Reserved_Size_MB: '4.6.6',
}

/** Most animations that are looked into: they are made with one editor, so a few tell. */
const mostAnimations = 40

/** Of two bounds the higher; the first where they are equal. */
export function higher(one: LowerBound | undefined, other: LowerBound | undefined): LowerBound | undefined {
  if (!one || !other) return one ?? other
  return isBefore(one.version, other.version) ? other : one
}

/** What the files beside the scenes need: keys of the settings, a flowchart, animations of the second form. */
export function boundOfFiles(game: Game): LowerBound | undefined {
  let bound: LowerBound | undefined
  for (const [, key = ''] of game.config().matchAll(/^\uFEFF?\s*(\w+)\s*:/gm)) {
    const version = Object.hasOwn(configSince, key) ? configSince[key] : undefined
    if (version !== undefined) bound = higher(bound, { version, from: `config.txt: ${key}` })
  }
  if (game.text('flowchart.json') !== undefined)
    bound = higher(bound, { version: featureSince.flowchart, from: 'flowchart.json' })
  for (const name of game.animations().slice(0, mostAnimations)) {
    const file = `animation/${name}.json`
    if (/^\s*\{/.test(game.text(file) ?? '')) return higher(bound, { version: featureSince.animationObjects, from: file })
  }
  return bound
}

const newer = new Set(Object.entries(commands).flatMap(([name, { since }]) => (since === undefined ? [] : [name])))
export const isNewer = (command: string): boolean => newer.has(command)

/** What a command needs that older engines take for dialogue. */
export function boundOf({ command, line }: Statement, scene: string): LowerBound | undefined {
  const version = commands[command]?.since
  return version === undefined ? undefined : { version, from: `${scene}:${line}: ${command}` }
}
