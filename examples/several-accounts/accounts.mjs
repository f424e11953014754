// Put your own accounts here; both stacks must be in one Region.
const region = 'us-east-1'
export const LIMITER = { account: '111111111111', region }
export const SHOP = { account: '222222222222', region }

/** What APIs call: the alias of the function, both of which have names that other accounts can know beforehand. */
const [name, alias] = ['rate-limiter', 'live']
export const FUNCTION = { name, alias, arn: `arn:aws:lambda:${region}:${LIMITER.account}:function:${name}:${alias}` }
