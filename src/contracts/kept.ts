/** How much is kept, as the stores obey it and `docs/reference/kept.md` prints it. */
export const bounds = {
  approvals: { most: 5_000, days: 90 },
  /** Paths that one no keeps; where all of them together are many, one more keeps a few. */
  declined: { each: 1_000, many: 20_000, few: 16 },
  cards: { most: 500, bytes: 134_217_728 },
  evidence: { most: 2_000, days: 90, bytes: 1_073_741_824 },
  /** Places of dropped states in a file's timeline: those in the middle of one session's writes first, then any. */
  places: { most: 2_000, ever: 20_000 },
  /** States that Handrail did not write. */
  others: { stay: 200, days: 30, ever: 2_000 },
  idempotency: 100_000,
  grants: 1_000,
  mounts: { servers: 64 },
  logins: { most: 100, days: 90, bytes: 2_097_152 },
  sessions: 10_000,
  refusals: 5_000,
  rehearsals: { most: 20_000, days: 7 },
  repairs: 20_000,
  notes: { session: 200, all: 2_000, characters: 16_384 },
  /** Messages of one chat of the gateway, of all, and the characters of one. */
  chats: { most: 1_000, messages: 200, all: 10_000, characters: 8_192 },
  /** One conversation with the agent; how many there are is a setting. */
  agentSessions: { characters: 16_777_216 },
  runs: { queued: 50_000, queuedEach: 10_000, most: 200_000, bytes: 1_073_741_824 },
  plans: { most: 500, characters: 524_288 },
  servers: { most: 100, log: 16_384, command: 2_000 },
  /** Of the index over what was done: things of the log, and words of them. */
  memory: { entries: 100_000, words: 4_000_000 },
  anchors: { most: 8, bytes: 67_108_864 },
  artifacts: { most: 100_000, bytes: 1_073_741_824, tombstones: 100_000, tombstoneDays: 7 },
} as const

/** What `handrail state` counts together. */
export const kinds = ['database', 'audit', 'snapshots', 'evidence', 'artifacts', 'other'] as const
export type Kind = (typeof kinds)[number]

export interface KeptRow {
  what: string
  /** Names in the project's state folder, a `*` for any characters; or tables of its database. */
  files?: readonly string[]
  tables?: readonly string[]
  /** Names in the folder above, which all projects of a person share. */
  shared?: readonly string[]
  kind: Kind
  bound: string
  /** What happens at the bound. */
  after: string
}

/** By hand: `toLocaleString` loads the languages of the world, a fifth of the time that a server takes to start. */
const whole = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',')
const mebibytes = (n: number): string => `${n / 1_048_576} MiB`

