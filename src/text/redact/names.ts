/** Words that make the value beside them a secret, as the last part of a name: `DB_PASSWORD`, `--api-token`, `clientSecret`. */
const secretWords = new Set(
  (
    'password passwd passphrase passwort pass passcode pwd pw secret secrets token tokens authtoken credential credentials creds cred ' +
    'apikey authkey accesskey secretkey privatekey auth authorization jwt bearer otp sid cookie storepass keypass psk presharedkey assertion'
  ).split(' '),
)

/** A key is a secret only where the word before says so: `api_key`, `account-key`, but not `primary_key` or `cache_key`. */
const secretKeys = new Set(
  (
    'api access secret account private auth encryption signing master shared storage service license licence deploy subscription app ' +
    'application client consumer admin root session cipher hmac aes webhook sas preshared'
  ).split(' '),
)

/** What follows a secret word and takes the secret out of it: `PASSWORD_FILE` names a file, `token_count` is a number. */
const aboutIt = new Set(
  (
    'file files path dir stdin env id ids name names type types kind length len size count limit limits max min url uri endpoint ttl ' +
    'expiry expires expiration policy field hash hint manager store storage provider issuer prompt regex pattern format version ' +
    'index header label used usage budget rotation reset strength rules'
  ).split(' '),
)

const harmlessNames =
  /^(?:max|min|num|total|prompt|completion|input|output|n|used|next|page|continuation|sync|stop|special|eos|bos|pad|unk)[_-]?tokens?$|^(?:public|primary|foreign|sort|partition|cache|idempotency|idempotent|row|group|hot|object|map|index|lookup|composite|unique|natural|surrogate|shortcut|host|localization|i18n|translation|sql|dict|json|react|widget|event|item|list|node|route|query|config|local)[_-]?keys?$/i

/** Names that were looked at: the fields of tools come again with every call. */
const known = new Map<string, boolean>()
const mostKnown = 1_000

/** Whether what stands beside a name is a secret by that name. */
export function isSecretName(name: string): boolean {
  if (name.length > 120) return false
  let isSecret = known.get(name)
  if (isSecret !== undefined) return isSecret
  isSecret = tellsSecret(name)
  if (known.size >= mostKnown) known.clear()
  known.set(name, isSecret)
  return isSecret
}

function tellsSecret(name: string): boolean {
  if (harmlessNames.test(name)) return false
  const parts = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
  let last = parts.pop() ?? ''
  // `PASSWORD2`, `TOKEN_1`: numbered ones are alike.
  if (/^\d+$/.test(last)) last = parts.pop() ?? ''
  last = last.replace(/\d+$/, '')
  // `client-key-data`: the key itself, written as base64.
  if (last === 'data' && parts.at(-1) === 'key') return true
  if (aboutIt.has(last)) return false
  if (secretWords.has(last) || /(?:passw(?:or)?d|passphrase|secret|token|apikey|accesskey|secretkey|authkey)$/.test(last))
    return true
  if (last !== 'key' && last !== 'cert') return false
  // In the environment every key that is not known to be harmless is one.
  return secretKeys.has(parts.at(-1) ?? '') || (parts.length > 0 && /^[A-Z][A-Z0-9_]*$/.test(name) && last === 'key')
}

/** Values of settings, kinds and types: what stands beside such names in documentation and code. */
const plainWords = new Set(
  (
    'true false null none nil undefined void yes no on off string str number int integer bool boolean any unknown never object optional ' +
    'required default basic digest ntlm bearer oauth oauth2 token password secret key auth negotiate kerberos flag option argument ' +
    'parameter value field is are was and or to for the a an in of with from by not if must should may can will has that this here ' +
    'always changeme example redacted hidden masked empty invalid expired missing wrong incorrect new old'
  ).split(' '),
)

const templates = /^(?:\$\{[^}]*\}|\$\([^)]*\)|\{\{[^}]*\}\}|<[^>]*>|%[A-Za-z_]\w*%|`[^`]*`)$/
const variables = /^\$(?:[A-Z_][A-Z0-9_]*|\d|env:\w+)$/
const ownVariables = /^\$\w{0,30}(?:pass|pw|token|secret|key|auth|cred)\w{0,30}$/i

/** What stands in place of a secret and is none: a variable, a template, stars, a word of a manual. */
export function isPlaceholder(value: string): boolean {
  if (value.length < 3 || plainWords.has(value.toLowerCase().replace(/[.,:]$/, '')) || /^(?:id|type|src|source|env)=/.test(value))
    return true
  if (templates.test(value) || variables.test(value) || ownVariables.test(value)) return true
  return /^(.)\1*$/su.test(value) || /^[^\p{L}\p{N}]*$/u.test(value)
}
