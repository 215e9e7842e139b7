import { notVariables, variablesIn } from '../checks/expressions.ts'
import { variablesSet } from '../checks/words.ts'
import { everywhere } from '../grammar/commands.ts'
import type { Statement } from '../grammar/parse.ts'

export interface At {
  scene: string
  line: number
}

/** A variable of the game, with the first places where it gets a value and where it is looked at. */
export interface Variable {
  name: string
  /** It is only ever switched: true or false, 0 or 1. */
  flag: boolean
  sets: number
  reads: number
  set: At[]
  read: At[]
}

const mostVariables = 5_000
const mostPlaces = 20
const longestName = 200

export interface Variables {
  /** A statement may set some. */
  tell(scene: string, statement: Statement): void
  reads(scene: string, name: string, line: number): void
  all(): Variable[]
  /** There were more names than are kept. */
  readonly more: boolean
}

const byPlace = (one: At, other: At): number =>
  one.scene === other.scene ? one.line - other.line : one.scene < other.scene ? -1 : 1

export function openVariables(): Variables {
  const known = new Map<string, Variable & { perhaps: boolean }>()
  let more = false
  const of = (name: string): (Variable & { perhaps: boolean }) | undefined => {
    const found = known.get(name)
    if (found) return found
    if (known.size >= mostVariables || name.length > longestName) {
      more = true
      return undefined
    }
    const made = { name, flag: true, sets: 0, reads: 0, set: [], read: [], perhaps: true }
    known.set(name, made)
    return made
  }
  const reads = (scene: string, name: string, line: number, isSure: boolean): void => {
    const variable = of(name)
    if (!variable) return
    if (isSure) variable.perhaps = false
    variable.reads++
    if (variable.read.length < mostPlaces) variable.read.push({ scene, line })
  }
  return {
    get more() {
      return more
    },
    reads: (scene, name, line) => reads(scene, name, line, true),
    tell(scene, statement) {
      const { command, content, line } = statement
      if (command !== 'setVar' && command !== 'getUserInput' && command !== 'callScene' && command !== 'return') return
      const equals = content.indexOf('=')
      const value = command === 'setVar' && equals >= 0 ? content.slice(equals + 1).trim() : undefined
      for (const name of variablesSet(statement)) {
        if (name === '' || (command === 'callScene' && Object.hasOwn(everywhere, name))) continue
        const variable = of(name)
        if (!variable) continue
        variable.perhaps = false
        variable.sets++
        if (value === undefined || !/^(?:true|false|0|1)$/.test(value)) variable.flag = false
        if (variable.set.length < mostPlaces) variable.set.push({ scene, line })
      }
      // A bare word may be a text as well: it counts where something sets a variable of that name.
      const expression = command === 'return' ? content : value
      if (expression !== undefined && !/^[-\d.]*$/.test(expression) && !notVariables.has(expression))
        for (const name of variablesIn(expression.slice(0, 1_000))) reads(scene, name, line, false)
    },
    all: () =>
      [...known.values()]
        .filter(({ perhaps }) => !perhaps)
        .map(({ name, flag, sets, reads: looks, set, read }) => ({
          name,
          flag: flag && sets > 0,
          sets,
          reads: looks,
          set,
          read: read.toSorted(byPlace),
        }))
        .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
  }
}
