import type { RunRow } from './row.ts'

/** Containers, CI and deployment. */
export const deliver: readonly RunRow[] = [
  {
    of: 'CI',
    depth: 'A',
    class: '1',
    when: 'runs after a push, with the secrets of the CI',
    files:
      '.github/workflows/** .github/actions/** action.{yml,yaml} .gitlab-ci.yml .gitlab/ci/** Jenkinsfile* .circleci/** azure-pipelines* bitbucket-pipelines.yml .buildkite/** .drone.{yml,star,jsonnet} .woodpecker* .woodpecker/** .travis.yml .forgejo/** .gitea/** buildspec.{yml,yaml} {,.}appveyor.yml .cirrus.{yml,star} cloudbuild.{yaml,json} .semaphore/**',
  },
  { of: 'GitHub', depth: 'A', class: '1', when: 'is read by GitHub, its bots and reviews', files: '.github/**' },
  {
    of: 'containers',
    depth: 'A',
    class: '2',
    when: 'runs when you open the folder in a container, parts of it on this machine',
    files: '.devcontainer/** .devcontainer.json',
  },
  {
    of: 'containers',
    depth: 'A',
    class: '2',
    when: 'runs when you build or start the container',
    files: 'Dockerfile* *.Dockerfile Containerfile* {,docker-}compose{,.*,-*}.{yml,yaml} docker-bake.{hcl,json} Vagrantfile',
  },
  {
    of: 'deploying',
    depth: 'R',
    class: '2',
    when: 'counts when it is deployed, reviewed or updated by a bot',
    files:
      'vercel.json netlify.toml wrangler.{toml,json,jsonc} renovate.json{,5} .renovaterc* CODEOWNERS .gitpod.yml fly.toml Procfile',
  },
]
