import { Fault } from '../contracts/faults/fault.ts'
import { promptsInProject, type Prompt, type PromptLibrary } from '../contracts/prompt.ts'
import type { ProjectText } from '../contracts/skill.ts'
import { readProjectPrompts, readShippedPrompts } from '../host/prompt-files.ts'
import type { Root } from '../host/walk.ts'
import type { TrustStore } from '../stores/trust.ts'
import { readPrompt, renderPrompt } from '../text/read-prompt.ts'

const fileOf = (id: string): string => `${[...promptsInProject, id].join('/')}.md`

export interface OwnPrompts extends PromptLibrary {
  /** What the project would put in the place of ours, trusted or not. */
  projectTexts(): ProjectText[]
}

/** Prompts of the package, each in the version that was committed, and of the project what a person trusted to stand in their place. */
export function openPrompts(project: Root, shipped: string, trust: () => Pick<TrustStore, 'texts'>): OwnPrompts {
  let ours: ReadonlyMap<string, { prompt: Prompt; wrong: string[] }> | undefined
  const ownPrompts = (): NonNullable<typeof ours> => {
    if (ours) return ours
    const { prompts, versions } = readShippedPrompts(shipped)
    return (ours = new Map(
      prompts.map(({ id, text, digest }) => {
        const { prompt, wrong } = readPrompt(id, text, 'handrail')
        const committed = versions[id]?.[prompt.version]
        if (committed === undefined) wrong.push(`version ${prompt.version} is not in prompts/versions.json: npm run gen adds it`)
        else if (committed !== digest) wrong.push(`it changed and is still version ${prompt.version}: raise the version`)
        return [id, { prompt, wrong }]
      }),
    ))
  }
  /** A project may say another way what we ask a model, and not ask for something else: inputs and output stay. */
  const ofProject = (): { id: string; file: string; digest?: string; text?: string; prompt?: Prompt; wrong: string[] }[] =>
    readProjectPrompts(project).map((one) => {
      const file = fileOf(one.id)
      if ('why' in one) return { id: one.id, file, wrong: [one.why] }
      const { prompt, wrong } = readPrompt(one.id, one.text, 'project')
      const base = ownPrompts().get(one.id)?.prompt
      if (!base) wrong.push(`there is no prompt ${one.id} whose place it could take`)
      else {
        const names = new Set(base.inputs.map(({ name }) => name))
        for (const { name } of prompt.inputs) if (!names.has(name)) wrong.push(`${one.id} is given no ${name}`)
        if (prompt.output.type !== base.output.type) wrong.push(`output.type must stay ${base.output.type}`)
        for (const field of base.output.schema_fields)
          if (!prompt.output.schema_fields.includes(field)) wrong.push(`output.schema_fields must keep ${field}`)
      }
      return { id: one.id, file, digest: one.digest, text: one.text, prompt, wrong }
    })
  const overrides = (): Map<string, Prompt> => {
    const trusted = trust().texts()
    if (trusted.size === 0) return new Map()
    const found = ofProject().filter(
      ({ file, digest, wrong }) => wrong.length === 0 && digest !== undefined && trusted.get(file) === digest,
    )
    return new Map(found.map(({ id, prompt }) => [id, prompt as Prompt]))
  }
  const load = (id: string): Prompt => {
    const override = overrides().get(id)
    if (override) return override
    const found = ownPrompts().get(id.replace(/\.md$/, ''))
    if (!found)
      throw new Fault('not-found', `There is no such prompt: ${id.slice(0, 100)}`, {
        hint: '`handrail prompts list` shows them.',
      })
    if (found.wrong.length > 0)
      throw new Fault('policy', `The prompt ${id} cannot be used: ${found.wrong[0]}`, {
        hint: '`handrail prompts check` says everything that is wrong.',
      })
    return found.prompt
  }
  return {
    load,
    render(id, values) {
      const { rendered, missing } = renderPrompt(load(id), values)
      if (missing.length > 0)
        throw new Fault('bad-input', `The prompt ${id} is not given ${missing.join(', ')}`, {
          details: { missing },
          hint: 'Give every declared value.',
        })
      return rendered
    },
    list() {
      const instead = overrides()
      return [...ownPrompts().values()].map(({ prompt }) => instead.get(prompt.id) ?? prompt)
    },
    check: () => [
      ...[...ownPrompts()].map(([id, { prompt, wrong }]) => ({ id, from: prompt.from, version: prompt.version, wrong })),
      ...ofProject().map(({ id, prompt, wrong }) => ({ id, from: 'project' as const, version: prompt?.version ?? '', wrong })),
    ],
    projectTexts() {
      const trusted = trust().texts()
      return ofProject().map(({ id, file, digest, text, wrong }): ProjectText => ({
        kind: 'prompt',
        id,
        file,
        ...(digest !== undefined && { digest }),
        ...(text !== undefined && { text }),
        trusted: digest !== undefined && trusted.get(file) === digest,
        wrong,
        does: [`It takes the place of the prompt ${id}: a model is asked in these words instead of ours.`],
      }))
    },
  }
}
