import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const scenes: Record<string, readonly string[]> = {
  start: ['intro:The lighthouse', 'changeBg:cliff_dusk.webp -next;', 'Mara:The lamp went out an hour ago.;', 'jumpLabel:climb;'],
  lamp: ['changeBg:lamp_dark.webp -next;', 'Mara:Hold the lamp while I find the matches.;', ':The lamp is cold.;'],
  light: ['changeBg:lamp_lit.webp -next;', ':The lamp burns. A ship answers, three short flashes.;', 'end;'],
}
const sounds = ['vocal/bell.txt', 'vocal/horn.txt', 'vocal/match.txt', 'bgm/waves.txt', 'bgm/waltz.txt']

/** A small project to try things out on, with a folder for what Handrail keeps of it; both go with `remove`. */
export function makeDemoProject(): { project: string; state: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'handrail-demo-'))
  const project = join(folder, 'lighthouse')
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), text)
  }
  for (const [name, lines] of Object.entries(scenes)) write(`game/scene/${name}.txt`, `${lines.join('\n')}\n`)
  for (const name of sounds) write(`game/${name}`, `${name}\n`)
  return { project, state: join(folder, 'state'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}
