import {
  CreateDeploymentCommand,
  GetAuthorizersCommand,
  GetGatewayResponseCommand,
  GetResourcesCommand,
  GetStageCommand,
  UpdateStageCommand,
} from '@aws-sdk/client-api-gateway'
import * as http from '@aws-sdk/client-apigatewayv2'
import { type Check, found } from '../check'
import { apiIdIn, type Scene } from '../scene'
import { FEW } from '../tiers'

const withoutMetadata = (key: string, value: unknown) =>
  key === '$metadata' || value === '' || value === null ? undefined : value

/** What a REST API has, as one text. */
async function restState({ clients: { rest } }: Scene, restApiId: string): Promise<string> {
  const all = [
    await rest.send(new GetResourcesCommand({ restApiId, embed: ['methods'], limit: 500 })),
    await rest.send(new GetAuthorizersCommand({ restApiId })),
    await rest.send(new GetGatewayResponseCommand({ restApiId, responseType: 'ACCESS_DENIED' })),
  ]
  return all.map((one) => JSON.stringify(one, withoutMetadata)).join('\n')
}

/** What an HTTP API has, as one text. Statuses without mappings map nothing. */
async function httpState({ clients }: Scene, ApiId: string): Promise<string> {
  const { Items: integrations = [] } = await clients.http.send(new http.GetIntegrationsCommand({ ApiId }))
  const all = [
    await clients.http.send(new http.GetRoutesCommand({ ApiId })),
    await clients.http.send(new http.GetAuthorizersCommand({ ApiId })),
    integrations.map(({ ResponseParameters = {}, ...one }) => ({
      ...one,
      mapped: Object.entries(ResponseParameters).filter(([, values]) => Object.keys(values).length > 0),
    })),
  ]
  return all.map((one) => JSON.stringify(one, withoutMetadata)).join('\n')
}

/** Requests of one caller until somebody turns it away: `200 200 429`. */
async function statusesOf(scene: Scene, url: string): Promise<string> {
  const headers = await scene.newCaller('few')
  const statuses: number[] = []
  for (let i = 0; i <= FEW; i++) statuses.push((await scene.traffic.send(url, { headers })).status)
  return statuses.join(' ')
}

/** Asks until the answer is the wanted one: a deployment is in force some seconds after it is made. */
async function soon(wanted: string, ask: () => Promise<string>): Promise<string> {
  let got = ''
  for (let attempt = 0; attempt < 10 && got !== wanted; attempt++) got = await ask()
  return got
}

interface Target {
  readonly url: string
  readonly denial: number
  readonly args: readonly string[]
  readonly state: (scene: Scene, id: string) => Promise<string>
}

async function attachAndDetach(scene: Scene, { url, denial, args, state }: Target) {
  const id = apiIdIn(url)
  const pets = `${url}pets`
  const before = await state(scene, id)
  const attached = await scene.sluice('attach', id, '--yes', ...args)
  const limited = await soon([...Array(FEW).fill(200), denial].join(' '), () => statusesOf(scene, pets))
  const checked = await scene.sluice('status', id)
  const detached = await scene.sluice('detach', id, '--yes')
  const open = await soon(
    Array(FEW + 1)
      .fill(200)
      .join(' '),
    () => statusesOf(scene, pets),
  )
  const isRestored = (await state(scene, id)) === before
  const codes = [attached, checked, detached].map(({ code }) => code).join(' ')
  const said = [attached, checked, detached].filter(({ code }) => code !== 0).map(({ err, out }) => err || out)
  return found(
    codes === '0 0 0' && limited.endsWith(` ${denial}`) && !open.includes(String(denial)) && isRestored,
    `attached: ${limited}; detached: ${open}, ${isRestored ? 'as before' : 'not as before'}; exit codes ${codes} ${said.join(' ')}`,
  )
}

export const ATTACHING: readonly Check[] = [
  {
    id: 'attach-rest',
    lines: ['attach'],
    asks: '`sluice attach`, `status` and `detach` of a REST API',
    expects: `${FEW} pass and the next is 429; status finds no difference; after detach all is as before`,
    run: (scene) =>
      attachAndDetach(scene, {
        url: scene.outputs.limiter.TargetUrl,
        denial: 429,
        args: ['--stage', 'prod'],
        state: restState,
      }),
  },
  {
    id: 'attach-http',
    lines: ['attach'],
    asks: '`sluice attach --headers`, `status` and `detach` of an HTTP API',
    expects: `${FEW} pass and the next is 403; status finds no difference; after detach all is as before`,
    run: (scene) =>
      attachAndDetach(scene, {
        url: scene.outputs.limiter.HttpTargetUrl,
        denial: 403,
        args: ['--headers'],
        state: httpState,
      }),
  },
  {
    id: 'canary',
    lines: ['canary'],
    asks: 'A canary that is started after `attach`',
    expects: 'status reports it, detach refuses, also after it was promoted, until it is deleted',
    onlyAws: 'MiniStack has no canaries',
    alone: true,
    async run(scene) {
      const restApiId = apiIdIn(scene.outputs.limiter.TargetUrl)
      const at = { restApiId, stageName: 'prod' }
      const { rest } = scene.clients
      const update = (op: 'replace' | 'remove', path: string, value?: string) =>
        rest.send(new UpdateStageCommand({ ...at, patchOperations: [{ op, path, value }] }))
      await scene.sluice('attach', restApiId, '--stage', 'prod', '--yes')
      const { id } = await rest.send(
        new CreateDeploymentCommand({ ...at, canarySettings: { percentTraffic: 10, useStageCache: false } }),
      )
      const reported = await scene.sluice('status', restApiId)
      const refused = await scene.sluice('detach', restApiId, '--yes')
      await update('replace', '/deploymentId', id)
      await update('replace', '/canarySettings/percentTraffic', '0')
      const { canarySettings } = await rest.send(new GetStageCommand(at))
      const promoted = await scene.sluice('detach', restApiId, '--yes')
      if (canarySettings) await update('remove', '/canarySettings')
      const detached = await scene.sluice('detach', restApiId, '--yes')
      return found(
        reported.out.includes('has a canary') &&
          refused.code === 1 &&
          promoted.code === (canarySettings ? 1 : 0) &&
          detached.code === 0,
        `status ${reported.code}, detach ${refused.code}; promoted, it is ${canarySettings ? 'still' : 'no longer'} there, detach ${promoted.code}; deleted, detach ${detached.code} ${detached.err}`,
      )
    },
  },
]
