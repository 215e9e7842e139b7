import { realpathSync } from 'node:fs'
import { Fault } from '../contracts/faults/fault.ts'
import { inPath, type Installed, type Machine } from './installed.ts'
import { captureBothEnds } from './output.ts'
import { runProcess } from './process.ts'
import { bindRulesOf } from './stage/bind-rules.ts'
import { pythonParts } from './toolchain.ts'

const question = 'import sys; print(sys.executable); print(sys.prefix); print(sys.base_prefix)'

/** The Python of this machine, looked for when it is first needed. */
export function openPython(machine: Machine): () => Promise<Installed> {
  let found: Installed | undefined
  return async () => (found ??= await findPython(machine))
}

/** The first on the PATH that answers. What stands there is often a script that starts another one, so it is asked who it is. */
async function findPython(machine: Machine): Promise<Installed> {
  for (const candidate of inPath('python3', machine)) {
    const [file, ...prefixes] = await ask(candidate, machine)
    if (!file?.startsWith('/')) continue
    return {
      file,
      reads: pythonParts(prefixes, [file, realpathSync(file)], bindRulesOf({ HOME: machine.home }, machine.project)),
    }
  }
  throw new Fault('unsupported', 'There is no Python 3 on this machine', {
    hint: 'Install it (apt install python3), or put python3 on the PATH that Handrail is started with.',
  })
}

async function ask(file: string, { path, home }: Machine): Promise<string[]> {
  const output = captureBothEnds(20_000)
  try {
    const end = await runProcess({
      file,
      args: ['-I', '-c', question],
      cwd: '/',
      env: { PATH: path, HOME: home },
      timeoutMs: 10_000,
      onOutput: (chunk) => output.add(chunk),
    })
    return end.code === 0 ? output.end().text.trim().split('\n') : []
  } catch {
    return []
  }
}
