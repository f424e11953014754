import * as markdown from 'prettier/plugins/markdown'

const { mdast } = markdown.printers

/** Prettier takes the printer from the plugin whose parser it used. */
export const { parsers } = markdown

/**
 * Prettier pads the columns of a table to their widest cell, except with `proseWrap: never`, which leaves a table
 * compact that padding would make wider than the page. Padded around a sentence a table cannot be read or compared, so
 * tables are printed as with `never`.
 */
export const printers = {
  mdast: {
    ...mdast,
    print: (path, options, print, args) =>
      mdast.print(path, path.node.type === 'table' ? { ...options, proseWrap: 'never' } : options, print, args),
  },
}
