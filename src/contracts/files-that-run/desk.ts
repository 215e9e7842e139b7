import { opened, type RunRow } from './row.ts'

/** Git, editors, shells and desktops. */
export const desk: readonly RunRow[] = [
  {
    of: 'git',
    depth: 'A',
    class: '1',
    when: 'runs with every call of git, also by editors and shell prompts',
    files: '.git .git/** commondir',
  },
  { of: 'git', depth: 'A', class: '1', when: 'runs with git on a commit, checkout or push', files: '.githooks/** .husky/**' },
  {
    of: 'git',
    depth: 'A',
    class: '2',
    when: 'picks the programs git runs on a file, and hides changes',
    files: '.gitattributes',
  },
  { of: 'git', depth: 'R', class: '2', when: 'runs when submodules are updated', files: '.gitmodules' },
  {
    of: 'hook managers',
    depth: 'R',
    class: '2',
    when: 'runs with git on a commit or push',
    files:
      '.pre-commit-config.{yaml,yml} .pre-commit-hooks.yaml {,.}lefthook{,-local}.{yml,yaml,json,toml} .lefthook/** .lintstagedrc* hk.pkl .overcommit.yml .git-hooks/** .huskyrc* .simple-git-hooks.* .commitlintrc*',
  },
  { of: 'VS Code', depth: 'R', class: '3', when: 'runs when you press F5', files: '.vscode/launch.json' },
  {
    of: 'VS Code',
    depth: 'A',
    class: '1*',
    when: opened('VS Code or one of its kin'),
    files: '.vscode/** *.code-workspace',
  },
  { of: 'JetBrains', depth: 'R', class: '1*', when: opened('an IDE of JetBrains'), files: '.idea/** .run/** .fleet/**' },
  { of: 'Visual Studio', depth: 'A', class: '1', when: opened('Visual Studio'), files: '.vs/** *.sln *.slnx' },
  { of: 'Zed, Helix', depth: 'R', class: '1*', when: opened('that editor'), files: '.zed/** .helix/** *.sublime-project' },
  {
    of: 'Vim',
    depth: 'R',
    class: '1*',
    when: opened('Vim or Neovim'),
    files: '.exrc .vimrc .gvimrc _vimrc .nvimrc .nvim.lua .lvimrc .vim/**',
  },
  { of: 'Emacs', depth: 'U', class: '1*', when: opened('Emacs'), files: '.dir-locals.el .dir-locals-2.el' },
  {
    of: 'language servers',
    depth: 'A',
    class: '1*',
    when: 'runs when an editor with a language server opens the folder',
    files: 'ruby_lsp/**/addon.rb .clangd .lsp.json .solargraph.yml',
  },
  {
    of: 'shells',
    depth: 'U',
    class: '1*',
    when: 'runs when you enter the folder in a shell',
    files:
      '.envrc devbox.json .autoenv* .env.leave .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .inputrc .config/fish/**',
  },
  {
    of: 'mise',
    depth: 'U',
    class: '1*',
    when: 'runs when you enter the folder in a shell',
    files: '{,.}mise.toml {,.}mise.*.toml .mise/** mise/** .config/mise* .config/mise/** {,.}mise-tasks/**',
  },
  {
    of: 'version managers',
    depth: 'U',
    class: '1*',
    when: 'picks which binary runs when you enter the folder in a shell',
    files: '.tool-versions .nvmrc .node-version .python-version .ruby-version .java-version .go-version .sdkmanrc',
  },
  {
    of: 'Explorer',
    depth: 'A',
    class: '1',
    when: 'does something when somebody looks at the folder in Explorer',
    files: 'desktop.ini *.{lnk,url,scf,library-ms,searchConnector-ms}',
  },
  {
    of: 'PATH',
    depth: 'R',
    class: '2',
    when: 'runs under its name where its folder is on the PATH',
    files: 'bin/** vendor/bin/** node_modules/.bin/** git.exe npm.cmd node.exe',
  },
]
