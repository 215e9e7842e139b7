// Test data: the files the measurements work on. Nothing is random, so that two runs are alike.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const words =
  'the scene opens on a beach where waves roll in slowly and the light of evening lies on the water while somebody walks'.split(
    ' ',
  )

/** Lines of words, as many bytes as asked for. */
export function textOf(bytes, seed = 0) {
  let text = ''
  for (let line = seed; text.length < bytes; line++)
    text += `${words[line % words.length]} ${words[(line * 7 + 3) % words.length]} ${words[(line * 13 + 5) % words.length]} ${line}\n`
  return text.slice(0, bytes - 1) + '\n'
}

export function linesOf(count) {
  return Array.from(
    { length: count },
    (_, line) => `line ${line}: ${words[line % words.length]} ${words[(line * 7 + 3) % words.length]} says something`,
  )
}

/** A project with the files of the small measurements. */
export function smallProject(temp, name) {
  const project = join(temp, name)
  mkdirSync(project, { recursive: true })
  writeFileSync(join(project, 'ten.txt'), textOf(10_240))
  writeFileSync(join(project, 'long.txt'), linesOf(5_000).join('\n') + '\n')
  return project
}

/** 100 × 10 × 20 files, about 40 MB: a literal in exactly 50 of them, a regex that hits one line of every 10th. */
export function searchTree(temp) {
  const project = join(temp, 'tree')
  for (let index = 0; index < 20_000; index++) {
    const folder = join(project, `d${Math.floor(index / 200)}`, `e${Math.floor(index / 20) % 10}`)
    if (index % 20 === 0) mkdirSync(folder, { recursive: true })
    const hit = index % 10 === 3 ? `bgm: track-${index}.mp3 -volume=${index % 100};\n` : ''
    const literal = index % 400 === 7 ? 'here is the needle_in_the_hay of this tree\n' : ''
    writeFileSync(join(folder, `f${index % 20}.txt`), textOf(1_000, index) + hit + literal + textOf(1_000, index * 3))
  }
  return project
}

export const literal = 'needle_in_the_hay'
export const regex = 'bgm:\\s+track-\\d+\\.mp3\\s+-volume=\\d+'

export const sha256 = (text) => createHash('sha256').update(text).digest('hex')
