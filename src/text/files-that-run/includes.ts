import { foldName } from '../fold-name.ts'
import { expand } from './match.ts'

/** Files that take other files in: what those hold counts as if it stood in them. Which they are is read off the first group of each expression. */
export interface IncludeRow {
  /** Names, in any folder, with `*` and `{a,b}`; blanks between them. */
  files: string
  says: readonly RegExp[]
  /** What is taken in may take in others in the same words. */
  deep?: true
  /** They are modules of Python, told by name. */
  modules?: true
}

/** A string, or a list of them. */
const strings = String.raw`(\[[^\]]{0,2000}|\([^)]{0,2000}|"[^"\n]*"|'[^'\n]*')`
/** What stands in the list below a key of YAML, or right behind it. */
const listed = (keys: string): RegExp => new RegExp(String.raw`^[ \t-]*(?:${keys}):((?:[^\n]*\n[ \t]*-)*[^\n]*)`, 'gm')

const rows: readonly IncludeRow[] = [
  {
    files: 'Makefile GNUmakefile BSDmakefile Makefile.{am,in,inc} *.mk *.mak Kbuild',
    says: [/^[ \t]*[-s]?include[ \t]+([^\n#]+)/gm, /^[.!][ \t]*[-sd]?include[ \t]+([^\n#]+)/gim],
    deep: true,
  },
  { files: 'build.ninja', says: [/^(?:include|subninja)[ \t]+([^\n#]+)/gm], deep: true },
  { files: 'CMakeLists.txt *.cmake', says: [/\binclude[ \t]*\(\s*([^)]{1,500})/gi], deep: true },
  {
    files: '{,.}justfile *.just',
    says: [/^(?:import\??|mod\??[ \t]+[\w-]+)[ \t]+(["'][^\n]+)/gm],
    deep: true,
  },
  {
    files: 'Taskfile.{yml,yaml} Taskfile.dist.{yml,yaml}',
    says: [/^[ \t]+taskfile:[ \t]*([^\n]+)/gm, /^includes:[^\n]*\n((?:[ \t]+[^\n]*\n?)+)/gm],
    deep: true,
  },
  {
    files: 'tsconfig*.json jsconfig.json',
    says: [new RegExp(String.raw`"(?:extends|name)"\s*:\s*${strings}`, 'g')],
    deep: true,
  },
  { files: '.gitlab-ci.yml', says: [listed('include|local')], deep: true },
  {
    files: '{,docker-}compose{,.*,-*}.{yml,yaml} podman-compose{,.*}.{yml,yaml}',
    says: [listed('include|path|file|extends|dockerfile')],
    deep: true,
  },
  // Its scripts are another matter; these are sections that linters and test runners read.
  {
    files: 'package.json',
    says: [
      new RegExp(
        String.raw`"(?:extends|presets?|plugins|setupFiles(?:AfterEnv)?|global(?:Setup|Teardown)|testEnvironment|runner|parser|prettier)"\s*:\s*${strings}`,
        'g',
      ),
    ],
  },
  { files: 'docker-bake.{hcl,json}', says: [/"?\bdockerfile"?\s*[:=]\s*("[^"\n]*")/g] },
  {
    files:
      '*.config.{js,cjs,mjs,ts,mts,cts} *.conf.{js,cjs,mjs,ts,mts,cts} *.workspace.{js,cjs,mjs,ts,mts} {gulp,Grunt,jake}file{,.*} .pnpmfile.{cjs,mjs,js} .{eslint,prettier,stylelint,babel,mocha,swc,nyc,postcss,release,remark}rc{,.*}',
    says: [
      /\b(?:from|import|require(?:\.resolve)?)\s*\(?\s*(["']\.{1,2}\/[^"'\n]+)/g,
      new RegExp(
        String.raw`\b(?:extends|plugins?|jsPlugins|presets?|require|loader|setupFiles(?:AfterEnv)?|global(?:Setup|Teardown)|reporters?|testEnvironment|runner|parser|formatter)["']?\s*:\s*${strings}`,
        'g',
      ),
      listed('extends|plugins|require|presets|parser'),
    ],
  },
  {
    files: 'conftest.py',
    says: [new RegExp(String.raw`^pytest_plugins\s*=\s*${strings}`, 'gm')],
    modules: true,
  },
  {
    files: '{,.}pytest.ini tox.ini setup.cfg pyproject.toml {,.}mypy.ini {,.}pylintrc',
    says: [/(?:^|[\s"'])-p[ \t=]*([\w.]+)/gm, /^[ \t]*(?:load-plugins|plugins)[ \t]*=([^\n]*(?:\n[ \t]+[^\n=]+$)*)/gm],
    modules: true,
  },
  {
    files: 'requirements*.{txt,in} constraints*.txt',
    says: [/^[ \t]*(?:-[rc]|--requirement|--constraint)[ \t=]*([^\n#]+)/gm],
    deep: true,
  },
  { files: 'mkdocs.{yml,yaml}', says: [listed('hooks|INHERIT')] },
  {
    files: 'Rakefile *.rake Gemfile gems.rb *.gemspec Guardfile Podfile Vagrantfile config.ru',
    says: [/\b(?:require_relative|load|import|eval_gemfile|File\.(?:read|expand_path))[ \t(]+(["'][^"'\n]+)/g],
  },
  { files: '.rspec', says: [/(?:^|\s)(?:-r|--require)[ \t=]*(\S+)/gm] },
  {
    files: '*.gradle *.gradle.kts',
    says: [/\bapply[ \t(]*from[ \t]*[:=][ \t]*(?:file|uri)?\(?[ \t]*(["'][^"'\n]+)/g],
    deep: true,
  },
  {
    files: '*.{cs,fs,vb,vcx}proj *.{proj,props,targets}',
    says: [/<Import\b[^>]{0,200}\bProject\s*=\s*("[^"\n]*")/gi],
    deep: true,
  },
  { files: '*.xcconfig', says: [/^#include\??[ \t]*("[^"\n]*")/gm], deep: true },
  { files: '{flake,shell,default,devenv,release}.nix', says: [/(?<![\w./])(\.{1,2}\/[\w./+-]+)/g], deep: true },
  { files: 'SConstruct SConscript', says: [new RegExp(String.raw`\bSConscript\s*\(\s*${strings}`, 'g')], deep: true },
  { files: 'Snakefile', says: [/^[ \t]*include:[ \t]*(["'][^"'\n]+)/gm], deep: true },
  { files: 'phpunit.xml{,.dist} phpunit.dist.xml', says: [/\bbootstrap\s*=\s*("[^"\n]*")/g] },
  { files: 'phpstan*.neon{,.dist}', says: [listed('includes|bootstrapFiles')], deep: true },
]

type Fit = readonly [before: string, after: string, row: IncludeRow]

/** By the whole name, by its ending from some dot on, and what has a `*` elsewhere by its first letters. */
const tables = { name: new Map<string, IncludeRow>(), ending: new Map<string, IncludeRow>(), first: new Map<string, Fit[]>() }
const firstLetters = 3
for (const row of rows)
  for (const file of row.files.toLowerCase().split(' ').flatMap(expand)) {
    const [before = '', after] = file.split('*')
    if (after === undefined) tables.name.set(file, row)
    else if (before === '') tables.ending.set(after, row)
    else {
      const key = before.slice(0, firstLetters)
      tables.first.set(key, [...(tables.first.get(key) ?? []), [before, after, row]])
    }
  }

/** Whether a file of this name takes others in, and how it says so. Asked of every name in a project, so mostly a few looks at a table. */
export function includeRowOf(name: string): IncludeRow | undefined {
  const folded = foldName(name)
  let found = tables.name.get(folded)
  for (let dot = folded.indexOf('.'); dot >= 0 && !found; dot = folded.indexOf('.', dot + 1))
    found = tables.ending.get(folded.slice(dot))
  const odd = found ? undefined : tables.first.get(folded.slice(0, firstLetters))
  return found ?? odd?.find(([before, after]) => folded.startsWith(before) && folded.endsWith(after))?.[2]
}

/** More than anybody takes into one file by name. */
const mostIncludes = 500

/** What a text takes in, in its own words. */
export function includesIn({ says, modules }: IncludeRow, text: string): string[] {
  const found: string[] = []
  for (const one of says)
    for (const [, words = ''] of text.matchAll(one)) {
      if (found.length >= mostIncludes) return found
      found.push(modules ? words.replaceAll(/[\w.]+/g, '-m $&') : words)
    }
  return found
}

/** All of them, for the docs. A test walks it. */
export function includeNames(): string[] {
  return rows.flatMap(({ files }) => files.split(' '))
}
