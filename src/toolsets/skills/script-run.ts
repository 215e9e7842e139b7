import { Fault } from '../../contracts/faults/fault.ts'
import { startPython } from './python-run.ts'
import { scriptTool, type Script, type Start } from './script.ts'
import type { SkillsUse } from './use.ts'

export const scriptRun = scriptTool({
  name: 'script_run',
  title: 'Run a script of a skill',
  description:
    'Run a script that a skill brings along: .sh with sh (or bash, where its first line says so), .js, .mjs and .cjs with Node, .ts with Node 22.6 or later, or with the tsx of the project; .py with Python, where python_run does not go.',
  places: /^(?:(?:skills|skills_workspace|\.agents\/skills|\.claude\/skills)\/[^/]+|sandbox)\/scripts\/[^/]+$/,
  where:
    'skills/<name>/scripts/, skills_workspace/<name>/scripts/, .agents/skills/<name>/scripts/, .claude/skills/<name>/scripts/ or sandbox/scripts/',
  endings: { '.sh': shell, '.mjs': node, '.cjs': node, '.js': node, '.ts': typescript, '.py': startPython },
})

function shell({ firstLine }: Script, { programs }: SkillsUse): Start {
  if (!/^#!.*\bbash\b/.test(firstLine)) return { argv: ['/bin/sh'] }
  const bash = programs.find('bash')
  if (!bash)
    throw new Fault('unsupported', 'There is no bash on this machine', {
      hint: 'Write the script for sh, or install bash.',
    })
  return { argv: [bash.file], reads: bash.reads }
}

function node(): Start {
  return { argv: [process.execPath] }
}

function typescript(_: Script, { programs }: SkillsUse): Start {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 6))
    return { argv: [process.execPath, '--experimental-strip-types', '--disable-warning=ExperimentalWarning'] }
  const tsx = programs.ofProject('tsx')
  if (tsx !== undefined) return { argv: [tsx] }
  throw new Fault('unsupported', `Node ${process.versions.node} runs no TypeScript`, {
    hint: 'Run Handrail with Node 22.6 or later, install tsx in the project, or write the script in JavaScript.',
  })
}
