import asyncHooks from 'node:async_hooks'
import { join } from 'node:path'
import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { connect } from '../../local/dynamodb'
import { dynoxide, runsDynoxide } from '../engines-left'
import { openEngine } from '../stores'

const { AsyncLocalStorage } = asyncHooks
afterEach(() => {
  asyncHooks.AsyncLocalStorage = AsyncLocalStorage
  jest.useRealTimers()
})

it('a file that is compiled once for all suites says in errors where they are, in its first line too', () => {
  const makeError: () => Error = require('./first-line')
  expect(makeError().stack).toContain(`${join(__dirname, 'first-line.js')}:1:24`)
})

it('a storage that a suite has used is told of no promise after it', () => {
  const { disableStorages } = require('./storages')
  const storage = new asyncHooks.AsyncLocalStorage<string>()
  storage.enterWith('told')
  expect(storage.getStore()).toBe('told')
  disableStorages()
  expect(storage.getStore()).toBeUndefined()
})

it('what a file gets as an argument is no global that fake timers replace', () => {
  const { sandboxInjectedGlobals } = require('../../jest.config')
  const before = Object.getOwnPropertyDescriptors(globalThis)
  jest.useFakeTimers()
  const now = Object.getOwnPropertyDescriptors(globalThis)
  const replaced = Object.keys(now).filter((name) => now[name]?.value !== before[name]?.value)
  expect(replaced).toContain('Date')
  expect(sandboxInjectedGlobals.filter((name: string) => replaced.includes(name))).toEqual([])
})

const withDynoxide = runsDynoxide() ? it : it.skip
withDynoxide('an engine is left to one suite after another, without tables', async () => {
  const [one, other] = [await openEngine('dynoxide'), await dynoxide()]
  expect(other.endpoint).not.toBe(one.endpoint)
  await one.close()
  await one.close() // leaves it once
  const again = await dynoxide()
  expect(again.endpoint).toBe(one.endpoint)
  expect((await dynoxide()).endpoint).not.toBe(one.endpoint)
  const client = connect(again.endpoint)
  expect((await client.send(new ListTablesCommand())).TableNames).toEqual([])
  client.destroy()
})
