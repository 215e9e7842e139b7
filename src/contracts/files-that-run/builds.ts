import { built, type RunRow } from './row.ts'

/** What an agent edits all day in its own ecosystem: languages and builds; last, what runs only when somebody opens it. */
export const builds: readonly RunRow[] = [
  // Everyday, but what runs by itself on any install stands in it beside all else.
  { of: 'npm', depth: 'A', class: '1*', when: built('npm, pnpm, Yarn or Bun, some of it by itself'), files: 'package.json' },
  {
    of: 'npm',
    depth: 'A',
    class: '2',
    when: built('npm, pnpm, Yarn or Bun'),
    files: 'binding.gyp .npmrc package-lock.json npm-shrinkwrap.json',
  },
  {
    of: 'pnpm',
    depth: 'A',
    class: '2',
    when: built('pnpm'),
    files: '.pnpmfile.{cjs,mjs,js} pnpmfile.js pnpm-workspace.yaml pnpm-lock.yaml',
  },
  {
    of: 'Yarn',
    depth: 'A',
    class: '2',
    when: built('Yarn'),
    files: '.yarnrc .yarnrc.yml .yarn/** .pnp.* yarn.lock yarn.config.cjs',
  },
  {
    of: 'Bun, Deno',
    depth: 'A',
    class: '2',
    when: built('Bun or Deno'),
    files: '{,.}bunfig.toml bun.lock bun.lockb deno.json{,c} deno.lock',
  },
  {
    of: 'JavaScript',
    depth: 'A',
    class: '2',
    when: 'runs when you build, test or lint',
    files:
      '*.config.{js,cjs,mjs,ts,mts,cts} .{eslint,prettier,stylelint,babel,mocha,swc,nyc,postcss,release,remark,markdownlint}rc* {gulp,Grunt}file.* tsconfig*.json jsconfig.json nx.json turbo.json lerna.json rush.json biome.json{,c} .oxlintrc.json angular.json karma.conf.* .storybook/** .dependency-cruiser.* node_modules/**',
  },
  {
    of: 'Python',
    depth: 'A',
    class: '2',
    when: built('Python'),
    files:
      'conftest.py {,.}pytest.ini tox.ini setup.cfg noxfile.py setup.py pyproject.toml hatch_build.py requirements*.{txt,in} constraints*.txt uv.toml uv.lock poetry.lock pdm.lock Pipfile Pipfile.lock {,.}pylintrc {,.}mypy.ini .flake8 {,.}ruff.toml pyrightconfig.json mkdocs.{yml,yaml} conf.py tasks.py fabfile.py dodo.py .coveragerc pip.conf .pdbrc',
  },
  {
    of: 'Python',
    depth: 'A',
    class: '1*',
    when: 'runs with every start of that Python',
    files: '*.pth sitecustomize.py usercustomize.py pyvenv.cfg .venv/** venv/**',
  },
  {
    of: 'Ruby',
    depth: 'A',
    class: '2',
    when: built('Ruby, or when an editor opens it'),
    files:
      'Gemfile Gemfile.lock gems.rb *.gemspec Rakefile *.rake .rspec .irbrc .pryrc .rubocop*.yml .bundle/** extconf.rb Guardfile Podfile Fastfile Dangerfile Brewfile Capfile config.ru',
  },
  {
    of: 'PHP',
    depth: 'A',
    class: '2',
    when: 'runs when you build, test or serve with PHP',
    files:
      'composer.json composer.lock phpunit.xml* phpunit.dist.xml phpstan*.neon* rector.php .php-cs-fixer*.php psalm.xml* .user.ini .htaccess',
  },
  {
    of: 'JVM',
    depth: 'A',
    class: '2',
    when: built('Gradle, Maven, Ant or sbt'),
    files:
      'gradlew* gradle/wrapper/** {build,settings,init}.gradle* *.gradle *.gradle.kts gradle.properties buildSrc/** mvnw* .mvn/** pom.xml build.xml build.sbt project/*.{sbt,scala,properties} .sbtopts .jvmopts build.mill project.clj deps.edn',
  },
  {
    of: 'Rust',
    depth: 'U',
    class: '2',
    when: built('Cargo, or when an editor opens it'),
    files: 'build.rs Cargo.toml Cargo.lock .cargo/** rust-toolchain rust-toolchain.toml clippy.toml',
  },
  {
    of: 'Go',
    depth: 'A',
    class: '2',
    when: built('Go'),
    files: 'go.mod go.sum go.work vendor/modules.txt magefile.go magefiles/** .golangci.* .goreleaser.*',
  },
  { of: 'Go', depth: 'A', class: '3', when: 'runs with the tests, as any test does', files: '*_test.go' },
  {
    of: 'C and C++',
    depth: 'A',
    class: '2',
    when: 'runs when you configure or make, even with make -n',
    files:
      'GNUmakefile Makefile BSDmakefile Makefile.{am,in,inc} *.mk configure configure.ac CMakeLists.txt *.cmake CMake*Presets.json meson.build SConstruct SConscript wscript .gn BUILD.gn build.zig conanfile.* xmake.lua build.ninja',
  },
  {
    of: 'debuggers',
    depth: 'R',
    class: '3',
    when: 'runs when you debug',
    files: '.gdbinit *-gdb.py .lldbinit .ycm_extra_conf.py',
  },
  {
    of: '.NET',
    depth: 'U',
    class: '2',
    when: built('.NET, or when an editor opens it'),
    files:
      'Directory.{Build,Packages,Solution}.* *.{cs,fs,vb,vcx}proj *.{proj,props,targets,user,rsp} nuget.config global.json .config/dotnet-tools.json',
  },
  {
    of: 'Apple',
    depth: 'A',
    class: '2',
    when: built('Xcode or Swift'),
    files: '*.xcodeproj/** *.xcworkspace/** Package.swift *.xcconfig',
  },
  {
    of: 'other languages',
    depth: 'A',
    class: '2',
    when: 'runs when you build or test',
    files:
      'mix.exs .iex.exs rebar.config Setup.hs *.cabal stack.yaml .ghci dune dune-project pubspec.yaml *.nimble Makefile.PL Build.PL foundry.toml',
  },
  {
    of: 'task runners',
    depth: 'U',
    class: '2',
    when: 'runs when you run a task',
    files: '{,.}justfile Taskfile{,.dist}.{yml,yaml} Earthfile Tiltfile Makefile.toml Snakefile .watchmanconfig',
  },
  {
    of: 'Nix',
    depth: 'A',
    class: '2',
    when: built('Nix'),
    files: 'flake.nix flake.lock shell.nix default.nix devenv.nix devenv.yaml',
  },
  {
    of: 'Bazel',
    depth: 'A',
    class: '2',
    when: built('Bazel'),
    files:
      '.bazelrc .bazelversion .bazeliskrc tools/bazel MODULE.bazel WORKSPACE WORKSPACE.{bazel,bzlmod} BUILD BUILD.bazel *.bzl .buckconfig',
  },
  {
    of: 'infrastructure',
    depth: 'A',
    class: '2',
    when: 'runs when it is planned or applied',
    files:
      '*.tf *.tf.json *.auto.tfvars terraform.tfvars terragrunt.hcl Pulumi*.{yaml,yml} ansible.cfg library/*.py *_plugins/**',
  },
  {
    of: 'R',
    depth: 'R',
    class: '1*',
    when: 'runs when R or RStudio is started here',
    files: '.Rprofile .Renviron .RData renv/activate.R',
  },
  { of: 'Julia', depth: 'A', class: '2', when: 'runs when the package is built', files: 'deps/build.jl' },
  { of: 'data', depth: 'A', class: '3', when: 'runs when a program loads it', files: '*.{pkl,pt,joblib,RData,blend}' },
  {
    of: 'desktops',
    depth: 'A',
    class: '3',
    when: 'runs when it is double-clicked',
    files: '*.{desktop,webloc,command,terminal,bat,cmd,ps1,vbs,hta,reg} *.app/** autorun.inf',
  },
  {
    of: 'office',
    depth: 'A',
    class: '3',
    when: 'runs when it is opened with macros on',
    files: '*.{docm,dotm,xlsm,xlam,pptm,xll,slk,one,doc,xls}',
  },
]
