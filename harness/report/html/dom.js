// Elements are made and filled by textContent alone, so that no text of a scenario can become markup.
const $ = (id) => document.getElementById(id);
const read = (id) => JSON.parse($(id).textContent);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// What no font shows, and what looks like a blank: controls, format characters, line ends, unusual blanks, broken halves.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/u;
const UNSEEN_OR_NOT = /([\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000])/u;

// The texts under test write such a character as an escape; the raw one must look otherwise.
function named(character) {
  return "<U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + ">";
}

// A text's nodes, its invisible characters by their numbers; blanks at a line's end can be seen as well.
function shown(text, { atEnd = true } = {}) {
  const nodes = [];
  const trailing = atEnd ? text.length - text.replace(/ +$/, "").length : 0;
  const plain = text.slice(0, text.length - trailing);
  if (!UNSEEN.test(plain)) nodes.push(plain);
  else {
    for (const part of plain.split(UNSEEN_OR_NOT)) {
      if (part !== "") nodes.push(UNSEEN.test(part) ? make("span", { class: "unseen" }, named(part)) : part);
    }
  }
  if (trailing) nodes.push(make("span", { class: "unseen", title: "blanks at the end of a line" }, "·".repeat(trailing)));
  return nodes;
}

const encoder = new TextEncoder();
const byteLength = (text) => encoder.encode(text).length;
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const seconds = (value) => value === null ? "" : value < 0.0995 ? `${(value * 1000).toFixed(1)} ms` : `${value.toFixed(2)} s`;
const verdictMarks = { passed: "✓", failed: "✗", known: "≈", missing: "?", "engine fault": "!", "not run": "–" };

function verdictBadge(verdict) {
  if (verdict === null) return make("span", { class: "verdict none" }, "·");
  return make("span", { class: `verdict ${verdict.replace(" ", "-")}` }, `${verdictMarks[verdict] ?? ""} ${verdict}`);
}
