import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { giveLabel } from '../../lib/seed/api-label'
import { handler, type SeedRequest } from '../../lib/seed/handler'
import type { Engine } from '../../local/engines/engine'
import { documentsOf } from '../../provisioning/documents'
import { createConfigTable } from '../../tiered/create-config-table'
import { sluice } from '../cli/command-line'
import { runsDynoxide } from '../engines-left'
import { engineFor } from '../stores'
import { customResource } from './cloudformation'

const group = runsDynoxide() ? describe : describe.skip

group(
  `a label that a stack gives${runsDynoxide() ? '' : ' (skipped: dynoxide, which has transactions, is for Linux on x64)'}`,
  () => {
    let engine: Engine
    let client: DynamoDBClient
    let table = ''
    let tables = 0

    beforeAll(async () => {
      engine = await engineFor()
      const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
      client = new DynamoDBClient({ endpoint: engine.endpoint, region: 'us-east-1', credentials })
    })
    afterAll(async () => {
      client?.destroy()
      await engine?.stop()
    })
    beforeEach(async () => {
      table = `config-${tables++}`
      await createConfigTable(client, table)
    })
    const { answers, responseUrl } = customResource(() => engine.endpoint)

    interface Ask {
      readonly label?: string
      readonly name?: string
      readonly physical?: string
      readonly resource?: string
      readonly stack?: string
      readonly table?: string
    }

    /** What CloudFormation asks of the function, and what it hears. */
    async function ask(RequestType: SeedRequest['RequestType'], Id: string, more: Ask = {}) {
      const {
        label: Label = 'shop',
        name: Name = 'Shop',
        physical,
        resource = 'Label',
        stack = 'stack',
        table: TableName = table,
      } = more
      const ResponseURL = responseUrl()
      const PhysicalResourceId = physical ?? (RequestType === 'Create' ? undefined : `api#${Id}`)
      const ids = { StackId: stack, RequestId: 'request', LogicalResourceId: resource, PhysicalResourceId }
      await handler({ RequestType, ResponseURL, ...ids, ResourceProperties: { TableName, Api: { Id, Name, Label } } })
      const { Status, Reason, PhysicalResourceId: answered } = answers.at(-1)!
      return [Status, answered, Reason.replace('the config table could not be seeded: ', '')]
    }
    const cli = (...args: string[]) => sluice(['apis', ...args, '--table', table, '--endpoint', engine.endpoint])
    const called = async () =>
      Object.fromEntries(
        JSON.parse((await cli('list', '--json')).out).map((one: { id: string; label?: string }) => [one.id, one.label]),
      )
    const rest = async () => {
      const { Items = [] } = await DynamoDBDocumentClient.from(client).send(new ScanCommand({ TableName: table }))
      return Items.map(({ pk, sk }) => `${pk} ${sk}`).filter(
        (key) => key !== 'api-labels version' && !key.startsWith('audit '),
      )
    }

    it('is created and deleted with its stack; its physical id is the API’s', async () => {
      expect(await ask('Create', 'a1')).toEqual(['SUCCESS', 'api#a1', ''])
      expect(JSON.parse((await cli('list', '--json')).out)).toEqual([{ id: 'a1', name: 'Shop', label: 'shop' }])
      expect(await ask('Update', 'a1', { label: 'store' })).toEqual(['SUCCESS', 'api#a1', ''])
      expect(await called()).toEqual({ a1: 'store' })
      expect(await ask('Delete', 'a1')).toEqual(['SUCCESS', 'api#a1', ''])
      expect(await rest()).toEqual([])
    })

    it('is written once if CloudFormation repeats its request', async () => {
      await ask('Create', 'a1')
      expect(await ask('Create', 'a1')).toEqual(['SUCCESS', 'api#a1', ''])
      await ask('Delete', 'a1')
      expect(await ask('Delete', 'a1')).toEqual(['SUCCESS', 'api#a1', ''])
      expect(await rest()).toEqual([])
    })

    it('moves to an API that replaces another, and back in a rollback', async () => {
      await ask('Create', 'old')
      expect(await ask('Update', 'new', { physical: 'api#old' })).toEqual(['SUCCESS', 'api#new', ''])
      expect(await called()).toEqual({ new: 'shop' })
      await ask('Update', 'old', { physical: 'api#new' }) // the rollback
      await ask('Delete', 'new')
      expect(await called()).toEqual({ old: 'shop' })
      await ask('Update', 'new', { physical: 'api#old' })
      await ask('Delete', 'old') // the clean-up
      expect(await called()).toEqual({ new: 'shop' })
    })

    it('fails if another API has the label, and nothing is written', async () => {
      await cli('label', 'b2', 'shop')
      const sentence = 'label "shop" is already used by API b2: choose another one, or run sluice apis remove b2 first'
      expect(await ask('Create', 'a1')).toEqual(['FAILED', 'api#a1', sentence])
      expect(await ask('Delete', 'a1')).toEqual(['SUCCESS', 'api#a1', '']) // what CloudFormation does then
      expect(await rest()).toEqual(['policy-set api#b2'])
      await ask('Create', 'a1', { label: 'cart' })
      expect((await ask('Update', 'a1'))[0]).toBe('FAILED')
      expect(await ask('Update', 'a1', { label: 'cart' })).toEqual(['SUCCESS', 'api#a1', ''])
      expect(await called()).toEqual({ a1: 'cart', b2: 'shop' })
    })

    it('fails at the first deployment if operators gave the API another label', async () => {
      await cli('label', 'a1', 'mine')
      expect(await ask('Create', 'a1')).toEqual([
        'FAILED',
        'api#a1',
        'API a1 already has the label "mine", which this stack did not set: run sluice apis remove a1, or set as: \'mine\'',
      ])
      await ask('Delete', 'a1')
      expect(await called()).toEqual({ a1: 'mine' })
      expect((await ask('Create', 'a1', { label: 'mine' }))[0]).toBe('SUCCESS')
      await ask('Delete', 'a1', { label: 'mine' })
      expect(await called()).toEqual({ a1: 'mine' }) // it was theirs
    })

    it('stays as operators changed it, through later deployments and the deletion of the stack', async () => {
      await ask('Create', 'a1')
      await cli('label', 'a1', 'mine')
      expect((await ask('Update', 'a1', { label: 'store' }))[0]).toBe('SUCCESS')
      await ask('Update', 'a1')
      expect(await called()).toEqual({ a1: 'mine' })
      await ask('Delete', 'a1')
      expect(await rest()).toEqual(['policy-set api#a1'])
    })

    it('is written again with the next change if operators removed it and no other API has it', async () => {
      await ask('Create', 'a1')
      await cli('remove', 'a1', '--yes')
      await ask('Update', 'a1', { name: 'Shop 2' })
      expect(await called()).toEqual({ a1: 'shop' })
      await cli('remove', 'a1', '--yes')
      await cli('label', 'b2', 'shop')
      expect((await ask('Update', 'a1', { name: 'Shop 3' }))[0]).toBe('FAILED')
      expect(await called()).toEqual({ b2: 'shop' })
    })

    it('belongs to the resource that wrote it last, and returns to the earlier one in a rollback', async () => {
      await ask('Create', 'a1', { resource: 'Old' })
      await ask('Create', 'a1', { resource: 'New', label: 'store' })
      await ask('Delete', 'a1', { resource: 'Old' })
      expect(await called()).toEqual({ a1: 'store' })
      await ask('Create', 'a1', { resource: 'Newer', label: 'last' })
      await ask('Delete', 'a1', { resource: 'Newer' })
      expect(await called()).toEqual({ a1: 'store' })
      await ask('Delete', 'a1', { resource: 'New' })
      expect(await rest()).toEqual([])
    })

    it('cannot be changed by another stack', async () => {
      await ask('Create', 'a1')
      expect((await ask('Create', 'a1', { stack: 'other', label: 'mine' }))[0]).toBe('FAILED')
      await ask('Delete', 'a1', { stack: 'other' })
      expect(await called()).toEqual({ a1: 'shop' })
    })

    it('does not prevent the deletion of a stack whose table is gone or whose answer was lost', async () => {
      expect((await ask('Delete', 'a1', { table: 'nowhere' }))[0]).toBe('SUCCESS')
      await ask('Create', 'a1')
      expect(await ask('Delete', 'a1', { physical: 'stack-Label-1ABC' })).toEqual(['SUCCESS', 'stack-Label-1ABC', ''])
      expect(await rest()).toEqual([])
      expect((await ask('Create', 'a1', { table: 'nowhere' }))[0]).toBe('FAILED')
    })

    it('is given to one API only when stacks and operators write at the same time', async () => {
      const given = await Promise.allSettled(
        ['a', 'b', 'c', 'd'].map((id, i) =>
          i % 2 === 0
            ? giveLabel(documentsOf(client), table, { id, label: 'shop', owner: `s ${id}` })
            : cli('label', id, 'shop').then(({ code }) => (code === 0 ? 'ok' : Promise.reject(code))),
        ),
      )
      expect(given.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(Object.values(await called())).toEqual(['shop'])
    })

    it('is written for every API when many labels are written at the same time', async () => {
      const ids = Array.from({ length: 12 }, (_, i) => `api${i}`)
      await Promise.all(
        ids.map((id) => giveLabel(documentsOf(client), table, { id, label: `label-${id}`, owner: `s ${id}` })),
      )
      expect(await called()).toEqual(Object.fromEntries(ids.map((id) => [id, `label-${id}`])))
    }, 60_000)
  },
)
