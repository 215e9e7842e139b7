import { redact } from '../../text/redact/redact.ts'
import { readGitConfig, writeGitConfig, type GitSetting } from './git-config.ts'
import { lazy } from '../../text/lazy.ts'

/** Says how a value is shown; nothing where it is not. */
type Shape = (value: string) => string | undefined

function fits(make: () => RegExp): Shape {
  const pattern = lazy(make)
  return (value) => (pattern().test(value) ? value : undefined)
}

/** What git knows as a choice. No word of anybody's own is among them. */
const words = new Set(
  (
    'true false yes no on off auto always never input simple current upstream matching nothing tracking only merges interactive preserve ' +
    'merge rebase checkout none all normal untracked dirty diff3 zdiff3 histogram patience minimal myers default copies copy zebra blocks ' +
    'dimmed-zebra plain lf crlf native warn ignore refuse error group umask world everybody sha1 sha256 files reftable scissors strip ' +
    'verbatim whitespace log short full fuller oneline medium iso iso-strict relative local rfc raw human unix column row dense nodense ' +
    'committerdate -committerdate authordate -authordate creatordate -creatordate refname -refname version:refname -version:refname ' +
    'taggerdate -taggerdate fix nowarn error-all fixed extended perl basic on-demand cold noop skipping consecutive keep ' +
    'utf-8 utf8 iso-8859-1 gbk gb2312 gb18030 big5 euc-jp shift_jis sjis euc-kr cp1252 cp936 latin1 updateinstead incremental'
  ).split(' '),
)
const choice: Shape = (value) =>
  value === '' || words.has(value.toLowerCase()) || /^-?\d{1,6}[kmg]?$/i.test(value) ? value : undefined

