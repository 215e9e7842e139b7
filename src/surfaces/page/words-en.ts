import { riskWords } from '../../text/card-words.ts'
import type { Words } from './words.ts'

const ago = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min ago`
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h ago` : `${Math.round(seconds / 86_400)} days ago`
}

/** The page in English. */
export const english: Words = {
  lang: 'en',
  other: { name: '中文', lang: 'zh' },
  punctuation: { comma: ', ', stop: '. ', colon: ': ' },
  nav: { approvals: 'Approvals', signOut: 'Sign out', skip: 'Skip to the answer', project: 'Project' },
  risks: riskWords,
  kinds: { deleted: 'deleted', renamed: 'renamed', modified: 'modified', created: 'created', mode: 'new permissions' },
  headings: { deleted: 'Deleted', renamed: 'Renamed', modified: 'Modified', created: 'Created', mode: 'New permissions' },
  states: {
    pending: 'waiting',
    approved: 'approved',
    denied: 'declined',
    expired: 'lapsed',
    used: 'approved and done',
    void: 'withdrawn',
  },
  list: {
    waiting: (count) => (count === 1 ? 'One question waits for you' : `${count} questions wait for you`),
    nothing: 'Nothing waits for you',
    noOlder: 'No older ones',
    looksAgain: (seconds) => `This page looks again every ${seconds} seconds.`,
    older: (count) => `${count} wait in all. Show older ones`,
    lately: 'Answered lately',
    leftOut: (count) =>
      `${count === 1 ? 'One more project is' : `${count} more projects are`} at work and not shown: there is room for 24, the latest used. To have one on this page in any case, stop the desk and start it with its folder: handrail desk DIR`,
    projects: (count) => (count === 0 ? 'no project at work' : count === 1 ? 'one project' : `${count} projects`),
  },
  card: {
    all: 'All questions',
    asked: (who, over) => `Asked by ${who} over ${over}`,
    ago,
    counts: (all, kinds) => `${all} ${all === 1 ? 'change' : 'changes'}: ${kinds.join(', ')}`,
    counted: (count, kind) => `${count} ${kind}`,
    sensitive: 'makes other programs run something',
    network: [
      'With the network',
      'It can send anything it can read to anybody, reach every service on this machine, and listen on its ports. No undo brings back what was sent.',
    ],
    unconfined: ['Not confined', 'It can read, change and send whatever you can.'],
    notShown: 'NOT SHOWN HERE',
    wholeText: 'read all of it',
    everyChange: 'every change by name',
    bytes: (before, after) =>
      before === null ? `${after ?? 0} bytes` : after === null ? `was ${before} bytes` : `${before} → ${after} bytes`,
    lines: (count) => `${count} lines`,
    notListed: (changes, folder, bytes) => `NOT LISTED HERE: ${changes} more changes in ${folder}, ${bytes} bytes`,
    before: 'Before',
    after: 'After',
    picture: 'picture',
  },
  answer: {
    heading: 'Your answer',
    note: 'A note for the agent (optional)',
    approve: 'Approve exactly this…',
    decline: 'Decline',
    unread: 'I have not read all of it, and agree to that too. (The log says so.)',
    keys: 'Access keys: A approve, D decline, N note.',
    elsewhere: (by) => `Answered elsewhere, by ${by}.`,
    tooSoon: 'That press came right after this question appeared, so it did not count. Read it and press again.',
    by: 'by',
    undo: 'What was applied can be taken back with',
    noSuch: 'No such approval',
    next: (left) => (left === 1 ? 'This is the last one that waits.' : `${left} wait, with this one.`),
  },
  questions: {
    asks: (who) => `${who} asks you something`,
    means: 'Your answer approves nothing and goes to the agent: give no passwords, keys or sign-in links.',
    own: 'Your own words',
    send: 'Send your own words',
    answered: 'answered',
    already: 'This was answered already; what you sent now was not taken.',
    empty: 'That had no words in it. Nothing was answered.',
    noSuch: 'No such question',
  },
  confirm: {
    back: 'Back to the change',
    question: 'Approve this?',
    wrong: 'That was not the number, or it has lapsed. Here is a new one.',
    type: 'To approve, type this number:',
    field: 'The number shown above',
    approve: 'Approve',
  },
  text: { back: 'Back to the question', end: 'That is the end.', more: 'More', every: 'every change' },
  signIn: {
    heading: 'Sign in to Handrail',
    means: 'You will see what agents ask to do in this project, and can approve or decline it.',
    button: 'Sign in',
    once: 'The link works once. You stay signed in for twelve hours, or until Handrail stops.',
    wrongKey: 'This link is not good here, or not any more. Each one works once, for ten minutes, at the server it was made for.',
    onlyYou: 'Only you may answer for an agent. Run this in the project, and open the link it prints:',
    onlyYouAtDesk:
      'Only you may answer for an agent. Press Enter in the terminal in which `handrail desk` runs, and open the link it prints.',
    leads: 'The link leads to the right place by itself. Give no page a key out of it: not this one, and none that asks for it.',
    already: 'Already signed in? Go to the tab in which you did; it shows new questions by itself.',
    signedIn: 'You are signed in',
    goOn: 'Go on to what waits for you',
    signingIn: 'Signing you in',
    on: 'Go on',
    out: 'Sign out?',
    outMeans: 'What waits for you goes on waiting. To come back, run',
    outMeansAtDesk:
      'What waits for you goes on waiting. To come back, press Enter in the terminal in which `handrail desk` runs.',
    sent: 'Another page sent you here',
    sentMeans: 'If you meant to come here, go on. If you did not, close this page: nothing has been decided.',
  },
  welcome: {
    heading: 'Handrail is running',
    agents:
      'For agents: MCP at /mcp (older clients: /sse), with the token from the file that `handrail serve` names. Plain HTTP at /agent/process:',
    person: 'For you: sign in to see what waits for your answer, or in a terminal:',
    lines: ['what waits for your answer', 'what was done', 'take the last change back', 'what works here'],
  },
  titles: {
    approvals: 'Approvals',
    approval: 'Approval',
    question: 'Question',
    confirm: 'Confirm',
    notFound: 'Not found',
    text: 'Text',
  },
}
