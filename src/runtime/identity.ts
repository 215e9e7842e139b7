import { hash } from 'node:crypto'
import type { ProjectText } from '../contracts/skill.ts'
import { identityFolder, identityInProject, readIdentity, readProjectIdentity } from '../host/identity-files.ts'
import type { Root } from '../host/walk.ts'
import type { TrustStore } from '../stores/trust.ts'

export interface Identity {
  /** Who the agent is: the person's files, and after them what this project says, once it is trusted. */
  text(): string
  /** What the project would add, trusted or not. */
  projectTexts(): ProjectText[]
}

const file = identityInProject.join('/')

export function openIdentity(
  project: Root,
  environment: Record<string, string | undefined>,
  trust: () => Pick<TrustStore, 'texts'>,
): Identity {
  const ofProject = (): { text: string; digest: string; trusted: boolean } | undefined => {
    const text = readProjectIdentity(project)
    if (text === undefined) return undefined
    const digest = hash('sha256', text, 'hex')
    return { text, digest, trusted: trust().texts().get(file) === digest }
  }
  return {
    text() {
      const own = readIdentity(identityFolder(environment)) || 'Careful, brief and honest.'
      const here = trust().texts().has(file) ? ofProject() : undefined
      return here?.trusted ? `${own}\n\nIn this project, where it differs from the above:\n${here.text}` : own
    },
    projectTexts() {
      const here = ofProject()
      const does = ['It tells the agent what to be like in this project, in the place of your own words where they differ.']
      return here ? [{ kind: 'identity', id: 'identity', file, ...here, wrong: [], does }] : []
    },
  }
}
