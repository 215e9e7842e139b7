import { isSecretName } from './names.ts'

type Add = (word: number, from: number, kind: string) => void

/** A command that takes a secret by its place: the words of its verb, in order, and which of the words behind them are secrets. */
interface Verb {
  programs: string
  /** None where the program has one use only. Compared without case. */
  verb?: string
  /** Of the words that are no flags; 'last' is the last of them, where there are at least `least`. */
  place: number | 'last'
  least?: number
  /** What the first of these words must look like. */
  first?: RegExp
}

const verbs: readonly Verb[] = [
  { programs: 'cargo wandb', verb: 'login', place: 'last' },
  { programs: 'snyk', verb: 'auth', place: 0 },
  { programs: 'ngrok', verb: 'authtoken', place: 0 },
  { programs: 'ngrok', verb: 'config add-authtoken', place: 0 },
  { programs: 'nuget', verb: 'setapikey', place: 0 },
  { programs: 'wpa_passphrase', place: 1 },
  { programs: 'mc mcli', verb: 'alias set', place: 3 },
  { programs: 'smbclient', place: 1, first: /^(?:\/\/|\\\\)/ },
  { programs: 'poetry', verb: 'config', place: 1, first: /^pypi-token\./ },
  { programs: 'poetry composer', verb: 'config', place: 2, first: /^http-basic\./ },
  { programs: 'composer', verb: 'config', place: 1, first: /^(?:github-oauth|gitlab-oauth|gitlab-token|bearer)\./ },
  { programs: 'composer', verb: 'config', place: 2, first: /^bitbucket-oauth\./ },
  { programs: 'bundle bundler', verb: 'config set', place: 1, first: /^(?!build\.|mirror\.|local\.|gem\.)[\w-]+(?:\.[\w-]+)+$/ },
  { programs: 'bundle bundler', verb: 'config', place: 1, first: /^(?!build\.|mirror\.|local\.|gem\.)[\w-]+(?:\.[\w-]+)+$/ },
  { programs: 'rabbitmqctl', verb: 'add_user', place: 1 },
  { programs: 'rabbitmqctl', verb: 'change_password', place: 1 },
  { programs: 'mosquitto_passwd', place: 'last', least: 3 },
  { programs: 'bw', verb: 'unlock', place: 0 },
  { programs: 'bw', verb: 'login', place: 1 },
  { programs: 'b2', verb: 'authorize-account', place: 1 },
  { programs: 'b2', verb: 'account authorize', place: 1 },
  { programs: 'openssl', verb: 'passwd', place: 'last' },
  { programs: 'rclone', verb: 'obscure', place: 0 },
]

const byProgram = new Map<string, Verb[]>()
for (const verb of verbs)
  for (const program of verb.programs.split(' ')) byProgram.set(program, [...(byProgram.get(program) ?? []), verb])

const oracle = new Set(['sqlplus', 'sqlcl', 'impdp', 'expdp', 'sqlldr', 'rman'])
const kubernetes = new Set(['kubectl', 'oc', 'k3s', 'microk8s'])

export const verbPrograms = [...byProgram.keys(), ...oracle, ...kubernetes, 'export', 'consul', 'pulumi']

/** Whether a text names one of them: without, it has no verbs to look for. */
export const mayHaveVerbs = new RegExp(`\\b(?:${verbPrograms.join('|')})(?:\\.exe)?\\s`, 'i')

/** What a command takes as a secret by its verb; `at` is where its program stands. */
export function byVerb(program: string, words: readonly string[], at: number, add: Add): void {
  for (const verb of byProgram.get(program) ?? []) inPlace(verb, words, at, add)
  if (oracle.has(program)) login(words, at, add)
  if (kubernetes.has(program)) literals(words, at, add)
  if (program === 'export') exported(words, at, add)
  if (program === 'vault' && words[at + 1] === 'kv' && /^(?:put|patch)$/.test(words[at + 2] ?? ''))
    for (let one = at + 3; one < words.length; one++) {
      const value = /^[A-Za-z_][\w.-]*=(?=[^@])/.exec(words[one] as string)
      if (value) add(one, value[0].length, 'value of a setting')
    }
  // What is kept there is a setting like others; its name tells.
  if (program === 'consul' && words[at + 1] === 'kv' && words[at + 2] === 'put' && isSecretName(words[at + 3] ?? ''))
    add(at + 4, 0, 'value of a setting')
  if (program === 'pulumi' && words.includes('--secret'))
    plainWords(words, at, ['config', 'set'])
      ?.slice(1, 2)
      .forEach((one) => add(one, 0, 'value of a setting'))
  if (program === 'rclone' && words[at + 1] === 'config')
    for (let one = at + 3; one < words.length - 1; one++)
      if (/^[a-z_]+$/.test(words[one] as string) && isSecretName(words[one] as string)) add(one + 1, 0, 'value of a setting')
}

function inPlace({ verb = '', place, least = 1, first }: Verb, words: readonly string[], at: number, add: Add): void {
  const found = plainWords(words, at, verb === '' ? [] : verb.split(' '))
  if (!found || found.length < least || (first && !first.test(words[found[0] ?? -1] ?? ''))) return
  const secret = place === 'last' ? found.at(-1) : found[place]
  // In a sentence a verb is followed by words; a key is made up.
  if (secret !== undefined && /\d|[^\w.,-]/.test(words[secret] as string)) add(secret, 0, 'password')
}

/** Where the words of a command end and what becomes of its output begins. */
export function endOf(words: readonly string[], at: number): number {
  const into = words.findIndex((word, index) => index > at && /^\d?[<>]/.test(word))
  return into < 0 ? words.length : into
}

/** Where the words behind a verb are that are no flags; nothing where it is another verb. */
function plainWords(words: readonly string[], at: number, verb: readonly string[]): number[] | undefined {
  const found: number[] = []
  const end = endOf(words, at)
  for (let one = at + 1; one < end; one++) if (!words[one]?.startsWith('-')) found.push(one)
  return verb.every((word, index) => words[found[index] ?? -1]?.toLowerCase() === word) ? found.slice(verb.length) : undefined
}

/** `user/password@database`, the first word that is no flag. */
function login(words: readonly string[], at: number, add: Add): void {
  const [first] = plainWords(words, at, []) ?? []
  const user = /^"?[A-Za-z_][\w$#]*"?\//.exec(words[first ?? -1] ?? '')
  if (first !== undefined && user) add(first, user[0].length, 'password')
}

/** `create secret … --from-literal=name=X`; of a map of settings they are none. */
function literals(words: readonly string[], at: number, add: Add): void {
  if (!words.slice(at, at + 8).includes('secret')) return
  for (let one = at + 1; one < words.length; one++) {
    const word = words[one] as string
    const lead = word.startsWith('--from-literal=') ? '--from-literal='.length : words[one - 1] === '--from-literal' ? 0 : -1
    const sign = lead < 0 ? -1 : word.indexOf('=', lead)
    if (sign > 0) add(one, sign + 1, 'value of a setting')
  }
}

/** In the environment a name that ends so is a secret where its value is made up: `MYKEY=X`, not `MONKEY=banana`. */
function exported(words: readonly string[], at: number, add: Add): void {
  for (let one = at + 1; one < words.length; one++) {
    const name = /^[A-Z][A-Z0-9_]*(?:KEY|PW|PASS|PIN)=/.exec(words[one] as string)
    if (name && /^(?=.*\d)(?=.*[A-Za-z])[^\s/]{8,}$/.test((words[one] as string).slice(name[0].length)))
      add(one, name[0].length, 'value of a setting')
  }
}
