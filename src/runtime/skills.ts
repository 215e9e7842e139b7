import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { Fault } from '../contracts/faults/fault.ts'
import type { ProjectText, Skill, SkillInfo, SkillLibrary, SkillListing, SkillOrigin, SkippedSkill } from '../contracts/skill.ts'
import {
  longestSkill,
  readSkillFile,
  readWholeSkill,
  scanSkills,
  textOf,
  type FoundSkill,
  type SkillBase,
  type SkillCache,
  type WholeSkill,
} from '../host/skill-files.ts'
import type { Root } from '../host/walk.ts'
import type { TrustStore } from '../stores/trust.ts'
import { nearest } from '../text/nearest.ts'
import { readSkill } from '../text/read-skill.ts'
import { secretIn } from '../text/secret-content.ts'
import { secretOn } from '../text/secret-files.ts'
import { asksOf } from '../text/skill-asks.ts'

/** Where projects keep skills, the first before the next. */
const inProject = ['skills', 'skills_workspace', '.agents/skills', '.claude/skills'] as const

interface Base extends SkillBase {
  origin: SkillOrigin
}

interface Place {
  base: Base
  found: FoundSkill
  path: string
  info?: SkillInfo | undefined
}

export interface OwnSkills extends SkillLibrary {
  /** What the project brings, trusted or not. */
  projectTexts(): Promise<ProjectText[]>
}

export function openSkills(
  project: Root,
  environment: Record<string, string | undefined>,
  shipped: string,
  trust: () => Pick<TrustStore, 'texts'>,
): OwnSkills {
  const bases = basesFor(project, environment, shipped)
  const cache: SkillCache = new Map()
  let looking: Promise<Found> | undefined

  /** Whoever asks while somebody looks gets what that one finds. */
  const now = (): Promise<Found> => {
    looking ??= scanAll(bases, cache).finally(() => (looking = undefined))
    return looking
  }
  /** The place as it may be offered: of the project's, made of the very bytes that a person trusted. Nothing where nobody did. */
  const trustedPlace = async (place: Place, trusted: ReadonlyMap<string, string>): Promise<Place | undefined> => {
    const { base, found, path } = place
    if (base.origin !== 'project') return place
    const digest = trusted.get(path)
    if (digest === undefined) return undefined
    try {
      const whole = await readWholeSkill(base, found.names)
      return whole.digest === digest ? { ...place, info: infoOf(base, asIn(whole, found), path) } : undefined
    } catch {
      return undefined
    }
  }
  const chosen = async (): Promise<{ listing: SkillListing; places: Map<string, Place> }> => {
    const { places, left } = await now()
    const trusted = trust().texts()
    const taken = new Map<string, Place>()
    const skipped: SkippedSkill[] = []
    for (const place of places) {
      const { base, found, path, info } = place
      const { id } = found
      const offered = info && (await trustedPlace(place, trusted))
      const skip = (why: SkippedSkill['why'], says: string): void =>
        void skipped.push({ id, path, origin: base.origin, why, says, ...(info && { info }) })
      const before = taken.get(id)
      if (!info) skip('unreadable', found.read.diagnostics.find(({ level }) => level === 'skipped')?.says ?? 'it cannot be read')
      else if (!offered?.info)
        skip(
          'untrusted',
          trusted.has(path)
            ? 'it changed since it was trusted: look at it again with `handrail trust`'
            : 'nobody trusted it yet: `handrail trust` shows what it would do',
        )
      else if (before) skip('shadowed', `${before.path} of the same name comes before it`)
      else taken.set(id, offered)
    }
    const shadows = new Map<string, string[]>()
    for (const { id, path, why } of skipped) if (why === 'shadowed') shadows.set(id, [...(shadows.get(id) ?? []), path])
    const skills = [...taken.values()].map(({ found, info }) => withShadows(info as SkillInfo, shadows.get(found.id)))
    return { listing: { skills, skipped, left }, places: taken }
  }
  const find = async (id: string): Promise<Place> => {
    const { listing, places } = await chosen()
    const place = places.get(id)
    if (place) return place
    const hidden = listing.skipped.find((one) => one.id === id)
    const like = nearest(id, places.keys(), 3)
    throw new Fault(
      'not-found',
      hidden ? `The skill ${id} is not offered: ${hidden.says}` : `There is no such skill: ${id.slice(0, 100)}`,
      {
        details: { skill: id.slice(0, 200) },
        hint: like === undefined ? '`handrail skills list` shows those there are.' : `Do you mean ${like}?`,
      },
    )
  }
  /** What a project brings is taken from the very bytes that were compared with what a person trusted. */
  const textIn = async ({ base, found, path }: Place, file: string): Promise<Buffer | undefined> => {
    const secret = secretOn(file.split('/'))
    if (secret !== undefined)
      throw new Fault('path-denied', `${file.slice(0, 200)} of the skill ${found.id} is not read: ${secret}`)
    const bytes = await bytesIn({ base, found, path }, file)
    const says = bytes && secretIn(bytes)
    if (says !== undefined)
      throw new Fault('path-denied', `${file.slice(0, 200)} of the skill ${found.id} is not read: it is ${says}`)
    return bytes
  }
  const bytesIn = async (
    { base, found, path }: Pick<Place, 'base' | 'found' | 'path'>,
    file: string,
  ): Promise<Buffer | undefined> => {
    if (base.origin !== 'project') return readSkillFile(base, found.names, file)
    const whole = await readWholeSkill(base, found.names)
    if (whole.digest !== trust().texts().get(path))
      throw new Fault('conflict', `The skill ${found.id} changed since it was trusted`, {
        hint: 'Look at it again: `handrail trust`.',
      })
    const bytes = whole.files.get(file)
    if (bytes && bytes.length > longestSkill) throw new Fault('too-large', `${file} has more than ${longestSkill} bytes`)
    return bytes
  }
  return {
    list: async () => (await chosen()).listing,
    async load(id): Promise<Skill> {
      const place = await find(id)
      const bytes = await textIn(place, place.found.file)
      const read = readSkill(id, place.found.file, textOf(bytes ?? new Uint8Array()))
      return { info: place.info as SkillInfo, body: read.body, bodyLine: read.bodyLine }
    },
    async file(id, path) {
      const bytes = await textIn(await find(id), path)
      if (!bytes)
        throw new Fault('not-found', `The skill ${id} has no file ${path.slice(0, 200)}`, { hint: 'Its text names its files.' })
      try {
        return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
      } catch (cause) {
        throw new Fault('encoding', `${path.slice(0, 200)} of the skill ${id} is no text`, { cause })
      }
    },
    async projectTexts() {
      const { places } = await now()
      const trusted = trust().texts()
      const texts: ProjectText[] = []
      let room = mostShown
      for (const { base, found, path } of places.filter((place) => place.base.origin === 'project')) {
        const wrong = found.read.diagnostics.filter(({ level }) => level === 'skipped').map(({ says }) => says)
        try {
          const { files, digest } = await readWholeSkill(base, found.names)
          const bytes = files.get(found.file) ?? Buffer.alloc(0)
          if (bytes.length > longestSkill) throw new Fault('too-large', `${found.file} has more than ${longestSkill} bytes`)
          if ((room -= bytes.length) < 0)
            throw new Fault('too-large', 'the skills of this project are more than can be looked at at once')
          const text = new TextDecoder('utf-8').decode(bytes)
          const { said, body, bodyLine } = readSkill(found.id, found.file, text)
          const asks = asksOf({ allowedTools: said?.allowedTools ?? [], scripts: found.scripts }, body, bodyLine)
          texts.push({
            kind: 'skill',
            id: found.id,
            file: path,
            digest,
            text,
            trusted: trusted.get(path) === digest,
            wrong,
            does: [
              `It is offered to models as ${found.id}, with ${files.size === 1 ? 'one file' : `${files.size} files`}.`,
              ...asks.map((ask) => `line ${ask.line}: ${ask.for}: ${ask.says}`),
              'It is text: whatever it asks for is a call like any other, checked, asked about where that is due, and in the log.',
            ],
          })
        } catch (thrown) {
          texts.push({ kind: 'skill', id: found.id, file: path, trusted: false, wrong: [(thrown as Error).message], does: [] })
        }
      }
      return texts
    },
  }
}

