import type { Tool } from '../contracts/tool.ts'
import { agent, type AgentUse } from './agent/index.ts'
import { browser, type BrowserUse } from './browser/index.ts'
import { files, type FileUse } from './files/index.ts'
import { records, type RecordsUse } from './records/index.ts'
import { runs, type RunsUse } from './runs/index.ts'
import { session, type SessionUse } from './session/index.ts'
import { shellTools, type ShellUse } from './shell/index.ts'
import { skills, type SkillsUse } from './skills/index.ts'
import { webgal, type WebgalUse } from './webgal/index.ts'
import { workspace, type WorkspaceUse } from './workspace/index.ts'

/** What each toolset may use of the host. */
export interface Uses {
  files: FileUse
  session: SessionUse
  records: RecordsUse
  webgal: WebgalUse
  browser: BrowserUse
  shell: ShellUse
  skills: SkillsUse
  runs: RunsUse
  workspace: WorkspaceUse
  agent: AgentUse
}

/** Every tool there is, bound to its slice. The list is written out, so that it can be read and searched. */
export function allTools(use: Uses): Tool[] {
  return [
    ...files.map((tool) => tool.bind(use.files)),
    ...session.map((tool) => tool.bind(use.session)),
    ...records.map((tool) => tool.bind(use.records)),
    ...webgal.map((tool) => tool.bind(use.webgal)),
    ...browser.map((tool) => tool.bind(use.browser)),
    ...shellTools.map((tool) => tool.bind(use.shell)),
    ...skills.map((tool) => tool.bind(use.skills)),
    ...runs.map((tool) => tool.bind(use.runs)),
    ...workspace.map((tool) => tool.bind(use.workspace)),
    ...agent.map((tool) => tool.bind(use.agent)),
  ]
}

/** The same tools as descriptions only, for generated contracts and docs: nothing in it can be carried out. */
export function catalogue(): Tool[] {
  return allTools({
    files: undefined as never,
    session: undefined as never,
    records: undefined as never,
    webgal: undefined as never,
    browser: undefined as never,
    shell: undefined as never,
    skills: undefined as never,
    runs: undefined as never,
    workspace: undefined as never,
    agent: undefined as never,
  })
}
