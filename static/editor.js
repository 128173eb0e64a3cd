export { upgrade } from "./vendor/editor/editor.js"; // built from webapp/npm/editor.js
