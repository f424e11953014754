import type { TableOptions } from '../tables/connection'
import { NoLimiterError } from '../tables/limiters'
import { type Clients, existing } from './open'
import { adviceText, ownerText } from './other-sluice'

/**
 * Makes the error of `status` and `detach` where the limiter's stack is gone: what the API itself shows, and what
 * restores it. Its function may be gone as well, and then every request fails meanwhile.
 */
export const limiterGone =
  (apiId: string, { stack }: TableOptions) =>
  async (clients: Clients): Promise<Error> => {
    const { sluices, region } = clients
    const [because, name] = [
      `${stack === undefined ? `no stack in ${region}` : `no stack "${stack}" in ${region}`} has the outputs of a limiter`,
      'name it with --table (aws dynamodb list-tables lists the tables)',
    ]
    const found = await sluices(await existing(clients, apiId).readAuthorizers())
    const attached = found.find(({ isAttached }) => isAttached)
    const one = attached ?? found[0]
    const whose = `API ${apiId}${one ? `: ${ownerText(one)}` : ' has no authorizer that attach made'}`
    const advice =
      one && (!attached || one.seen.is === 'there')
        ? adviceText(apiId, one)
        : `if the config table is still there, ${name}${one ? `; if not, restore the API from what it shows itself with sluice detach ${apiId} --function-gone` : ''}`
    return new NoLimiterError(`${because}. ${whose}. To do: ${advice}`)
  }
