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
    files: 'binding.gyp *.gypi .npmrc package-lock.json npm-shrinkwrap.json package.json5 package.yaml',
  },
  {
    of: 'pnpm',
    depth: 'A',
    class: '2',
    when: built('pnpm'),
    files: '.pnpmfile.{cjs,mjs,js} pnpmfile.{js,cjs,mjs} pnpm-workspace.yaml pnpm-lock.yaml',
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
    files: '{,.}bunfig.toml bun.lock bun.lockb deno.json{,c} deno.lock import_map.json importmap.json jsr.json',
  },
  {
    of: 'JavaScript',
    depth: 'A',
    class: '2',
    when: 'runs when you build, test or lint',
    files:
      '*.config.{js,cjs,mjs,ts,mts,cts} *.conf.{js,cjs,mjs,ts,mts,cts} *.workspace.{js,cjs,mjs,ts,mts} .{eslint,prettier,stylelint,babel,mocha,swc,nyc,c8,postcss,release,remark,rehype,markdownlint,jest,ava,tap,nodemon,esbuild,rollup,parcel,terser,size-limit,changelog,lerna,graphql,xo,jscpd,secretlint,textlint,htmlhint,bower,cypress,puppeteer,syncpack,testcafe,cspell,ncu,npmpackagejsonlint,yo-,cz}rc{,.*} {nodemon,ava,tap,cypress,detox,typedoc,cspell,lint-staged,nest-cli,api-extractor,ecosystem,electron-builder}.{json,json5} electron-builder.{yml,yaml} nodemon*.json vitest.{workspace,setup}.* jest.{setup,preset}.* wallaby.{js,cjs} {webpack,rollup,esbuild}.*.{js,cjs,mjs,ts} brunch-config.* ember-cli-build.* .ember-cli{,.js} codegen.{yml,yaml,ts} .graphqlconfig* plopfile.* moon.yml .moon/** .prototools .cz.{json,toml,yaml} .release-it.* .changeset/config.json .versionrc* {gulp,Grunt,jake,cake}file{,.*} tsconfig*.json jsconfig.json nx.json turbo.json lerna.json rush.json biome.json{,c} .oxlintrc.json angular.json karma.conf.* .storybook/** .dependency-cruiser.* .{vitepress,vuepress}/config.* .{vitepress,vuepress}/theme/** gatsby-{config,node,ssr,browser}.* knexfile.* dangerfile.* .eleventy.* .markdownlint-cli2.* .size-limit.* .sequelizerc .plop.* typedoc.{js,cjs,mjs} .*rc.{js,cjs,mjs,ts,cts,mts} {,.}lighthouserc.* .solcover.js .percy.* .vscode-test.* node_modules/**',
  },
  {
    of: 'Python',
    depth: 'A',
    class: '2',
    when: built('Python'),
    files:
      'conftest.py {,.}pytest.ini tox.ini setup.cfg noxfile.py setup.py pyproject.toml hatch_build.py requirements*.{txt,in} constraints*.txt uv.toml uv.lock poetry.lock pdm.lock Pipfile Pipfile.lock {,.}pylintrc {,.}mypy.ini .flake8 {,.}ruff.toml pyrightconfig.json mkdocs.{yml,yaml} conf.py tasks.py fabfile.py dodo.py .coveragerc pip.conf pip.ini .pip/** .pdbrc .pdbrc.toml .pythonrc .pythonrc.py .pythonstartup pytest.toml .pytest.toml .condarc environment.{yml,yaml} conda-lock.yml pixi.toml pixi.lock pdm.toml .pdm.toml poetry.toml hatch.toml invoke.{yaml,yml,json,py} gunicorn.conf.py gunicorn_config.py uwsgi.ini celeryconfig.py locustfile.py alembic.ini .ipython/** ipython_config.py jupyter_*config.{py,json} .jupyter/** pants.toml BUILD.pants pants.ini .pyre_configuration pyrefly.toml ty.toml .bandit .pdbrc.py manage.py alembic/env.py .sqlfluff .reviewboardrc .importlinter .isort.cfg',
  },
  {
    of: 'Python',
    depth: 'A',
    class: '1*',
    when: 'runs with every start of that Python',
    files: '*.pth {site,user}customize.{py,pyc} pyvenv.cfg .venv/** venv/**',
  },
  {
    of: 'Ruby',
    depth: 'A',
    class: '2',
    when: built('Ruby, or when an editor opens it'),
    files:
      'Gemfile Gemfile.lock gems.rb *.gemspec Rakefile *.rake .rspec .irbrc .pryrc .rubocop*.yml .bundle/** extconf.rb Guardfile Podfile Fastfile Dangerfile Brewfile Capfile config.ru .ruby-lsp.yml .overcommit/** .simplecov Thorfile *.thor Appfile Matchfile Steepfile .standard.yml .haml-lint.yml .erb-lint.yml .byebugrc .rdebugrc .gemrc',
  },
  {
    of: 'PHP',
    depth: 'A',
    class: '2',
    when: 'runs when you build, test or serve with PHP',
    files:
      'composer.json composer.lock phpunit.xml* phpunit.dist.xml phpstan*.neon* rector.php .php-cs-fixer*.php psalm.xml* .user.ini php.ini .htaccess ecs.php captainhook.json grumphp.yml{,.dist} phpcs.xml{,.dist} .phpcs.xml{,.dist} castor.php deployer.php deploy.php Envoy.blade.php',
  },
  {
    of: 'JVM',
    depth: 'A',
    class: '2',
    when: built('Gradle, Maven, Ant or sbt'),
    files:
      'gradlew* gradle/wrapper/** {build,settings,init}.gradle* *.gradle *.gradle.kts gradle.properties buildSrc/** mvnw* .mvn/** pom.xml build.xml build.sbt project/*.{sbt,scala,properties} .sbtopts .jvmopts build.mill build.sc project.clj deps.edn bb.edn shadow-cljs.edn build.boot *.sbt .mill-version .scalafmt.conf ivy.xml gradle/libs.versions.toml lombok.config',
  },
  {
    of: 'Rust',
    depth: 'U',
    class: '2',
    when: built('Cargo, or when an editor opens it'),
    files:
      'build.rs Cargo.toml Cargo.lock .cargo/** cross.toml Dioxus.toml Trunk.toml Tauri.toml tauri.conf.json{,5} bacon.toml .config/nextest.toml rust-toolchain rust-toolchain.toml clippy.toml',
  },
  {
    of: 'Go',
    depth: 'A',
    class: '2',
    when: built('Go'),
    files:
      'go.mod go.sum go.work vendor/modules.txt magefile.go magefiles/** .golangci.* .goreleaser.* .air.toml air.toml .ko.yaml .mockery.yaml reflex.conf realize.yaml modd.conf',
  },
  { of: 'Go', depth: 'A', class: '3', when: 'runs with the tests, as any test does', files: '*_test.go' },
  {
    of: 'C and C++',
    depth: 'A',
    class: '2',
    when: 'runs when you configure or make, even with make -n',
    files:
      'GNUmakefile Makefile BSDmakefile Makefile.{am,in,inc} *.mk *.mak configure configure.ac CMakeLists.txt *.cmake CMake*Presets.json meson.build SConstruct SConscript wscript .gn BUILD.gn build.zig conanfile.* xmake.lua premake5.lua build.ninja *.qbs Jamfile Jamroot vcpkg.json vcpkg-configuration.json portfile.cmake Kbuild *.m4 CMakeCache.txt CTestTestfile.cmake platformio.ini Tupfile Tuprules.tup meson.options meson_options.txt *.{pro,pri} .qmake.conf',
  },
  {
    of: 'debuggers',
    depth: 'A',
    class: '3',
    when: 'runs when you debug',
    files: '.gdbinit .gdbearlyinit *-gdb.py *-gdb.gdb .lldbinit .lldbinit-* .ycm_extra_conf.py .radare2rc .pwndbg .gef.rc',
  },
  {
    of: '.NET',
    depth: 'U',
    class: '2',
    when: built('.NET, or when an editor opens it'),
    files:
      'Directory.{Build,Packages,Solution}.* *.{cs,fs,vb,vcx}proj *.{proj,props,targets,user,rsp} nuget.config packages.config global.json .config/dotnet-tools.json *.{nuspec,pubxml,cake,ruleset,runsettings,shproj,projitems,esproj,sqlproj,wixproj,njsproj,pyproj} launchSettings.json build.fsx paket.dependencies',
  },
  {
    of: 'Apple',
    depth: 'A',
    class: '2',
    when: built('Xcode or Swift'),
    files:
      '*.xcodeproj/** *.xcworkspace/** Package.swift *.xcconfig *.xcscheme *.playground/** Cartfile Mintfile Tuist/** Project.swift Workspace.swift .swiftpm/** .swiftlint.yml',
  },
  {
    of: 'other languages',
    depth: 'A',
    class: '2',
    when: 'runs when you build or test',
    files:
      'mix.exs .iex.exs rebar.config Setup.hs *.cabal stack.yaml .ghci dune dune-project pubspec.yaml *.nimble Makefile.PL Build.PL cpanfile .perltidyrc .perlcriticrc .proverc .perldb dist.ini nim.cfg .octaverc artisan foundry.toml truffle.js truffle-config.js Move.toml .formatter.exs .credo.exs mix.lock rebar.lock rebar3.config *.escript cabal.project* hie.yaml .hlint.yaml fourmolu.yaml *.opam myocamlbuild.ml .ocamlinit .merlin esy.json bsconfig.json rescript.json spago.{dhall,yaml} packages.dhall elm.json gleam.toml shard.yml *.rockspec .luacheckrc .busted nimble.lock config.nims *.nims build.jl Project.toml Manifest.toml .lake/** lakefile.{lean,toml} lean-toolchain dub.{json,sdl} build_runner.yaml melos.yaml .erlang v.mod build.zig.zon',
  },
  {
    of: 'task runners',
    depth: 'U',
    class: '2',
    when: 'runs when you run a task',
    files:
      '{,.}justfile Taskfile{,.dist}.{yml,yaml} Earthfile Tiltfile Makefile.toml Snakefile .watchmanconfig *.just Taskfile.* mprocs.y{a,}ml process-compose.y{a,}ml Procfile.dev wireit.json maskfile.md Maidfile.md .runme.yaml dagger.cue cue.mod/** garden.y{a,}ml devspace.y{a,}ml werf.yaml okteto.y{a,}ml .lando.y{a,}ml .ddev/**',
  },
  {
    of: 'Nix',
    depth: 'A',
    class: '2',
    when: built('Nix'),
    files:
      'flake.nix flake.lock shell.nix default.nix devenv.nix devenv.yaml devenv.lock npins/** nix/sources.nix release.nix configuration.nix home.nix manifest.scm guix.scm channels.scm .guix-*',
  },
  {
    of: 'Bazel',
    depth: 'A',
    class: '2',
    when: built('Bazel'),
    files:
      '.bazelrc .bazelversion .bazeliskrc tools/bazel MODULE.bazel WORKSPACE WORKSPACE.{bazel,bzlmod} BUILD BUILD.bazel *.bzl .buckconfig .buckconfig.d/** BUCK .bazelproject .plzconfig* .buckroot tools/bazel.*',
  },
  {
    of: 'infrastructure',
    depth: 'A',
    class: '2',
    when: 'runs when it is planned or applied',
    files:
      '*.tf *.tf.json *.auto.tfvars{,.json} terraform.tfvars{,.json} .terraformrc terraform.rc .terraform/** *.tofu *.tftest.hcl *.pkr.hcl *.nomad .tflint.hcl .terraform.lock.hcl atlantis.yaml terragrunt.hcl root.hcl Pulumi*.{yaml,yml} ansible.cfg library/*.py *_plugins/** .ansible/** .ansible-lint* molecule.yml kitchen.yml .kitchen.yml Puppetfile Berksfile Policyfile.rb',
  },
  {
    of: 'R',
    depth: 'U',
    class: '1*',
    when: 'runs when R or RStudio is started here',
    files: '.Rprofile .Renviron .RData .Rproj.user/** *.Rproj renv/** .rstudio/** _targets.R .lintr',
  },
  {
    of: 'packages and papers',
    depth: 'A',
    class: '2',
    when: 'runs when it is packaged, checked or typeset',
    files:
      'PKGBUILD APKBUILD debian/** snapcraft.yaml *.spec {,.}latexmkrc .chktexrc .trunk/** .qlty/** .mega-linter.yml .reviewdog.yml .super-linter.env',
  },
  { of: 'Julia', depth: 'A', class: '2', when: 'runs when the package is built', files: 'deps/build.jl' },
  {
    of: 'data',
    depth: 'A',
    class: '3',
    when: 'runs when a program loads it',
    files: '*.{pkl,pickle,dill,pt,ckpt,joblib,RData,rds,blend,ipynb,jar,war,class,pyc,keras}',
  },
  {
    of: 'desktops',
    depth: 'A',
    class: '3',
    when: 'runs when it is double-clicked',
    files:
      '*.{service,timer,desktop,webloc,command,terminal,bat,cmd,ps1,psm1,psd1,vbs,vbe,wsf,wsh,jse,hta,reg,msi,msc,cpl,scr,pif,exe,dll,workflow,scpt,applescript,fileloc,inetloc,AppImage,appref-ms,application,settingcontent-ms,chm,jnlp,iso} *.app/** autorun.inf',
  },
  {
    of: 'office',
    depth: 'A',
    class: '3',
    when: 'runs when it is opened with macros on',
    files: '*.{docm,dotm,xlsm,xltm,xlam,xlsb,pptm,potm,ppam,ppsm,xll,slk,iqy,one,doc,dot,xls,xlt,ppt,odb,mdb,accdb}',
  },
]
