import { basename, dirname, join, resolve, sep } from 'node:path'

/** What a person named: a project, and of it perhaps one game and some of its scenes. */
export interface Place {
  project: string
  /** The folder of the game below the project. */
  game?: string
  /** Scenes, as the beginnings of their names below `scene`; empty: all. */
  only: string[]
}

/** A scene, a folder of scenes or `game` itself belongs to the project that holds `game`; anything else is a project. */
function placeOf(path: string): Place {
  const whole = resolve(path)
  const parts = whole.split(sep)
  const at = parts.lastIndexOf('scene')
  const game = at > 1 ? parts.slice(0, at).join(sep) : basename(whole) === 'game' ? whole : undefined
  if (game === undefined) return { project: whole, only: [] }
  const rest = at > 1 ? parts.slice(at + 1).join('/') : ''
  return { project: dirname(game), game: basename(game), only: rest === '' ? [] : [rest] }
}

/** The places of several paths, each game once. A game that is named whole is looked at whole. */
export function placesOf(paths: readonly string[]): Place[] {
  const places = new Map<string, Place>()
  for (const place of paths.map(placeOf)) {
    const key = `${place.project}\0${place.game ?? ''}`
    const known = places.get(key)
    if (!known) places.set(key, place)
    else if (known.only.length > 0) known.only = place.only.length === 0 ? [] : [...known.only, ...place.only]
  }
  return [...places.values()]
}

export function isMeant({ only }: Place, scene: string): boolean {
  return only.length === 0 || only.some((one) => scene === one || scene.startsWith(`${one}/`))
}

/** A path of a project as it is called from here. */
export function fromHere(project: string, path: string): string {
  const whole = join(project, path)
  const here = process.cwd() + sep
  return (whole.startsWith(here) ? whole.slice(here.length) : whole).replaceAll(sep, '/')
}
