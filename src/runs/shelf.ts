import { runBounds, type TemplateView } from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'
import { wrongWith } from './check-template.ts'
import { trustOf } from './trust.ts'
import { batchReplace } from './templates/batch-replace.ts'
import { batchValidate } from './templates/batch-validate.ts'
import { webgalProjectReport } from './templates/webgal-project-report.ts'

export const builtIn: readonly Template[] = [webgalProjectReport, batchValidate, batchReplace]

/** A file that may be a template. */
export interface TemplateFile {
  name: string
  text: string
}

/** The templates there are: ours, then those of the person. */
export interface Shelf {
  all(): readonly Template[]
  get(id: string): Template | undefined
  describe(template: Template): TemplateView
}

/** `files` is asked each time and answers the same list as long as nothing changed. */
export function openShelf(files: () => readonly TemplateFile[]): Shelf {
  let seen: readonly TemplateFile[] | undefined
  let all: readonly Template[] = builtIn
  const now = (): readonly Template[] => {
    const found = files()
    if (found === seen) return all
    seen = found
    all = [...builtIn]
    for (const file of found) {
      const { template } = readTemplate(file)
      // What cannot be used is left out here; `handrail templates check` says why.
      if (template && !all.some(({ id }) => id === template.id)) all = [...all, template]
    }
    return all
  }
  return {
    all: now,
    get: (id) => now().find((template) => template.id === id),
    describe,
  }
}

/** A template from its file, or what is wrong with it. */
export function readTemplate(
  { text }: TemplateFile,
  offers?: (tool: string) => boolean,
): { template?: Template; wrong: string[] } {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch (cause) {
    return { wrong: [`it is no JSON: ${(cause as Error).message.slice(0, 200)}`] }
  }
  const wrong = wrongWith(given, offers)
  if (builtIn.some(({ id }) => id === (given as { id?: unknown } | null)?.id))
    wrong.push('a template of this id comes with Handrail')
  return wrong.length > 0 ? { wrong } : { template: given as Template, wrong }
}

function describe(template: Template): TemplateView {
  const { id, version, title, description, inputs, results, example = {}, limits = {}, steps } = template
  const { timeoutMs = runBounds.asyncTimeoutMs, maxItems = 1_000, partial = 0.5 } = limits
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
  }
}
