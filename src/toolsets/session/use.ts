import type { IgnoredTemplates } from '../../contracts/project-templates.ts'
import type { Confinement } from '../../contracts/stage.ts'
import type { Question } from '../../contracts/question.ts'
import { toolsUsing } from '../../contracts/tool.ts'
import type { SessionNote } from '../../contracts/session.ts'

/** The facts a caller may know about this runtime. */
export interface RuntimeFacts {
  projectRoot: string
  snapshotRetention: number
  forbiddenDirs: string[]
  projectSettings: { ignored: number; says: string } | undefined
  maxReadBytes: number
  version: string
  mode: string
  /** What the browser tools may do, where they are on. */
  browser: { allowedHosts: string[]; timeoutMs: number; screenshotDir: string }
  /** What the program tools may do, where they are on. */
  execution: { allowedCommands: string[]; timeoutMs: number; workingDir: string }
}

export interface SessionUse {
  facts: RuntimeFacts
  confinement(): Promise<Confinement>
  ignoredTemplates(): IgnoredTemplates | undefined
  /** Tools that can be called and are not in the list an agent reads. */
  unlisted(): string[]
  note(note: SessionNote): void
  /** Keeps a question where the person finds it; comes back with their answer where they gave one. */
  ask(question: Pick<Question, 'session' | 'client' | 'text' | 'options'>, answer: string | undefined): Question
}

export const defineTool = toolsUsing<SessionUse>('session')
