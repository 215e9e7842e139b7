import { expect, test } from 'vitest'
import { isPrivate, ownOf, addressRange } from './address-range.ts'

const own = ownOf([
  { address: '127.0.0.1', cidr: '127.0.0.1/8', family: 'IPv4' },
  { address: '11.22.33.44', cidr: '11.22.33.44/29', family: 'IPv4' },
  { address: '2a01:4f8:1:2::5', cidr: '2a01:4f8:1:2::5/64', family: 'IPv6' },
  { address: 'fe80::1', cidr: 'fe80::1/64', family: 'IPv6' },
])

test('addresses of this machine and its network are no internet, even where they are public', () => {
  const where = (host: string) => addressRange(host, own)
  expect(where('11.22.33.44')).toBe('machine')
  expect(where('[2a01:4f8:1:2::5]')).toBe('machine')
  expect(where('[::ffff:b16:212c]')).toBe('machine')
  expect(where('11.22.33.42')).toBe('private')
  expect(where('[2a01:4f8:1:2::77]')).toBe('private')
  expect(isPrivate('2a01:4f8:1:2::77', own)).toBe(true)
  expect(isPrivate('11.22.33.44', own)).toBe(true)
  expect(where('11.22.33.48')).toBe('public')
  expect(where('[2a01:4f8:1:3::5]')).toBe('public')
  expect(where('93.184.216.34')).toBe('public')
})
