import { opened, type RunRow } from './row.ts'

/** Git, editors, shells and desktops. */
export const editors: readonly RunRow[] = [
  {
    of: 'git',
    depth: 'A',
    class: '1',
    when: 'runs with every call of git, also by editors and shell prompts',
    files: '.git .git/** commondir',
  },
  {
    of: 'other version control',
    depth: 'A',
    class: '1',
    when: 'runs with every call of Mercurial, Sapling, Jujutsu, Subversion, Bazaar or Fossil, also by editors and shell prompts',
    files:
      '.hg .hg/** .sl .sl/** .jj .jj/** .svn .svn/** .bzr .bzr/** .fossil .fslckout _FOSSIL_ .fossil-settings/** .pijul/** .darcs/** _darcs/**',
  },
  {
    of: 'other version control',
    depth: 'A',
    class: '2',
    when: 'runs when others are updated with it',
    files: '.hgsub .hgsubstate .hgeol .repo/** .gclient .arcconfig .arclint',
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
    depth: 'A',
    class: '2',
    when: 'runs with git on a commit or push',
    files:
      '.pre-commit-config.{yaml,yml} .pre-commit-hooks.yaml {,.}lefthook{,-local}.{yml,yaml,json,jsonc,toml} .lefthook/** .lintstagedrc* hk.pkl .overcommit.yml .git-hooks/** .huskyrc* {,.}simple-git-hooks.* .commitlintrc*',
  },
  { of: 'VS Code', depth: 'R', class: '3', when: 'runs when you press F5', files: '.vscode/launch.json' },
  {
    of: 'VS Code',
    depth: 'A',
    class: '1*',
    when: opened('VS Code or one of its kin'),
    files: '.vscode/** *.code-workspace .theia/** .codesandbox/**',
  },
  {
    of: 'JetBrains',
    depth: 'R',
    class: '1*',
    when: opened('an IDE of JetBrains'),
    files: '.idea/** .run/** .fleet/** *.iml *.ipr *.iws',
  },
  { of: 'Visual Studio', depth: 'A', class: '1', when: opened('Visual Studio'), files: '.vs/** *.sln *.slnx' },
  {
    of: 'Zed, Helix',
    depth: 'R',
    class: '1*',
    when: opened('that editor'),
    files:
      '.zed/** .helix/** *.sublime-project *.sublime-workspace .lapce/** .kak/** .kakrc .nova/** .atom/** .micro/** .project .classpath .settings/** .externalToolBuilders/** nbproject/**',
  },
  {
    of: 'Vim',
    depth: 'R',
    class: '1*',
    when: opened('Vim or Neovim'),
    files:
      '.exrc .vimrc .gvimrc _vimrc .nvimrc .nvim.lua .lvimrc .vim/** .nvim/** .local.vimrc .vimspector.json Session.vim .projections.json .exrc.lua',
  },
  {
    of: 'Emacs',
    depth: 'U',
    class: '1*',
    when: opened('Emacs'),
    files: '.dir-locals.el .dir-locals-2.el .projectile .emacs.d/** .emacs',
  },
  {
    of: 'language servers',
    depth: 'A',
    class: '1*',
    when: 'runs when an editor with a language server opens the folder',
    files:
      'ruby_lsp/**/addon.rb .clangd .ccls .lsp.json .solargraph.yml .luarc.json{,c} .nlsp-settings/** lspconfig.json .neoconf.json rust-analyzer.toml .rust-analyzer.toml .sqls.yml omnisharp.json elm-tooling.json',
  },
  {
    of: 'shells',
    depth: 'U',
    class: '1*',
    when: 'runs when you enter the folder in a shell',
    files:
      '.envrc devbox.json .autoenv* .env.leave .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .inputrc .config/{fish,git,nvim,autostart,systemd,kitty,alacritty,i3,sway,hypr}/** .gitconfig .curlrc .wgetrc .psqlrc .sqliterc .mongoshrc.js Library/LaunchAgents/** .zshrc.local .bash_aliases .aliases .xprofile .xinitrc .xsessionrc .pam_environment .screenrc .tmux.conf .tmuxinator.yml .tmuxp.{yaml,json} .smug.yml .zellij/** .wezterm.lua .shadowenv.d/** .envrc.*',
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
    files:
      '.tool-versions .asdfrc .nvmrc .*-version .node-version .python-version .ruby-version .java-version .go-version .sdkmanrc',
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
    files:
      'bin/** .bin/** sbin/** vendor/bin/** node_modules/.bin/** {git,npm,npx,node,python,python3,pip,code,make,cmd,powershell,pwsh,bash,sh,ssh,cargo,go,java}.{exe,cmd,bat,com,ps1}',
  },
  {
    of: 'game editors',
    depth: 'A',
    class: '1*',
    when: opened('the editor of that game engine'),
    files: 'project.godot addons/*/plugin.cfg *.uproject *.uplugin Packages/manifest.json',
  },
  {
    of: 'language servers',
    depth: 'A',
    class: '1*',
    when: opened('an editor that speaks to such a server'),
    files: '.ropeproject/** .bsp/*.json buildServer.json .sourcekit-lsp/** .lsp/** .clj-kondo/hooks/**',
  },
  {
    of: 'game engines',
    depth: 'A',
    class: '1*',
    when: opened('Godot or Unreal'),
    files: '*.gdextension init_unreal.py',
  },
]
