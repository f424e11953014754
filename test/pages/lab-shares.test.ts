import type { AlgorithmName } from '../../limiter/policies/policy'
import { explain } from '../../pages/lab/model/explain'
import { type Run, run } from '../../pages/lab/model/run'
import { settingOf } from '../../pages/lab/model/scenarios'

const figuresOf = ({ rows }: Run, algorithm: AlgorithmName) => rows.find((row) => row.algorithm === algorithm)!.figures

describe('the lab', () => {
  it('leaves others what they ask for of a limit in fair shares, of which one client takes most without', () => {
    const part = ({ othersDenied, othersRequests }: Run['rows'][number]['figures']) => 1 - othersDenied / othersRequests
    const [first, fair] = [run(settingOf('one-takes-all')), run(settingOf('fair-shares'))]
    for (const algorithm of ['fixed-window', 'sliding-window', 'sliding-log', 'gcra'] as const) {
      expect([algorithm, part(figuresOf(first, algorithm)) < 0.6]).toEqual([algorithm, true])
      expect([algorithm, part(figuresOf(fair, algorithm)) > 0.88]).toEqual([algorithm, true])
      expect(figuresOf(fair, algorithm).admitted).toBeGreaterThan(0.9 * figuresOf(first, algorithm).admitted)
    }
  })

  it('says of a denial by a share how large that is', () => {
    const setting = settingOf('fair-shares')
    const said = explain(
      setting,
      run(setting).rows.map(({ allowed }) => allowed.lastIndexOf(0)),
    )
    const sentence = /^Its share of the limit is \d+ in this window, and all of it is used\. Retry-After: /
    expect(said.filter((one) => sentence.test(one.sentence)).length).toBeGreaterThan(2)
  })
})
