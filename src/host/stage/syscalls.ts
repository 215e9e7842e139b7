/**
 * How a denied call ends: as the system itself would refuse it, as on a system that never had it, where programs know another
 * way, or as if it were done.
 */
export type SyscallResult = 'done' | 'EPERM' | 'ENOSYS' | 'EINVAL' | 'EAFNOSUPPORT'

/** Numbers of a system call on the two machines we know: [x86_64, aarch64]; null where there is none of that name. */
type Numbers = readonly [x86_64: number | null, aarch64: number | null]

interface Denied {
  why: string
  how: SyscallResult
  calls: Readonly<Record<string, Numbers>>
}

/** The number of a call that is refused to programs, on this machine. */
export function callNumber(name: string, arch: string): number | undefined {
  const column = ['x64', 'arm64'].indexOf(arch)
  return denied.map(({ calls }) => calls[name]?.[column]).find((number) => typeof number === 'number') ?? undefined
}

/** What no program on a stage may ask the kernel for, whatever it is asked with. */
export const denied: readonly Denied[] = [
  {
    why: 'keyrings belong to the user and the session, not to a namespace: from inside, the keys of outside are read, planted and cleared',
    how: 'EPERM',
    calls: { keyctl: [250, 219], add_key: [248, 217], request_key: [249, 218] },
  },
  {
    why: 'large parts of the kernel that hardly a program needs and that most ways out of a namespace led through',
    how: 'EPERM',
    calls: {
      bpf: [321, 280],
      perf_event_open: [298, 241],
      userfaultfd: [323, 282],
      fanotify_init: [300, 262],
      lookup_dcookie: [212, 18],
      get_mempolicy: [239, 236],
      set_mempolicy: [238, 237],
      mbind: [237, 235],
      migrate_pages: [256, 238],
      move_pages: [279, 239],
      set_mempolicy_home_node: [450, 450],
      kcmp: [312, 272],
      pidfd_getfd: [438, 438],
      modify_ldt: [154, null],
    },
  },
  {
    why: 'it does what other calls do, past every filter; those who use it know the other calls',
    how: 'ENOSYS',
    calls: { io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] },
  },
  {
    why: 'mounts and namespaces are the walls of the stage',
    how: 'EPERM',
    calls: {
      mount: [165, 40],
      umount2: [166, 39],
      pivot_root: [155, 41],
      open_tree: [428, 428],
      move_mount: [429, 429],
      fsopen: [430, 430],
      fsconfig: [431, 431],
      fsmount: [432, 432],
      fspick: [433, 433],
      mount_setattr: [442, 442],
      open_tree_attr: [467, 467],
      setns: [308, 268],
      chroot: [161, 51],
    },
  },
  {
    why: 'a file is opened by where it lies on the disk, past the folders above it',
    how: 'EPERM',
    calls: { open_by_handle_at: [304, 265], name_to_handle_at: [303, 264] },
  },
  {
    why: 'its flags lie in memory, where no filter can read them; every C library then takes clone',
    how: 'ENOSYS',
    calls: { clone3: [435, 435] },
  },
  {
    why: 'memory that belongs to no process and no folder, so that nobody can count it; /dev/shm is there, and bounded',
    how: 'ENOSYS',
    calls: { memfd_create: [319, 279], memfd_secret: [447, 447], msgget: [68, 186] },
  },
  {
    why: 'the machine itself',
    how: 'EPERM',
    calls: {
      reboot: [169, 142],
      kexec_load: [246, 104],
      kexec_file_load: [320, 294],
      init_module: [175, 105],
      finit_module: [313, 273],
      delete_module: [176, 106],
      swapon: [167, 224],
      swapoff: [168, 225],
      acct: [163, 89],
      quotactl: [179, 60],
      quotactl_fd: [443, 443],
      iopl: [172, null],
      ioperm: [173, null],
      syslog: [103, 116],
      settimeofday: [164, 170],
      clock_settime: [227, 112],
      sethostname: [170, 161],
      setdomainname: [171, 162],
      vhangup: [153, 58],
    },
  },
  {
    why: 'what nobody has used for decades',
    how: 'ENOSYS',
    calls: {
      uselib: [134, null],
      ustat: [136, null],
      sysfs: [139, null],
      _sysctl: [156, null],
      create_module: [174, null],
      get_kernel_syms: [177, null],
      query_module: [178, null],
      nfsservctl: [180, 42],
      vserver: [236, null],
    },
  },
]

/** The newest call we have judged. Whatever a later kernel adds is not there until somebody has read what it does. */
export const newestCall = 467

