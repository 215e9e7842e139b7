import { templatesInProject, type IgnoredTemplates, type ProjectTemplate } from '../contracts/project-templates.ts'
import type { Tool } from '../contracts/tool.ts'
import { openProjectTemplates, openTemplateFiles, templatesFolder, type ProjectText } from '../host/template-files.ts'
import type { Root } from '../host/walk.ts'
import type { TemplateFile, TemplateSource } from '../runs/template-catalog.ts'
import type { TrustStore } from '../stores/trust.ts'

/** Templates besides ours: the person's own, and what the project brings. Of that only what the person trusted, by its very bytes, counts. */
export interface OwnTemplates extends TemplateSource {
  /** Of the project's files that can be read: what can be trusted. */
  digests(): { file: string; digest: string }[]
  /** All that the project brings, each with what it would do. Where `offers` is given, a step whose tool is not offered is wrong. */
  projectTemplates(tools: readonly Tool[], offers?: (tool: string) => boolean): Promise<ProjectTemplate[]>
}

const folder = templatesInProject.join('/')

export function openOwnTemplates(
  project: Root,
  environment: Record<string, string | undefined>,
  trust: () => Pick<TrustStore, 'templates'>,
): OwnTemplates {
  const ofPerson = openTemplateFiles(templatesFolder(environment))
  const ofProject = openProjectTemplates(project)
  let made: { from: readonly unknown[]; files: readonly TemplateFile[] } = { from: [], files: [] }

  /** The project's, and which of them count; most projects have none, and then nothing more is looked at. */
  const now = (): { all: readonly ProjectText[]; isTrusted: (one: ProjectText) => boolean } => {
    const all = ofProject()
    const trusted = all.length === 0 ? new Set<string>() : trust().templates()
    return { all, isTrusted: (one) => 'digest' in one && trusted.has(one.digest) }
  }
  const pathOf = ({ name }: ProjectText): string => (name === folder ? folder : `${folder}/${name}`)
  return {
    files() {
      const own = ofPerson()
      const { all, isTrusted } = now()
      const trusted = all.filter(isTrusted) as Extract<ProjectText, { text: string }>[]
      const from = [own, ...trusted]
      if (from.length !== made.from.length || from.some((one, at) => one !== made.from[at]))
        made = {
          from,
          files: [
            ...own.map((one) => ({ ...one, from: 'person' as const })),
            ...trusted.map((one) => ({ ...one, from: 'project' as const })),
          ],
        }
      return made.files
    },
    ignored(): IgnoredTemplates | undefined {
      const { all, isTrusted } = now()
      const ignored = all.filter((one) => !isTrusted(one)).length
      if (ignored === 0) return undefined
      const what = ignored === 1 ? 'One file' : `${ignored} files`
      return {
        ignored,
        says: `${what} in ${folder} of this project ${ignored === 1 ? 'is a template that is' : 'are templates that are'} ignored until you trust ${ignored === 1 ? 'it' : 'them'}: \`handrail trust\` shows what ${ignored === 1 ? 'it' : 'each'} would do.`,
      }
    },
    digests: () => ofProject().flatMap((one) => ('digest' in one ? [{ file: pathOf(one), digest: one.digest }] : [])),
    async projectTemplates(tools, offers) {
      const { all, isTrusted } = now()
      if (all.length === 0) return []
      const [{ readTemplate }, { describeTemplate }, { builtInTemplates }] = await Promise.all([
        import('../runs/template-catalog.ts'),
        import('../runs/describe-template.ts'),
        import('./templates.ts'),
      ])
      const taken = new Set(ofPerson().flatMap((one) => readTemplate(one, builtInTemplates).template?.id ?? []))
      return all.map((one): ProjectTemplate => {
        const file = pathOf(one)
        if ('why' in one) return { file, trusted: false, wrong: [one.why], does: [] }
        const { text, digest } = one
        const { template, wrong } = readTemplate(one, builtInTemplates, offers)
        const shadowed = template && taken.has(template.id)
        if (template) taken.add(template.id)
        return {
          file,
          digest,
          text,
          ...(template && { id: template.id }),
          trusted: isTrusted(one),
          wrong: shadowed ? ['a template of this id is there already, yours or in a file before it'] : wrong,
          does: template ? describeTemplate(template, (tool) => tools.find(({ name }) => name === tool)?.title) : [],
        }
      })
    },
  }
}