interface Found {
  places: readonly Place[]
  left: readonly string[]
}

/** So much text of skills a person is shown at once. */
const mostShown = 16 * longestSkill

/** What a skill says of itself, by all of its bytes. */
function asIn({ files }: WholeSkill, found: FoundSkill): FoundSkill {
  const read = readSkill(found.id, found.file, textOf(files.get(found.file) ?? new Uint8Array()))
  const scripts = found.scripts.filter(({ relative_path: path }) => files.has(path))
  return { ...found, read, scripts }
}

function infoOf({ origin }: Base, { id, read: { said, diagnostics }, scripts }: FoundSkill, path: string): SkillInfo | undefined {
  return said && { id, ...said, origin, path, scripts, diagnostics }
}

async function scanAll(bases: readonly Base[], cache: SkillCache): Promise<Found> {
  const places: Place[] = []
  const left: string[] = []
  for (const base of bases) {
    const scan = await scanSkills(base, cache)
    left.push(...scan.left.slice(0, 100))
    for (const found of scan.found) {
      const path = `${base.label}/${found.names.join('/')}`
      const info = infoOf(base, found, path)
      places.push({ base, found, path, ...(info && { info }) })
    }
  }
  // What is gone is not remembered.
  const there = new Set(places.map(({ found, path }) => `${path}/${found.file}`))
  for (const path of cache.keys()) if (!there.has(path)) cache.delete(path)
  return { places, left }
}

function withShadows(info: SkillInfo, hidden: readonly string[] | undefined): SkillInfo {
  if (!hidden) return info
  return { ...info, diagnostics: [...info.diagnostics, { level: 'warning', says: `it takes the place of ${hidden.join(', ')}` }] }
}

/** The project's before the person's, and ours last: whoever is nearer to the work knows more of it. */
function basesFor(root: Root, environment: Record<string, string | undefined>, shipped: string): Base[] {
  const { XDG_CONFIG_HOME: config = '', HOME: given = '' } = environment
  const home = isAbsolute(given) ? given : homedir()
  const ours = join(isAbsolute(config) ? config : join(home, '.config'), 'handrail', 'skills')
  const ofPerson = [
    [ours, config === '' ? '~/.config/handrail/skills' : ours],
    [join(home, '.agents', 'skills'), '~/.agents/skills'],
    [join(home, '.claude', 'skills'), '~/.claude/skills'],
  ] as const
  return [
    ...inProject.map((label): Base => ({ label, origin: 'project', at: { root, names: label.split('/') } })),
    // Where the home folder is the project, what lies in it is the project's.
    ...ofPerson
      .filter(([path]) => !path.startsWith(`${root.path}/`))
      .map(([path, label]): Base => ({ label, origin: 'person', at: { path } })),
    { label: 'handrail', origin: 'handrail', at: { path: shipped } },
  ]
}
