import { storeContract } from '../../lambda/state/store-contract'
import { describeStores } from '../stores'

describe('the store contract', () => {
  describeStores((opened) => {
    for (const { name, run } of storeContract) it(name, () => run(opened().store))
  })
})
