import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../contracts/faults/fault.ts'
import type { Prompts, RenderedPrompt } from '../contracts/prompt.ts'

/** The prompts that come with Handrail, as far as the agent itself needs them. */
export function openPromptTexts(folder: string): Pick<Prompts, 'render'> {
  return {
    render(id, values) {
      const text = readFileSync(join(folder, `${id}.md`), 'utf8')
      const body = text.slice(text.indexOf('\n---\n', 4) + 5)
      const parts = Object.fromEntries(
        body
          .split(/^## (?=(?:system|user)\s*$)/m)
          .slice(1)
          .map((part) => [part.slice(0, part.indexOf('\n')).trim(), part.slice(part.indexOf('\n')).trim()]),
      )
      const filled = (one: string): string =>
        one.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
          const value = values[name]
          if (value === undefined) throw new Fault('internal', `The prompt ${id} wants ${name}`)
          return value
        })
      const { system = '', user } = parts as { system?: string; user?: string }
      return {
        id,
        version: '',
        system: filled(system),
        ...(user !== undefined && { user: filled(user) }),
        output: { type: 'text', schema_fields: [], constraints: [] },
        model_hints: {},
        warnings: [],
      } satisfies RenderedPrompt
    },
  }
}
