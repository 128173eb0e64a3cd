// Bundled to static/vendor/editor/editor.js by hook.py.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The page's custom properties reach into the shadow root, so both colour schemes come with them.
const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--card)", fontSize: "0.85rem", maxHeight: "max(16rem, min(36rem, 100vh - 24rem))" },
  "&.cm-focused": { outline: "3px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)", minHeight: "12rem", paddingBottom: "2rem" },
  ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  ".cm-gutters": { color: "var(--soft)", backgroundColor: "var(--card)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "color-mix(in srgb, var(--accent) 18%, transparent)",
  },
  ".cm-broken": { backgroundColor: "color-mix(in srgb, var(--dead) 14%, transparent)" },
});
const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--leased)" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], color: "var(--waiting)" },
]);

const setBroken = StateEffect.define();
const broken = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setBroken)) {
        const { doc } = transaction.state;
        const known = effect.value >= 1 && effect.value <= doc.lines;
        return known ? Decoration.set(Decoration.line({ class: "cm-broken" }).range(doc.line(effect.value).from)) : Decoration.none;
      }
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** A Python editor over a <textarea>, which stays underneath and always has the same text.
 *  It lives in a shadow root: there CodeMirror adopts style sheets, and the page's policy needs no exception.
 *  show(name, text) brings up a file, and remembers what was done to each; mark(line) marks a line, 0 none. */
export function upgrade(textarea, { onRun, onChange } = {}) {
  const host = document.createElement("div");
  host.className = "code-editor";
  const root = host.attachShadow({ mode: "open" });
  const typing = document.activeElement === textarea;
  const { selectionStart: anchor, selectionEnd: head } = textarea;
  textarea.hidden = true;
  textarea.after(host);
  const extensions = [
    lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), broken,
    EditorView.lineWrapping,
    EditorState.tabSize.of(4), indentUnit.of("    "), pythonLanguage, syntaxHighlighting(colours), theme,
    keymap.of([
      { key: "Mod-Enter", run: () => (onRun?.(), true) },
      ...defaultKeymap, ...historyKeymap, indentWithTab,
    ]),
    EditorView.contentAttributes.of({
      "aria-label": textarea.getAttribute("aria-label") ?? "Python code",
      "aria-description": "Tab indents. Press Escape, then Tab, to leave the editor. Control Enter runs the code.",
      spellcheck: "false",
      tabindex: "0",
    }),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      textarea.value = update.state.doc.toString();
      onChange?.(textarea.value);
    }),
  ];
  const fresh = (doc) => EditorState.create({ doc, extensions });
  const first = EditorState.create({ doc: textarea.value, selection: typing ? { anchor, head } : undefined, extensions });
  const files = new Map();
  let shown = "";
  const view = new EditorView({ parent: root, root, state: first });
  if (typing) view.focus(); // what is hidden would lose the focus
  return {
    get text() { return textarea.value; },
    set text(text) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }); },
    show(name, text) {
      if (shown) files.set(shown, view.state);
      const known = shown ? files.get(name) : view.state; // at first the field's text, with its selection
      shown = name;
      view.setState(known?.doc.toString() === text ? known : fresh(text));
      textarea.value = text;
    },
    mark(line) { view.dispatch({ effects: setBroken.of(line) }); },
  };
}
