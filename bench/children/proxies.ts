import { CountingProxy, type Trouble } from '../../local/console/counting-proxy'
import { answerParent } from '../answer'

/** What the bench asks of this process. */
export type ProxyQuestion =
  | { readonly id: number; readonly ask: 'open'; readonly endpoint: string }
  | { readonly id: number; readonly ask: 'take'; readonly url: string }
  | { readonly id: number; readonly ask: 'trouble'; readonly url: string; readonly trouble: Trouble }

const proxies = new Map<string, CountingProxy>()

/** Runs counting proxies in a process of their own, so that no measured process pays for their work. */
answerParent<ProxyQuestion>(async (question) => {
  if (question.ask === 'open') {
    const proxy = new CountingProxy(question.endpoint)
    const url = await proxy.listen()
    proxies.set(url, proxy)
    return url
  }
  const proxy = proxies.get(question.url)
  if (!proxy) throw new Error(`there is no proxy at ${question.url}`)
  if (question.ask === 'take') return proxy.take()
  proxy.trouble = question.trouble
})
