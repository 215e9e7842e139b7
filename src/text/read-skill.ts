import type { SkillDiagnostic, SkillInfo } from '../contracts/skill.ts'
import { readFrontMatter } from './front-matter.ts'
import { hidesText } from './hidden-text.ts'
import { outsideFences } from './markdown-lines.ts'

type Said = Pick<
  SkillInfo,
  | 'name'
  | 'description'
  | 'tags'
  | 'version'
  | 'license'
  | 'compatibility'
  | 'allowedTools'
  | 'metadata'
  | 'disableModelInvocation'
>

/** What a SKILL.md says of itself, with everything that is not as the standard has it; `said` is absent where it says nothing. */
export interface ReadSkill {
  said?: Said
  body: string
  /** The line of the file on which the body begins. */
  bodyLine: number
  diagnostics: SkillDiagnostic[]
}

const standard = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const bounds = { name: 64, description: 1_024, compatibility: 500 }
/** What is kept of a description, however long it is. */
const longestDescription = 4_096
const ofStandard = new Set(['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'])
/** What other clients of the standard, and seed 004, have besides. */
const usual = new Set([
  'tags',
  'version',
  'author',
  'disable-model-invocation',
  'user-invocable',
  'argument-hint',
  'context',
  'agent',
  'model',
  'hooks',
  'requires',
  'homepage',
  'origin',
])

/** A skill from the text of its SKILL.md, or from its beginning. Lenient: only what says nothing at all is none. Never throws. */
export function readSkill(folder: string, file: string, text: string): ReadSkill {
  const { fields, body, bodyLine, notes } = readFrontMatter(text)
  const diagnostics: SkillDiagnostic[] = notes.map((says) => ({ level: 'warning', says }))
  const warn = (says: string): void => void diagnostics.push({ level: 'warning', says })
  if (file !== 'SKILL.md') warn(`its file is called ${file}, not SKILL.md`)
  const given = new Map(Object.entries(fields ?? {}))
  const words = (name: string): string => {
    const value = given.get(name)
    return typeof value === 'string' ? value.trim() : ''
  }
  const description = oneLine(words('description')) || firstParagraph(body)
  if (description === '') {
    diagnostics.push({ level: 'skipped', says: 'it says nothing: neither a description nor a text' })
    return { body, bodyLine, diagnostics }
  }
  if (words('description') === '') warn('it has no description: its first paragraph stands for it')
  const name = oneLine(words('name')) || folder
  if (words('name') === '') warn('it has no name: its folder stands for it')
  else if (!standard.test(name))
    warn(`its name is not made of lowercase letters, digits and single hyphens: ${name.slice(0, 80)}`)
  else if (name !== folder) warn(`its name ${name} is not that of its folder, ${folder.slice(0, 80)}`)
  if (name.length > bounds.name) warn(`its name is longer than ${bounds.name} characters`)
  if (description.length > bounds.description) warn(`its description is longer than ${bounds.description} characters`)
  if (words('compatibility').length > bounds.compatibility)
    warn(`compatibility is longer than ${bounds.compatibility} characters`)
  if (given.has('compatibility') && typeof given.get('compatibility') !== 'string') warn('compatibility is no text')
  const metadata = metadataIn(given.get('metadata'), warn)
  const allowed = given.get('allowed-tools') ?? given.get('allowed_tools')
  if (Array.isArray(allowed)) diagnostics.push({ level: 'note', says: 'allowed-tools is a list; the standard has one text' })
  const further = [...given.keys()].filter((key) => !ofStandard.has(key))
  if (further.length > 0)
    diagnostics.push({
      level: 'note',
      says: `fields beyond the standard: ${further.slice(0, 10).join(', ').slice(0, 200)}${further.some((key) => !usual.has(key)) ? ' (some are not known to any client)' : ''}`,
    })
  if (hidesText(name) || hidesText(description)) warn('its name or description holds characters that nobody sees')
  const version = words('version') || (typeof metadata['version'] === 'string' ? metadata['version'] : '')
  return {
    said: {
      name: name.slice(0, 200),
      description: description.slice(0, longestDescription),
      tags: listIn(given.get('tags') ?? metadata['tags'], /[,\s]+/, warn),
      ...(version !== '' && { version: version.slice(0, 100) }),
      ...(words('license') !== '' && { license: words('license').slice(0, 500) }),
      ...(words('compatibility') !== '' && { compatibility: words('compatibility').slice(0, bounds.compatibility) }),
      allowedTools: toolsIn(allowed),
      metadata,
      disableModelInvocation: /^(?:true|yes|on)$/i.test(words('disable-model-invocation')),
    },
    body,
    bodyLine,
    diagnostics,
  }
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

function metadataIn(given: unknown, warn: (says: string) => void): Record<string, unknown> {
  if (given === undefined || given === '') return {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    warn('metadata is no map')
    return {}
  }
  if (Object.values(given).some((value) => typeof value !== 'string')) warn('metadata holds more than texts')
  return given as Record<string, unknown>
}

function listIn(given: unknown, between: RegExp, warn: (says: string) => void): string[] {
  if (given === undefined || given === '') return []
  if (typeof given === 'string') {
    warn('tags is a text, not a list')
    return given.split(between).filter(Boolean).slice(0, 50)
  }
  if (Array.isArray(given)) return given.filter((one): one is string => typeof one === 'string').slice(0, 50)
  warn('tags is neither a list nor a text')
  return []
}

/** `Bash(git:*) Read`, with commas or without, or a list. What is in brackets belongs to the name before it. */
function toolsIn(given: unknown): string[] {
  const whole = Array.isArray(given)
    ? given.filter((one) => typeof one === 'string').join(' ')
    : typeof given === 'string'
      ? given
      : ''
  return (whole.slice(0, 10_000).match(/[^\s,()]+(?:\([^)]*\))?/g) ?? []).slice(0, 100)
}

/** The first lines of a text that are neither a heading nor a list, a table, a quotation or code. */
function firstParagraph(body: string): string {
  let paragraph = ''
  for (const { line, fenced } of outsideFences(body.slice(0, 16_384))) {
    const text = line.trim()
    if (text === '' && paragraph !== '') break
    if (fenced || text === '' || (paragraph === '' && /^(?:#|[-*+]\s|\d+[.)]|\||>|<|!\[|---|===)/.test(text))) continue
    paragraph += `${paragraph === '' ? '' : ' '}${text}`
  }
  if (paragraph !== '') return oneLine(paragraph)
  return oneLine(/^#{1,6}[ \t]+(.+)$/m.exec(body.slice(0, 16_384))?.[1] ?? body.slice(0, 500))
}