/** Names of branches and remotes: what git lets be one, and no address. */
const name = fits(() => /^(?!.*\.\.)[^\s:?*[\\^~"'$`;&|<>=\p{C}]{1,200}$/u)
const refspec = fits(() => /^(?!.*(?:\/\/|@))[+^]?[^\s:?[\\^~"'$`;&|<>=\p{C}]{0,200}(?::[^\s:?[\\^~"'$`;&|<>=\p{C}]{1,200})?$/u)
const path = fits(() => /^(?:[A-Za-z]:)?[\p{L}\p{N}._~+/ @-]{1,300}$/u)
const person = fits(() => /^[\p{L}\p{M}\p{N} .,'’()_+&[\]-]{1,100}$/u)
const mail = fits(() => /^[^\s@:/"'$`;&|<>=\p{C}]{1,64}@[A-Za-z\d.-]{1,200}$/u)
const exactly = (...values: string[]): Shape =>
  fits(() => new RegExp(`^(?:${values.map((one) => one.replace(/[%.]/g, '\\$&')).join('|')})$`))

/** What stands for an address that holds more than where something is. */
const noAddress = 'https://hidden.invalid/'
const address: Shape = (value) => addressWithoutLogin(value) ?? noAddress
const nameOrAddress: Shape = (value) => name(value) ?? address(value)

/** The longest stretch of letters and digits that names something; keys are longer. */
const random = /(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{24,}/

/** An address without who asks: no login, nothing asked, no stretch that looks made up by a machine. */
export function addressWithoutLogin(value: string): string | undefined {
  const shown = webAddress(value) ?? shellAddress(value) ?? (value.includes(':') ? undefined : path(value))
  return shown === undefined || random.test(shown) || redact(shown) !== shown ? undefined : shown
}

function webAddress(value: string): string | undefined {
  const [, scheme = '', rest = ''] = /^(https?|ssh|git|git\+ssh|ssh\+git|ftps?|file):\/\/(.*)$/is.exec(value) ?? []
  if (scheme === '') return undefined
  const at = rest.lastIndexOf('@')
  const place = rest.slice(at + 1)
  if (!/^(?:[A-Za-z\d][A-Za-z\d.-]*|\[[\da-f:.]+\])?(?::\d{1,5})?(?:\/(?:[\p{L}\p{N}._~+/-]|%20)*)?$/iu.test(place))
    return undefined
  // Over SSH a short name says whose door it is; what lets in is a key.
  const user = /ssh/i.test(scheme) && /^[a-z_][a-z\d_-]{0,15}@$/.test(rest.slice(0, at + 1)) ? rest.slice(0, at + 1) : ''
  return `${scheme}://${user}${place}`
}

/** `git@host:folder/name.git` */
function shellAddress(value: string): string | undefined {
  const [, user = '', place = ''] = /^([^@:/]*@)?([A-Za-z\d][A-Za-z\d.-]*:(?!\/\/|:)[\p{L}\p{N}._~+/-]+)$/u.exec(value) ?? []
  return place === '' ? undefined : `${/^[a-z_][a-z\d_-]{0,15}@$/.test(user) ? user : ''}${place}`
}

/** Sections of which every setting is shown that is a choice or a small number. */
const choices = new Set(
  (
    'core extensions advice color column gc pack index feature fetch pull push merge diff rebase rerere status log commit tag stash apply ' +
    'blame grep branch checkout receive transfer maintenance submodule worktree am add i18n init user lfs interactive showbranch'
  ).split(' '),
)

/** Settings that are no choice, and those below a name. `*` is any name. */
const shapes: Record<string, Record<string, Shape>> = {
  core: {
    worktree: path,
    hookspath: path,
    excludesfile: path,
    attributesfile: path,
    commentchar: fits(() => /^[^\w\s]$/),
    whitespace: fits(
      () =>
        /^(?:-?(?:blank-at-eol|blank-at-eof|space-before-tab|indent-with-non-tab|tab-in-indent|trailing-space|cr-at-eol)|tabwidth=\d{1,2}|,)*$/,
    ),
  },
  extensions: { partialclone: name },
  user: { name: person, email: mail },
  author: { name: person, email: mail },
  committer: { name: person, email: mail },
  init: { defaultbranch: name },
  remote: { pushdefault: name },
  'remote.*': {
    url: address,
    pushurl: address,
    fetch: refspec,
    push: refspec,
    tagopt: exactly('--tags', '--no-tags'),
    partialclonefilter: fits(() => /^(?:blob:none|blob:limit=\d{1,9}[kmg]?|tree:\d{1,3})$/i),
    ...choicesOf('mirror prune prunetags skipdefaultupdate skipfetchall promisor followremotehead'),
  },
  'branch.*': { remote: nameOrAddress, pushremote: nameOrAddress, merge: name, ...choicesOf('rebase') },
  'submodule.*': { url: address, branch: name, path, ...choicesOf('active update ignore fetchrecursesubmodules shallow') },
  'filter.*': {
    clean: exactly('git-lfs clean -- %f'),
    smudge: exactly('git-lfs smudge -- %f', 'git-lfs smudge --skip -- %f'),
    process: exactly('git-lfs filter-process', 'git-lfs filter-process --skip'),
    ...choicesOf('required'),
  },
  'merge.*': { driver: exactly('true') },
}

function choicesOf(keys: string): Record<string, Shape> {
  return Object.fromEntries(keys.split(' ').map((key) => [key, choice]))
}

/** The setting as programs may see it; nothing where it is none of those that are known to hold no secret. */
function shown(setting: GitSetting): GitSetting | undefined {
  const { section, subsection, value } = setting
  const shape = shapeOf(section, subsection, setting.key.toLowerCase())
  if (!shape || !isShownHeading(setting)) return undefined
  if (value === undefined) return setting
  const seen = shape(value)
  return seen === undefined || redact(seen) !== seen ? undefined : { ...setting, value: seen }
}

function shapeOf(section: string, subsection: string | undefined, key: string): Shape | undefined {
  const known = shapes[subsection === undefined ? section : `${section}.*`]
  if (known && Object.hasOwn(known, key)) return known[key]
  return subsection === undefined && choices.has(section) ? choice : undefined
}

function isShownHeading({ section, subsection }: Pick<GitSetting, 'section' | 'subsection'>): boolean {
  if (subsection === undefined) return choices.has(section) || Object.hasOwn(shapes, section)
  return (
    Object.hasOwn(shapes, `${section}.*`) && /^[^:@=?"\\\p{C}]{1,200}$/u.test(subsection) && redact(subsection) === subsection
  )
}

/** Git's settings as programs may read them: what is known, and nothing else. The same text where that is all there is. */
export function filteredGitConfig(text: string): string {
  const { settings, headings, more } = readGitConfig(text)
  const seen = settings.map(shown)
  const whole = !more && headings.every(isShownHeading) && seen.every((one, index) => one && one.value === settings[index]?.value)
  return whole ? text : writeGitConfig(seen.filter((one) => one !== undefined))
}

/** A text with addresses in it, such as the log of a branch, without the logins. */
export function withoutLogins(text: string): string {
  if (!text.includes('://')) return text
  return text.replace(/[a-z][a-z\d+.-]{0,30}:\/\/[^\s'"<>]*/gi, (word) => {
    const rest = word.slice(word.indexOf('://') + 3)
    if (!/[@?#;=]/.test(rest) && redact(word) === word) return word
    return addressWithoutLogin(word.replace(/[,.:;]+$/, '')) ?? noAddress
  })
}
