/**
 * How much of each limit each Region has, in percent by the Region's name: `{ 'eu-west-1': 60, 'us-east-1': 40 }`. They
 * make 100 together.
 */
export type RegionShares = Readonly<Record<string, number>>
