/**
 * How much of each limit each Region has, in percent by the Region's name: `{ 'eu-west-1': 60, 'us-east-1': 40 }`. They
 * add up to 100.
 */
export type RegionShares = Readonly<Record<string, number>>
