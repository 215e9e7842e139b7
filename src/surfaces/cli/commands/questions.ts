import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Question } from '../../../contracts/question.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Command } from '../command.ts'
import { green, oneLine, say } from '../print.ts'
import { answerQuestion, describeQuestion, typedAnswer } from '../question.ts'
import { wholeId } from '../whole-id.ts'

export const questions: Command = {
  name: 'questions',
  summary: 'See what agents ask you in words, and answer',
  usage: 'handrail questions list [--all]|answer ID [TEXT…]|answer --last [TEXT…] --project DIR',
  acts: { list: 0, answer: Number.POSITIVE_INFINITY },
  about: `Agents ask for words with ask_followup_question. The question is shown in your client's form where it has one, on the page and here, and
your first answer settles it everywhere. Without a form the agent gets your answer when it asks the same again, word for word. Where it offers answers to choose from, their number is enough. Nothing is
allowed or forbidden by it: that is what handrail approvals is for.`,
  options: [
    { name: 'all', says: 'For list: answered ones too.' },
    { name: 'last', says: 'For answer: the newest that waits, in the place of an ID.' },
  ],
  examples: ['handrail questions --project .', 'handrail questions answer --last 2 --project .'],
  onlyReads: true,
  async run({ words, options, json, open }) {
    const [what = 'list', ...rest] = words
    const runtime = open()
    try {
      if (what === 'list') {
        list(runtime.questions.list(options['all'] === true), json)
        return 0
      }
      const isLast = options['last'] === true
      const found = named(runtime, isLast ? undefined : rest[0], isLast)
      const typed = rest.slice(isLast ? 0 : 1).join(' ')
      const answered = answerQuestion(runtime, found, typed === '' ? await typedHere(runtime, found) : typed)
      say(json ? terminalJson(answered) : `${green('Answered')}: ${oneLine(answered.answer ?? '', 200)}`)
      return 0
    } finally {
      await runtime.close()
    }
  },
}

function list(found: readonly Question[], json: boolean): void {
  if (json) return found.forEach((one) => say(terminalJson(one)))
  if (found.length === 0) return say('Nobody asks you anything.')
  say(found.map(describeQuestion).join('\n\n'))
}

function named(runtime: Operator, typed: string | undefined, isLast: boolean): Question {
  if (typed === undefined && !isLast)
    throw new Fault('bad-input', 'Which question?', { hint: '`handrail questions` lists them; --last is the newest that waits.' })
  const found = typed === undefined ? runtime.questions.list().at(-1) : runtime.questions.get(wholeId(runtime, 'ask', typed))
  if (found) return found
  throw new Fault('not-found', typed === undefined ? 'Nobody asks you anything' : `No such question: ${typed}`, {
    hint: '`handrail questions list --all` shows what was asked.',
  })
}

function typedHere(runtime: Operator, question: Question): Promise<string> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true)
    throw new Fault('bad-input', 'Nobody is at this terminal to answer', { hint: 'Give the answer after the ID.' })
  say(describeQuestion(question))
  return typedAnswer(runtime, question, 'Your answer: ')
}
