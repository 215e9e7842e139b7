import { BlockList, isIP } from 'node:net'
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os'
import { lazy } from '../../text/lazy.ts'

/**
 * Where a host leads by its name alone. `machine`: this one. `private`: an address of a network that is not the internet. `public`: any other
 * address. `name`: it must be resolved first. Undefined where it is no host.
 */
export type AddressRange = 'machine' | 'private' | 'public' | 'name'

/** Of a host as `plainHost` writes it. */
export function addressRange(host: string, own = ownNow()): AddressRange {
  if (host === 'localhost' || host.endsWith('.localhost')) return 'machine'
  const address = host.replace(/^\[|\]$/g, '')
  if (isIP(address) === 0) return 'name'
  if (machine().check(address, familyOf(address)) || own.addresses.check(address, familyOf(address))) return 'machine'
  return isPrivate(address, own) ? 'private' : 'public'
}

/** Whether a page that came from the internet must not reach this address, nor a name that leads there. */
export function isPrivate(address: string, own = ownNow()): boolean {
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return true
  return [privateNetworks()[familyOf(address)], own.networks].some((list) => list.check(address, familyOf(address)))
}

/** What this machine is called by itself, and what it reaches without a router: also where these are addresses of the internet. */
interface Own {
  addresses: BlockList
  networks: BlockList
}
let known: { own: Own; until: number } | undefined
const ownMs = 2_000

function ownNow(): Own {
  if (!known || performance.now() >= known.until)
    known = {
      own: ownOf(Object.values(networkInterfaces()).flatMap((some) => some ?? [])),
      until: performance.now() + ownMs,
    }
  return known.own
}

export function ownOf(interfaces: readonly Pick<NetworkInterfaceInfo, 'address' | 'cidr' | 'family'>[]): Own {
  const own = { addresses: new BlockList(), networks: new BlockList() }
  for (const { address, cidr, family } of interfaces) {
    const kind = family === 'IPv6' ? 'ipv6' : 'ipv4'
    own.addresses.addAddress(address, kind)
    if (cidr !== null) add(own.networks, cidr, kind)
  }
  return own
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** One list for each family: a list with mapped addresses in it would take every IPv4 address for one of them. */
const privateNetworks = lazy(() => ({
  ipv4: listOf('ipv4', [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/3',
  ]),
  // Also those that carry an IPv4 address in them: what is behind a translator may be anything.
  ipv6: listOf('ipv6', [
    '::/96',
    '::ffff:0:0/96',
    '::ffff:0:0:0/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '100::/64',
    '2001::/32',
    '2001:db8::/32',
    '2002::/16',
    'fc00::/7',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
  ]),
}))

/** `0.0.0.0` and `::` are connected to as this machine is. */
const machine = lazy(() => listOf('ipv6', ['::1/128', '::/128', '::7f00:0/104'], listOf('ipv4', ['127.0.0.0/8', '0.0.0.0/32'])))

function listOf(family: 'ipv4' | 'ipv6', networks: readonly string[], list = new BlockList()): BlockList {
  for (const net of networks) add(list, net, family)
  return list
}

function add(list: BlockList, net: string, family: 'ipv4' | 'ipv6'): void {
  const [address = '', bits] = net.split('/')
  list.addSubnet(address, Number(bits), family)
}
