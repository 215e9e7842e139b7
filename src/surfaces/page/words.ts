import type { ApprovalState } from '../../contracts/approval.ts'
import type { EffectKind } from '../../contracts/stage.ts'
import type { Risk } from '../../contracts/tool.ts'

/** Everything the page says itself, in one language. What comes from agents and from the card is shown as it is. */
export interface Words {
  lang: 'en' | 'zh-CN'
  /** The other language, in its own words. */
  other: { name: string; lang: 'en' | 'zh' }
  /** Between parts of a sentence, at its end, and before what is named: each with the blank that belongs to it. */
  punctuation: { comma: string; stop: string; colon: string }
  nav: { approvals: string; signOut: string; skip: string; project: string }
  risks: Record<Risk, string>
  kinds: Record<EffectKind, string>
  headings: Record<EffectKind, string>
  states: Record<ApprovalState, string>
  list: {
    waiting: (count: number) => string
    nothing: string
    noOlder: string
    looksAgain: (seconds: number) => string
    older: (count: number) => string
    lately: string
    projects: (count: number) => string
    leftOut: (count: number) => string
  }
  card: {
    all: string
    asked: (who: string, over: string) => string
    ago: (ms: number) => string
    counts: (all: number, kinds: readonly string[]) => string
    counted: (count: number, kind: string) => string
    sensitive: string
    network: [string, string]
    unconfined: [string, string]
    notShown: string
    wholeText: string
    everyChange: string
    bytes: (before: number | null, after: number | null) => string
    lines: (count: number) => string
    notListed: (changes: number, folder: string, bytes: number) => string
    before: string
    after: string
    picture: string
  }
  answer: {
    heading: string
    note: string
    approve: string
    decline: string
    unread: string
    keys: string
    tooSoon: string
    elsewhere: (by: string) => string
    by: string
    undo: string
    noSuch: string
    next: (left: number) => string
  }
  questions: {
    asks: (who: string) => string
    means: string
    own: string
    send: string
    answered: string
    already: string
    empty: string
    noSuch: string
  }
  confirm: {
    back: string
    question: string
    wrong: string
    type: string
    field: string
    approve: string
  }
  text: { back: string; end: string; more: string; every: string }
  signIn: {
    heading: string
    means: string
    button: string
    once: string
    wrongKey: string
    onlyYou: string
    onlyYouAtDesk: string
    leads: string
    already: string
    signedIn: string
    goOn: string
    signingIn: string
    on: string
    out: string
    outMeans: string
    outMeansAtDesk: string
    sent: string
    sentMeans: string
  }
  welcome: { heading: string; agents: string; person: string; lines: readonly [string, string, string, string] }
  titles: { approvals: string; approval: string; question: string; confirm: string; notFound: string; text: string }
  /** What Handrail itself wrote and kept in English, by where it stands; undefined where a sentence is not known. */
  own?: Record<OwnWords, (text: string) => string | undefined>
}

type OwnWords = 'note' | 'title' | 'effect' | 'entry' | 'why' | 'place' | 'notice'

/** As the person reads it: what is not known stays as it is, and nothing that an agent wrote is changed. */
export const inWords = (words: Words, kind: OwnWords, text: string): string => words.own?.[kind](text) ?? text