/** Everything that is kept of a project. A test walks the folder and the schema: what is not here does not pass. */
export const kept: readonly KeptRow[] = [
  {
    what: 'Audit log',
    files: ['audit.jsonl', 'audit.head', 'audit.*.jsonl'],
    kind: 'audit',
    bound: '`limits.auditFileBytes` a file; `limits.auditKeptDays`',
    after:
      'The file is closed and the log goes on in the next, as one chain. Closed files go by `handrail prune`, or by age where you set it; never by number or size, which an agent could bring about.',
  },
  {
    what: 'Logs that `audit renew` put aside',
    files: ['audit.jsonl.*', 'audit.head.*', 'audit.*.jsonl.*'],
    kind: 'audit',
    bound: 'as often as a person renews',
    after: 'Evidence of a break: only a person removes it, by hand.',
  },
  {
    what: 'Head of the log, how far it was verified, what was pruned of it',
    shared: ['heads/*'],
    kind: 'other',
    bound: 'one file of 1.5 KiB for each project',
    after: 'Moves with `handrail state adopt` and `reset`.',
  },
  {
    what: 'States of files',
    files: ['snapshots/*.txt', 'snapshots/*.meta.json'],
    tables: ['snapshots'],
    kind: 'snapshots',
    bound: `\`limits.snapshotRetention\` for each file; of states that Handrail did not write the newest ${bounds.others.stay}, older ones for ${bounds.others.days} days, ${whole(bounds.others.ever)} at most; places of dropped states: ${whole(bounds.places.most)} for each file where one session follows itself, ${whole(bounds.places.ever)} ever`,
    after:
      'The oldest go, and the log names them. The original of a file, its present state and the one before never do. How many different files are changed has no bound; `handrail prune` takes the old states of those that are gone, where nobody else wrote them.',
  },
  {
    what: 'Changes of many files that are being written down',
    tables: ['commits'],
    kind: 'database',
    bound: 'the changes under way',
    after: 'Gone when the change is settled; what a killed process left is settled by the next.',
  },
  {
    what: 'Questions to a person',
    tables: ['approvals'],
    kind: 'database',
    bound: `waiting: 500, of one session 100; answered or lapsed: ${whole(bounds.approvals.most)}, ${bounds.approvals.days} days`,
    after: 'No more are asked, or one of whoever has most waiting lapses. Of the answered the oldest go.',
  },
  {
    what: 'Files that a no keeps',
    tables: ['declined'],
    kind: 'database',
    bound: `${whole(bounds.declined.each)} of one no, ${bounds.declined.few} once there are ${whole(bounds.declined.many)} in all`,
    after: 'Of more files their folders are kept. Gone when the no is over or taken back.',
  },
  {
    what: 'Calls that wait for a person',
    tables: ['suspended'],
    kind: 'database',
    bound: 'the questions that stand, and the calls that go on after an answer',
    after: 'Gone with the end of the call: it was carried out, declined, withdrawn, or its question lapsed.',
  },
  {
    what: 'Cards: what was shown of a question',
    tables: ['cards', 'card_texts'],
    kind: 'database',
    bound: `of questions that wait: all; of answered ones the newest ${bounds.cards.most}, ${mebibytes(bounds.cards.bytes)} together`,
    after: 'The card goes, the answer stays.',
  },
  {
    what: 'Programs that nothing may change under',
    tables: ['pins'],
    kind: 'database',
    bound: 'the programs that run',
    after: 'Gone when the program, its time or its process ends.',
  },
  {
    what: 'Idempotency keys',
    tables: ['idempotency'],
    kind: 'database',
    bound: `\`limits.idempotencyTtlMs\`; ${whole(bounds.idempotency)}`,
    after: 'The oldest are forgotten.',
  },
  {
    what: 'Dry runs',
    tables: ['rehearsals'],
    kind: 'database',
    bound: `${bounds.rehearsals.days} days; ${whole(bounds.rehearsals.most)}`,
    after: 'The oldest are forgotten: the agent makes another one.',
  },
  {
    what: 'Sessions, and the paths they were refused',
    tables: ['sessions', 'refusals'],
    kind: 'database',
    bound: `${whole(bounds.sessions)}; ${whole(bounds.refusals)}`,
    after: 'Those that were longest silent go.',
  },
  {
    what: 'What agents asked and said they had done',
    tables: ['notes', 'questions'],
    kind: 'database',
    bound: `${bounds.notes.session} of a session, ${whole(bounds.notes.all)} in all, ${whole(bounds.notes.characters)} characters each`,
    after:
      'The oldest go; of questions first those whose answer was told, then those older than 7 days, then those of the process that asked most, where it has more than 20; where only others have some, a new one is refused. A longer one is cut, and says so.',
  },
  {
    what: 'Grants',
    tables: ['grants'],
    kind: 'database',
    bound: `their time; ${whole(bounds.grants)}, and as many of those for good`,
    after: 'They lapse, are used up or are revoked; beyond that number the oldest of their kind goes.',
  },
  {
    what: 'Tools of mounted MCP servers as they were accepted, and as they are now where that differs',
    tables: ['mounted_tools'],
    kind: 'database',
    bound: `${bounds.mounts.servers} servers, of 512 tools each, of 65,536 characters each`,
    after: 'The server that was seen longest ago is forgotten; `handrail mounts forget` does it at once.',
  },
  {
    what: 'Logins that were saved on request, encrypted',
    tables: ['logins'],
    kind: 'database',
    bound: `${bounds.logins.most}, of ${mebibytes(bounds.logins.bytes)} each; ${bounds.logins.days} days after their last use`,
    after:
      'The one that was used longest ago goes; a person removes them with `handrail logins remove`. What is larger is not saved, and the run says so.',
  },
  {
    what: 'How much programs changed unasked',
    tables: ['unasked'],
    kind: 'database',
    bound: 'two sums, of half an hour each',
    after: 'Forgotten after an hour, and when a person agrees to a change whose card names the sum.',
  },
  {
    what: 'Failed checks of files',
    tables: ['repairs'],
    kind: 'database',
    bound: whole(bounds.repairs),
    after: 'The oldest are forgotten.',
  },
  {
    what: 'Runs, how far they are and what came of them',
    tables: ['runs', 'run_bodies', 'run_steps', 'run_counts', 'run_turns', 'run_bytes'],
    kind: 'database',
    bound: `waiting for their turn: ${whole(bounds.runs.queued)}, of one client ${whole(bounds.runs.queuedEach)}; ended: \`limits.runTtlMs\`, ${whole(bounds.runs.most)}; inputs and journals ${mebibytes(bounds.runs.bytes)} together`,
    after:
      'Of the ended the oldest go, with their keys and journals. Where those that wait or are under way take all of it, no more are accepted.',
  },
  {
    what: 'Plans',
    tables: ['plans'],
    kind: 'database',
    bound: `${whole(bounds.plans.most)}; ${whole(bounds.plans.characters)} characters each`,
    after: 'The one that was changed or run longest ago goes first; one that is too large is refused.',
  },
  {
    what: 'Dev servers, how they ended and what they printed',
    tables: ['server_runs'],
    kind: 'database',
    bound: `one runs in each process; ended: \`limits.runTtlMs\`, ${whole(bounds.servers.most)}; ${whole(bounds.servers.log)} characters printed by each`,
    after: 'The oldest go; of what one printed the end is kept.',
  },
  {
    what: 'Artifacts of runs',
    files: ['artifacts/*'],
    tables: ['artifacts'],
    kind: 'artifacts',
    bound: `\`limits.artifactTtlMs\`; ${whole(bounds.artifacts.most)}, ${mebibytes(bounds.artifacts.bytes)} together; that one was there: ${bounds.artifacts.tombstoneDays} days, ${whole(bounds.artifacts.tombstones)}`,
    after: 'The oldest content goes, and its id still says that it has expired.',
  },
  {
    what: 'The database',
    files: ['handrail.db', 'handrail.db-wal', 'handrail.db-shm', 'handrail.db-journal'],
    kind: 'database',
    bound: 'what its tables hold',
    after: 'Room that became free is used again; `handrail prune` gives it back.',
  },
  {
    what: 'Evidence: logs and patches of other agents',
    files: ['evidence/*'],
    kind: 'evidence',
    bound: `${whole(bounds.evidence.most)}, ${bounds.evidence.days} days, ${mebibytes(bounds.evidence.bytes)}`,
    after: 'The oldest go.',
  },
  {
    what: 'What was found in sources (`anchor_index`)',
    files: ['anchors/*'],
    kind: 'other',
    bound: `${bounds.anchors.most}, ${mebibytes(bounds.anchors.bytes)} each`,
    after: 'The oldest go; what is larger is not kept, and looked for again each time.',
  },
  {
    what: 'Index over what was done (`handrail memory`): which words stand in which entry, as numbers, and no text',
    files: ['memory.*.db', 'memory.*.db-wal', 'memory.*.db-shm', 'memory.*.db-journal'],
    kind: 'other',
    bound: `${whole(bounds.memory.entries)} entries of the log, ${whole(bounds.memory.words)} words of them (about 80 MB); conversations as they are kept`,
    after: 'The oldest go from the index, and are still in the log. Removed or damaged, it is made anew from what it is about.',
  },
  {
    what: 'Old logs that `state import` took over',
    files: ['imported/*'],
    kind: 'other',
    bound: 'as often as a person imports; 1 GiB each',
    after: 'Only a person removes it, by hand.',
  },
  {
    what: 'Tokens, the key that secrets of runs are kept under, what the project is, what was trusted',
    files: ['token', 'person-token', 'seal-key', 'manifest.json', 'manifest.json.*', 'trust.json', 'trust.json.*'],
    kind: 'other',
    bound: 'one of each',
    after: 'Replaced.',
  },
  {
    what: 'Words of sign-in links that were used',
    files: ['spent/*'],
    kind: 'other',
    bound: 'their time',
    after: 'Gone at the next sign-in after it.',
  },
  {
    what: 'Chats of the HTTP gateway',
    tables: ['chats', 'chat_messages'],
    kind: 'database',
    bound: `${whole(bounds.chats.most)} chats; ${whole(bounds.chats.messages)} messages of one, ${whole(bounds.chats.all)} of all, ${whole(bounds.chats.characters)} characters of each`,
    after:
      'The chat that nobody added to for longest goes, and of the messages the oldest; a longer one is cut, and says so. What was done is in the log.',
  },
  {
    what: 'Where its page is served',
    files: ['serving/*'],
    kind: 'other',
    bound: 'the servers that run',
    after: 'Gone with the server; what a killed one left goes when the next one starts, or is looked for.',
  },
  {
    what: 'Locks',
    files: ['locks/project.db', 'locks/audit.db', 'locks/opening.db'],
    kind: 'other',
    bound: 'one of each, empty',
    after: 'Nothing is ever written to them.',
  },
  {
    what: 'Which folder the name of a root stands for',
    tables: ['roots'],
    kind: 'database',
    bound: 'one for each name that the setting `roots` ever had',
    after: 'Another folder takes a name over once nothing is kept of the former.',
  },
  {
    what: 'Conversations with the agent: what was said, which calls were made, what it used',
    tables: ['agent_sessions', 'agent_turns'],
    kind: 'database',
    bound: '`agent.agentSessions` (200), 16 MiB of text each',
    after: 'The oldest goes. What was done is in the log.',
  },
  {
    what: 'Your keys for models: which there are, and where no keyring holds them, the keys; a file of 0600',
    shared: ['model-keys.json', 'model-keys.lock'],
    kind: 'other',
    bound: '20',
    after: 'No further one is taken. `handrail keys clear` removes them all.',
  },
  {
    what: 'How dev servers are reached: address and token, one file each, and a lock',
    shared: ['devserver/*'],
    kind: 'other',
    bound: 'one for each project whose dev server runs; in the runtime folder of the user where there is one',
    after: 'A server takes its own away when it ends; what a killed one left is replaced by the next on that project.',
  },
  {
    what: 'Locks of roots that projects share',
    shared: ['root-locks/*'],
    kind: 'other',
    bound: 'one for each folder that was changed as a root, empty',
    after: 'Nothing is ever written to them.',
  },
  {
    what: 'Stages of programs, with what is written down of each',
    shared: ['stages/*'],
    kind: 'other',
    bound:
      'those that run; 32 that wait for an answer, four times `limits.stageDiskBytes` together; empty folders of the last 512 that ran',
    after:
      'No other may wait. Empty folders go when no program has run for five seconds. What nobody owns is swept at the next start.',
  },
  {
    what: 'State that `state reset` set aside',
    shared: ['set-aside/*'],
    kind: 'other',
    bound: 'as often as a person resets',
    after: 'It may hold the only copy of something: only a person removes it, by hand.',
  },
]

/** The row a name in the state folder belongs to. */
export function keptRowOf(path: string): KeptRow | undefined {
  return kept.find(({ files = [] }) => files.some((form) => matches(form, path)))
}

function matches(form: string, path: string): boolean {
  const [first = '', ...rest] = form.split('*')
  const last = rest.pop()
  if (last === undefined) return path === form
  return (
    path.length >= form.length - 1 &&
    path.startsWith(first) &&
    path.endsWith(last) &&
    rest.every((part) => path.slice(first.length, path.length - last.length).includes(part))
  )
}
