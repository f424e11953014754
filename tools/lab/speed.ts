import { join } from 'node:path'
import { buildSync } from 'esbuild'
import type { run } from '../../pages/lab/model/run'
import type { settingOf } from '../../pages/lab/model/scenarios'

const LIMIT = 1000
const REQUESTS = 100_000
/** In percent of the limit: below it, where nothing is denied, and far above. */
const RATES = [90, 300] as const

/** How long many requests take through all algorithms, in the code that the page's worker has. */
export function speedText(): string {
  const model = bundled()
  return RATES.map((rate) => {
    const setting = { ...model.settingOf('random'), limit: LIMIT, burst: LIMIT, rate }
    const windows = Math.round((REQUESTS * 100) / (LIMIT * rate))
    const [begun, cpu] = [performance.now(), process.cpuUsage()]
    const { rows } = model.run({ ...setting, windows })
    const { user, system } = process.cpuUsage(cpu)
    const requests = rows[0]!.figures.requests.toLocaleString('en-US')
    return `${rows.length} algorithms × ${requests} requests at ${rate} % of a limit of ${LIMIT}: ${Math.round(performance.now() - begun)} ms, ${Math.round((user + system) / 1000)} ms of CPU`
  }).join('\n')
}

function bundled(): { readonly run: typeof run; readonly settingOf: typeof settingOf } {
  const contents = `export { run } from './pages/lab/model/run'; export { settingOf } from './pages/lab/model/scenarios'`
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: join(__dirname, '..', '..'), loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'cjs',
    platform: 'browser',
    tsconfigRaw: {},
    write: false,
  })
  const module = { exports: {} }
  new Function('module', 'exports', outputFiles[0]!.text)(module, module.exports)
  return module.exports as ReturnType<typeof bundled>
}
