import { expect, test } from 'vitest'
import { draws } from '../../../../test/support/seed.ts'
import { sweep } from '../../../../test/support/soak.ts'
import { parseScene } from '../grammar/parse.ts'
import { countDialogue, layOut, nothing, pass } from './word-counts.ts'

const pieces = ['word', "don't", '-', '’', 'é', '海', '𠀀', 'か', '한', '😀', ' ', '\u3000', ',', ':', ';', '\\;', '\\', '{x y}', '{', '[海](umi)', '[', ' -next', ' |', '\n', '\n', '\n -', '\n |', '\\\n', '\r\n', 'setVar:a=1;\n', ';'] // prettier-ignore

/** What stands in a text, in the plainest way. */
function plainly(content: string): { words: number; cjk: number } {
  const read = content.replace(/\[([^[\]]*)\]\([^()]*\)/g, '$1').replace(/\{[^{}]*\}/g, ' ')
  const cjk = read.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu) ?? []
  const others = read.replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu, ' ')
  return { words: others.match(/[\p{Script=Latin}\d](?:['’-]*[\p{Script=Latin}\d])*/gu)?.length ?? 0, cjk: cjk.length }
}

test('dialogue is counted where it stands in its scene as it would be alone, whatever stands around it', () => {
  const next = draws('word counts')
  const rounds = sweep(2_000, 600)
  let dialogue = 0
  for (let round = 0; round < rounds; round++) {
    const text = `${next(5) === 0 ? '\uFEFF' : ''}${Array.from({ length: next(60) }, () => pieces[next(pieces.length)]).join('')}`
    const laid = layOut(text)
    for (const statement of parseScene(text.replace(/^\uFEFF/, ''))) {
      pass(laid, statement)
      if (statement.command !== 'say') continue
      dialogue++
      const into = nothing()
      countDialogue(laid, statement, into)
      expect({ text, content: statement.content, words: into.words, cjk: into.cjk }).toEqual({
        text,
        content: statement.content,
        ...plainly(statement.content),
      })
    }
  }
  expect(dialogue).toBeGreaterThan(rounds)
})

test('a name with something taken out of it, a statement that was cut off, and a scene too long to be laid out', () => {
  const scenes = [
    'A\\;\\;b:b, 海;\nMara:two words;',
    `Mara:${'海 '.repeat(40_000)};\nMara:two words;`,
    `Mara:one;\n${';\n'.repeat(90_000)}${' '.repeat(1 << 20)}a:b c;`,
  ]
  for (const text of scenes) {
    const laid = layOut(text)
    for (const statement of parseScene(text)) {
      pass(laid, statement)
      if (statement.command !== 'say') continue
      const into = nothing()
      countDialogue(laid, statement, into)
      expect(into).toMatchObject(plainly(statement.content))
    }
  }
})
