import type { RunRow } from './row.ts'

/** Containers, CI and deployment. */
export const deliver: readonly RunRow[] = [
  {
    of: 'CI',
    depth: 'A',
    class: '1',
    when: 'runs after a push, with the secrets of the CI',
    files:
      '.github/workflows/** .github/actions/** action.{yml,yaml} .gitlab-ci.yml .gitlab/ci/** Jenkinsfile* .circleci/** azure-pipelines* bitbucket-pipelines.yml .buildkite/** .drone.{yml,star,jsonnet} .woodpecker* .woodpecker/** .travis.yml .forgejo/** .gitea/** buildspec.{yml,yaml} {,.}appveyor.yml .cirrus.{yml,star} cloudbuild.{yaml,json} .semaphore/** .tekton/** .teamcity/** .gitlab/** wercker.yml codeship-*.yml .builds/** .build.yml .sourcehut.yml codemagic.yaml bitrise.yml .harness/** .dagger/** dagger.json .azuredevops/** .azure-pipelines/** .vsts-ci.yml .concourse/** screwdriver.yaml .argo/** skaffold.yaml .earthly/** .ado/** {,.}readthedocs.{yaml,yml} .taskcluster.yml {,.}zuul.{yaml,yml} {,.}zuul.d/** {,.}packit.{yaml,yml} .copr/** .vela.{yml,yaml} .shippable.yml .scrutinizer.yml .evergreen.{yml,yaml} .prow.yaml .prow/**',
  },
  { of: 'GitHub', depth: 'A', class: '1', when: 'is read by GitHub, its bots and reviews', files: '.github/**' },
  {
    of: 'containers',
    depth: 'A',
    class: '2',
    when: 'runs when you open the folder in a container, parts of it on this machine',
    files:
      '.devcontainer/** .devcontainer.json .gitpod.yml .gitpod/** .gitpod.Dockerfile .replit replit.nix .codespaces/** .daytona/** devfile.y{a,}ml .devfile.y{a,}ml .stackblitzrc sandbox.config.json .idx/dev.nix .coder/**',
  },
  {
    of: 'containers',
    depth: 'A',
    class: '2',
    when: 'runs when you build or start the container',
    files:
      'Dockerfile* *.Dockerfile Containerfile* {,docker-}compose{,.*,-*}.{yml,yaml} docker-bake{,.override}.{hcl,json} Vagrantfile podman-compose{,.*}.{yml,yaml} Chart.yaml helmfile.{yaml,yml} kustomization.{yaml,yml} cloud-init.{yaml,yml} Boxfile',
  },
  {
    of: 'deploying',
    depth: 'U',
    class: '2',
    when: 'counts when it is deployed, reviewed or updated by a bot',
    files:
      'vercel.json netlify.toml wrangler.{toml,json,jsonc} renovate.json{,5} .renovaterc* CODEOWNERS fly.toml Procfile Procfile.* render.yaml railway.{json,toml} heroku.yml firebase.json .firebaserc amplify.yml serverless.{yml,yaml,json,ts,js} sst.config.* samconfig.toml cdk.json dependabot.yml mergify.yml .mergify.yml .coderabbit.y{a,}ml codecov.yml .codecov.yml sonar-project.properties .probot/** .allstar/** .ebextensions/** .elasticbeanstalk/** .platform/** .platform.app.yaml .upsun/** appspec.{yml,yaml} apprunner.yaml nixpacks.toml captain-definition .openshift/** .s2i/** .buildpacks eas.json bors.toml .kodiak.toml',
  },
]
