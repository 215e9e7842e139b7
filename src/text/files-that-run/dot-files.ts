import { compile } from './match.ts'

/** What tools keep for themselves at the top of a project, or read as plain words: written all day, and nothing runs by it. */
export const plainDotFiles =
  '.{gitkeep,keep,gitignore,dockerignore,npmignore,vercelignore,gcloudignore,helmignore,slugignore,vscodeignore,prettierignore,eslintignore,stylelintignore,hgignore,rgignore,ignore,fdignore,markdownlintignore,cfignore,nowignore,bazelignore} .editorconfig .mailmap .nojekyll .DS_Store .browserslistrc .eslintcache .stylelintcache .coverage .coverage.* .last-run.json .phpunit.result.cache .rspec_status .installed.cfg .{clang-format,yamllint,yamllint.yml,yamllint.yaml,git-blame-ignore-revs,gitmessage} .{cache,pytest_cache,mypy_cache,ruff_cache,next,nuxt,output,svelte-kit,turbo,vite,vitest,parcel-cache,nyc_output,angular,gradle,tox,nox,eggs,ipynb_checkpoints,sass-cache,tmp,temp,astro,docusaurus,expo,dart_tool,serverless,aws-sam,hypothesis,webpack,rollup.cache,rpt2_cache,fusebox,dynamodb,jekyll-cache,bundle-cache,import_linter_cache,pyre,pytype,scannerwork,well-known,changeset,stack-work,cpcache,shadow-cljs,clj-kondo/.cache,build,swc,wrangler,netlify,vercel,firebase,handrail}/** .**/*.{png,jpg,jpeg,gif,webp,ico,svg,log,csv,tmp,swp,bak} .*.{png,jpg,jpeg,gif,webp,ico,log,csv,tmp,swp,bak}'

let plain: RegExp | undefined

/** A file at the top that begins with a dot, or in such a folder, and that is not known to be plain: tools look for their settings there. */
export function mayBeSettings(folded: string): boolean {
  if (!folded.startsWith('.')) return false
  plain ??= compile({ of: '', depth: 'R', class: '3', when: '', files: plainDotFiles })
  // A folder is as plain as what is in it.
  return !plain.test(folded) && !plain.test(`${folded}/x`)
}