/** A question to one argument. Only its lower half is compared where the kernel itself looks at no more. */
export type ArgumentTest =
  | { argument: number; has: number }
  | { argument: number; lacks: number }
  | { argument: number; is: readonly number[] }
  | { argument: number; isNot: readonly number[] }
  | { argument: number; above: number }

interface DeniedWith {
  why: string
  how: SyscallResult
  calls: Readonly<Record<string, Numbers>>
  /** It is denied where all of these hold. */
  when: readonly ArgumentTest[]
}

/** CLONE_NEW*: user, mount, process, network, message, name, group and time namespaces. */
const newNamespace = 0x7e02_0000
const newTime = 0x80
/** CLONE_FILES, CLONE_THREAD. */
const ownFiles = 0x400
const thread = 0x1_0000

/** What depends on how it is asked for. */
export const deniedWith: readonly DeniedWith[] = [
  {
    why: 'a namespace of its own brings every capability in it, and with them most of what the kernel does wrong',
    how: 'EPERM',
    calls: { clone: [56, 220] },
    when: [{ argument: 0, has: newNamespace }],
  },
  {
    why: 'the same',
    how: 'EPERM',
    calls: { unshare: [272, 97] },
    when: [{ argument: 0, has: newNamespace | newTime }],
  },
  {
    why: 'the first process of the stage is what ends all others: who traces it can talk it out of that',
    how: 'EPERM',
    calls: { ptrace: [101, 117] },
    when: [{ argument: 1, is: [1] }],
  },
  {
    why: 'the same, for who writes to its memory',
    how: 'EPERM',
    calls: { process_vm_writev: [311, 271] },
    when: [{ argument: 0, is: [1] }],
  },
  {
    why: 'files that only one thread of a process has open are told of nowhere but under that thread, so nobody could count them',
    how: 'EPERM',
    calls: { unshare: [272, 97] },
    when: [{ argument: 0, has: ownFiles }],
  },
  {
    why: 'the same, for a thread that begins with files of its own',
    how: 'EPERM',
    calls: { clone: [56, 220] },
    when: [
      { argument: 0, has: thread },
      { argument: 0, lacks: ownFiles },
    ],
  },
  {
    why: 'the same, for one that closes some (CLOSE_RANGE_UNSHARE); who uses it knows how to close them one by one',
    how: 'EPERM',
    calls: { close_range: [436, 436] },
    when: [{ argument: 2, has: 2 }],
  },
  {
    why: 'a lease or delegation on a file of the machine, which a read-only view does not stop, makes everybody else who opens it wait',
    how: 'EPERM',
    calls: { fcntl: [72, 25] },
    when: [{ argument: 1, is: [1024, 1039, 1040] }],
  },
  {
    why: 'types into a terminal as if the person did: TIOCSTI, TIOCLINUX',
    how: 'EPERM',
    calls: { ioctl: [16, 29] },
    when: [{ argument: 1, is: [0x5412, 0x541c] }],
  },
  {
    why: 'only this machine’s own sockets and the two kinds of the internet: not the host of a virtual machine (VSOCK), the kernel’s ciphers (ALG), raw frames (PACKET)',
    how: 'EAFNOSUPPORT',
    calls: { socket: [41, 198] },
    when: [{ argument: 0, isNot: [1, 2, 10, 16] }],
  },
  {
    why: 'of what talks to the kernel (NETLINK) only the list of addresses (ROUTE), which name look-ups ask for',
    how: 'EAFNOSUPPORT',
    calls: { socket: [41, 198] },
    when: [
      { argument: 0, is: [16] },
      { argument: 2, isNot: [0] },
    ],
  },
  {
    why: 'pairs are this machine’s own',
    how: 'EAFNOSUPPORT',
    calls: { socketpair: [53, 199] },
    when: [{ argument: 0, isNot: [1] }],
  },
  {
    why: 'memory that can be run although nobody asked for that; what is usual, and what debuggers set, is left',
    how: 'EPERM',
    calls: { personality: [135, 92] },
    when: [{ argument: 0, isNot: [0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff] }],
  },
  {
    why: 'who cannot be looked into cannot be counted (PR_SET_DUMPABLE 0); there is nobody on a stage to hide from',
    how: 'done',
    calls: { prctl: [157, 167] },
    when: [
      { argument: 0, is: [4] },
      { argument: 1, is: [0] },
    ],
  },
  {
    why: 'System V memory stays when nobody has it mapped, so nobody can count it: as many segments as there may be are 256 MB together',
    how: 'EINVAL',
    calls: { shmget: [29, 194] },
    when: [{ argument: 1, above: 65_536 }],
  },
  {
    why: 'the same for semaphores',
    how: 'EINVAL',
    calls: { semget: [64, 190] },
    when: [{ argument: 1, above: 32 }],
  },
]
