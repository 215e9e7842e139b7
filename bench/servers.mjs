// The servers that are compared, and where their programs are.
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = dirname(dirname(fileURLToPath(import.meta.url)))
export const ripgrep = join(repository, 'node_modules', '@vscode', `ripgrep-${process.platform}-${process.arch}`, 'bin', 'rg')
const peerProgram = join(repository, 'node_modules', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js')

/** A copy of the built program, so that a build during the run does not change what is measured. Gives its bin. */
export function copyProgram(temp, dist = join(repository, 'dist'), name = 'program') {
  const home = join(temp, name)
  mkdirSync(home, { recursive: true })
  for (const part of ['bin', 'package.json']) cpSync(join(repository, part), join(home, part), { recursive: true })
  cpSync(dist, join(home, 'dist'), { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(home, 'node_modules'))
  return join(home, 'bin', 'handrail.js')
}

/** Nothing of this machine's settings reaches a server. */
export function cleanEnv(temp) {
  return { PATH: process.env.PATH ?? '', HOME: join(temp, 'home'), XDG_CONFIG_HOME: join(temp, 'home', '.config') }
}

/** Ours, as a client starts it. */
export function ours(bench, project, program = bench.program) {
  return { command: process.execPath, args: [program, 'mcp', '--project', project], env: cleanEnv(bench.temp) }
}

/** No server at all, only the message: see floor.mjs. */
export function floor(bench, project) {
  return { command: process.execPath, args: [join(repository, 'bench', 'floor.mjs'), project], env: cleanEnv(bench.temp) }
}

/** The peer: @modelcontextprotocol/server-filesystem. */
export function peer(bench, project) {
  return { command: process.execPath, args: [peerProgram, project], env: cleanEnv(bench.temp) }
}
