import { storeContract } from '../../limiter/stores/store-contract'
import { describeStores } from '../stores'

describe('the store contract', () => {
  describeStores(
    (opened) => {
      for (const { name, run } of storeContract) it(name, () => run(opened().store))
    },
    ['memory', 'dynalite', 'dynoxide'],
  )
})
