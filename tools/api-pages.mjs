import { Converter } from 'typedoc'
import { MarkdownPageEvent, MarkdownTheme, MarkdownThemeContext } from 'typedoc-plugin-markdown'

/** Says of a return type only what its signature, which stands above, does not say: a sentence, where there is one. */
class PlainContext extends MarkdownThemeContext {
  constructor(...args) {
    super(...args)
    this.partials.signatureReturns = ({ comment }) => {
      const returns = comment?.getTag('@returns')
      return returns === undefined ? '' : `**Returns** ${this.helpers.getCommentParts(returns.content)}`
    }
  }
}

class PlainTheme extends MarkdownTheme {
  getRenderContext(page) {
    return new PlainContext(this, page, this.application.options)
  }
}

/** A plugin of TypeDoc that keeps the API pages short, and their changes small. */
export function load(app) {
  app.renderer.defineTheme('plain', PlainTheme)
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const reflection of Object.values(project.reflections)) {
      // What a member overrides is often one of a built-in class, and nothing that a caller asks for.
      delete reflection.overwrites
      delete reflection.inheritedFrom
      delete reflection.implementationOf
      // TypeDoc's name for a parameter that is taken apart where it is declared.
      if (reflection.name === '__namedParameters') reflection.name = 'options'
    }
  })
  // Nothing links to properties, and their anchors are numbered: each new property would change those after it.
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    page.contents = page.contents.replace(/<a id="[^"]*"><\/a> /g, '')
  })
}
