import type { LowerBound } from './engine-bound.ts'
import type { EngineVersion } from './engine-version.ts'
import { commands, featureSince, type Span } from './grammar/commands.ts'
import { namesIn, newestReading, type CommandNames, type Reading } from './grammar/parse.ts'
import { isBefore } from './grammar/version.ts'

/** The language that a game is judged by: that of its engine, with what the project declares. */
export interface Language extends Reading {
  /** The same names, whatever their letters. */
  lowered: ReadonlyMap<string, string>
  /** The engine in use; undefined where nothing says it, and then the newest is taken. */
  version: string | undefined
  /** Where nothing says the version: the least one that plays the game, by what its files need. */
  atLeast: string | undefined
  /** An engine with commands or arguments of its own: what is unknown may be one of them. */
  isFork: boolean
  /** Arguments the project declares, as `command.argument`; `*.argument` for all commands. */
  declared: ReadonlySet<string>
}

export interface Declared {
  commands: readonly string[]
  arguments: readonly string[]
}

export function languageOf(declared: Declared, engine: EngineVersion | undefined, bound?: LowerBound): Language {
  const version = engine?.version
  const has = (span: Span): boolean => isIn(span, version)
  const known = version === undefined ? newestReading.names : namesIn(version)
  const names: CommandNames = declared.commands.length === 0 ? known : new Set([...known, ...declared.commands])
  return {
    names,
    lowered: new Map([...names].map((name) => [name.toLowerCase(), name])),
    continues: has({ since: featureSince.continuedLines }),
    opus: has({ since: featureSince.opus }),
    version,
    atLeast: version === undefined ? bound?.version : undefined,
    isFork: declared.commands.length > 0 || engine?.derivative !== undefined,
    declared: new Set(declared.arguments),
  }
}

/** Whether an engine has something; of an unknown one the newest is taken. */
export function isIn({ since, until }: Span, version: string | undefined): boolean {
  if (version === undefined) return until === undefined
  return (since === undefined || !isBefore(version, since)) && (until === undefined || !isBefore(until, version))
}

/** The row of what the engine has under this name, in whatever version. */
export function everKnown(name: string): (typeof commands)[string] | undefined {
  const row = Object.hasOwn(commands, name) ? commands[name] : undefined
  return row?.parserOnly ? undefined : row
}
