import { CreateAuthorizerCommand, DeleteAuthorizerCommand, GetAuthorizersCommand } from '@aws-sdk/client-apigatewayv2'
import { type Check, found } from '../check'
import { apiIdIn } from '../scene'
import { FEW } from '../tiers'

/** A function answers within this time. */
const ANSWER_MS = 20_000

export const WEB_SOCKETS: readonly Check[] = [
  {
    id: 'connect',
    lines: ['web-socket'],
    asks: 'Connections to a WebSocket API up to the limit, and one more',
    expects: `${FEW} times 101, then 403`,
    async run(scene) {
      const headers = await scene.newCaller('few')
      const statuses: number[] = []
      for (let i = 0; i <= FEW; i++)
        statuses.push((await scene.traffic.chat(scene.outputs.other.SocketUrl, headers)).status)
      return found(statuses.join(' ') === [...Array(FEW).fill(101), 403].join(' '), statuses.join(' '))
    },
  },
  {
    id: 'message',
    lines: ['web-socket'],
    asks: 'What a client gets where a function answers a message with a status and no body',
    expects: 'nothing, or an empty message, and no error',
    async run(scene) {
      const { SocketUrl } = scene.outputs.other
      const headers = await scene.newCaller('many')
      const aloud = await scene.traffic.chat(SocketUrl, headers, '{"action":"say"}', ANSWER_MS)
      const quiet = await scene.traffic.chat(SocketUrl, headers, '{"action":"quiet"}')
      return found(
        aloud.heard.join() === 'heard' && quiet.status === 101 && quiet.heard.every((text) => text === ''),
        `with a body ${JSON.stringify(aloud.heard)}, without ${JSON.stringify(quiet.heard)}`,
      )
    },
  },
  {
    id: 'identity-source',
    lines: ['web-socket', 'attach'],
    asks: 'CreateAuthorizer for a WebSocket API without identity sources',
    expects: 'it is taken, and has none',
    async run({ clients, outputs }) {
      const ApiId = apiIdIn(outputs.other.SocketUrl)
      const { Items: present = [] } = await clients.http.send(new GetAuthorizersCommand({ ApiId }))
      const AuthorizerUri = present[0]?.AuthorizerUri
      const made = await clients.http.send(
        new CreateAuthorizerCommand({
          ApiId,
          Name: 'acceptance',
          AuthorizerType: 'REQUEST',
          AuthorizerUri,
          IdentitySource: [],
        }),
      )
      const { AuthorizerId, IdentitySource = [] } = made
      await clients.http.send(new DeleteAuthorizerCommand({ ApiId, AuthorizerId }))
      return found(IdentitySource.length === 0, `taken, with ${JSON.stringify(IdentitySource)}`)
    },
  },
]
