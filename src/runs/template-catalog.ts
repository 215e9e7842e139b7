import type { IgnoredTemplates } from '../contracts/project-templates.ts'
import type { TemplateView, TrustLevel } from '../contracts/run.ts'
import { limitsOf, type Template } from '../contracts/template.ts'
import { wrongWith } from './check-template.ts'
import { batchReplace } from './templates/batch-replace.ts'
import { batchValidate } from './templates/batch-validate.ts'
import { webgalPlayRoutes } from './templates/webgal-play-routes.ts'
import { webgalProjectReport } from './templates/webgal-project-report.ts'

/** Those that come with Handrail and need no toolset of their own. */
export const plainTemplates: readonly Template[] = [webgalProjectReport, webgalPlayRoutes, batchValidate, batchReplace]

export const trustOf = ({ trust }: Template): TrustLevel[] => [...(trust ?? ['local'])]

/** A file that may be a template. */
export interface TemplateFile {
  name: string
  text: string
  digest: string
  from: 'person' | 'project'
}

/** Where templates come from besides ours. */
export interface TemplateSource {
  /** The person's, then those of the project that they trusted; the same list as long as nothing changed. */
  files(): readonly TemplateFile[]
  /** What the project brings and nobody trusted. */
  ignored(): IgnoredTemplates | undefined
}

export interface CatalogEntry {
  template: Template
  from: TemplateView['from']
  /** Of the file it was read from. */
  digest?: string
}

/** The templates there are: ours, then those of the person, then those of the project. None takes the place of one before it. */
export interface TemplateCatalog {
  all(): Promise<readonly CatalogEntry[]>
  get(id: string): Promise<CatalogEntry | undefined>
  ignored: TemplateSource['ignored']
}

export function openTemplateCatalog({ files, ignored }: TemplateSource, builtIn: readonly Template[]): TemplateCatalog {
  const ours: readonly CatalogEntry[] = builtIn.map((template) => ({ template, from: 'handrail' }))
  let seen: readonly TemplateFile[] | undefined
  let all: Promise<readonly CatalogEntry[]> = Promise.resolve(ours)
  const read = async (found: readonly TemplateFile[]): Promise<readonly CatalogEntry[]> => {
    const entries = [...ours]
    for (const file of found) {
      const { template } = readTemplate(file, builtIn)
      // What cannot be used is left out here; `handrail templates check` says why.
      if (template && !entries.some((one) => one.template.id === template.id))
        entries.push({ template, from: file.from, digest: file.digest })
      // Schemas are compiled one template at a time.
      await new Promise((resolve) => setImmediate(resolve))
    }
    return entries
  }
  let looked = false
  /** The files are looked at once in a turn of the event loop, however many ask: nobody could tell what came in between. */
  const now = (): Promise<readonly CatalogEntry[]> => {
    if (looked) return all
    const found = files()
    looked = true
    setImmediate(() => (looked = false))
    if (found === seen) return all
    seen = found
    return (all = read(found))
  }
  return {
    all: now,
    get: async (id) => (await now()).find(({ template }) => template.id === id),
    ignored,
  }
}

/** A template is a page of lists in lists: what looks through it calls itself for each. */
const deepest = 60

/** A template from its file, or what is wrong with it. */
export function readTemplate(
  { text }: Pick<TemplateFile, 'text'>,
  builtIn: readonly Template[],
  offers?: (tool: string) => boolean,
): { template?: Template; wrong: string[] } {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch (cause) {
    return { wrong: [`it is no JSON: ${(cause as Error).message.slice(0, 200)}`] }
  }
  if (isDeeper(given, deepest)) return { wrong: [`it is nested deeper than ${deepest}`] }
  const wrong = wrongWith(given, offers)
  if (builtIn.some(({ id }) => id === (given as { id?: unknown } | null)?.id))
    wrong.push('a template of this id comes with Handrail')
  return wrong.length > 0 ? { wrong } : { template: given as Template, wrong }
}

function isDeeper(value: unknown, most: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return false
}

export function describe({ template, from }: CatalogEntry): TemplateView {
  const { id, version, title, description, inputs, results, example = {}, steps } = template
  const { timeoutMs, maxItems, partial } = limitsOf(template)
  const isBatch = steps.some(({ each }) => each !== undefined)
  return {
    templateId: id,
    version,
    name: title,
    description,
    inputsSchema: inputs,
    outputsSchema: results,
    exampleInputs: example,
    trustLevelSupport: trustOf(template),
    executionMode: 'auto',
    supportsPartialSuccess: isBatch && partial < 1,
    partialSuccessThreshold: partial,
    limits: { timeoutMs, ...(isBatch && { maxItems }) },
    from,
  }
}
