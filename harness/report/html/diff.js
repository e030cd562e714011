// Lines first, then the characters of lines that stand against each other (Myers, "An O(ND) Difference Algorithm").
const MOST_LINES = 1500;
const MOST_CHARACTERS = 300;

// Pairs of equal indices of two lists, in their order; null where they differ too much to say.
function common(one, other, most) {
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  let end = 0;
  while (end < one.length - start && end < other.length - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end++;
  const pairs = [];
  for (let at = 0; at < start; at++) pairs.push([at, at]);
  const middle = between(one.slice(start, one.length - end), other.slice(start, other.length - end), most);
  for (const [left, right] of middle ?? []) pairs.push([left + start, right + start]);
  for (let at = end; at > 0; at--) pairs.push([one.length - at, other.length - at]);
  return pairs;
}

function between(one, other, most) {
  const trace = [];
  let furthest = new Map([[1, 0]]);
  for (let step = 0; step <= most; step++) {
    trace.push(new Map(furthest));
    for (let line = -step; line <= step; line += 2) {
      const down = line === -step || (line !== step && furthest.get(line - 1) < furthest.get(line + 1));
      let x = down ? furthest.get(line + 1) : furthest.get(line - 1) + 1;
      while (x < one.length && x - line < other.length && one[x] === other[x - line]) x++;
      furthest.set(line, x);
      if (x >= one.length && x - line >= other.length) return walkBack(trace, one, other);
    }
  }
  return null;
}

function walkBack(trace, one, other) {
  const pairs = [];
  let x = one.length, y = other.length;
  for (let step = trace.length - 1; step >= 0; step--) {
    const furthest = trace[step];
    const line = x - y;
    const down = line === -step || (line !== step && furthest.get(line - 1) < furthest.get(line + 1));
    const before = down ? line + 1 : line - 1;
    const fromX = furthest.get(before) ?? 0;
    const fromY = fromX - before;
    while (x > fromX && y > fromY && x > 0 && y > 0) pairs.push([--x, --y]);
    if (step > 0) { x = fromX; y = fromY; }
  }
  return pairs.reverse();
}

// Rows of a comparison: {left, right} are line numbers or null, `same` says whether the lines are equal.
function rowsOf(left, right) {
  const rows = [];
  let atLeft = 0, atRight = 0;
  for (const [x, y] of [...common(left, right, MOST_LINES), [left.length, right.length]]) {
    while (atLeft < x || atRight < y) {
      rows.push({ left: atLeft < x ? atLeft++ : null, right: atRight < y ? atRight++ : null, same: false });
    }
    if (x < left.length && y < right.length) {
      rows.push({ left: x, right: y, same: true });
      atLeft = x + 1;
      atRight = y + 1;
    }
  }
  return rows;
}

// The parts of two lines as [text, differs].
function partsOf(left, right) {
  const one = Array.from(left), other = Array.from(right);
  const pairs = common(one, other, MOST_CHARACTERS);
  const parts = (characters, side) => {
    const kept = new Set(pairs.map((pair) => pair[side]));
    const found = [];
    characters.forEach((character, at) => {
      const differs = !kept.has(at);
      if (found.length && found.at(-1)[1] === differs) found.at(-1)[0] += character;
      else found.push([character, differs]);
    });
    return found;
  };
  return [parts(one, 0), parts(other, 1)];
}

function firstDifference(left, right) {
  const one = encoder.encode(left), other = encoder.encode(right);
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at++;
  return at;
}

// The region that a byte of a text lies in; `regions` are [name, bytes].
function regionAt(regions, offset) {
  let end = 0;
  for (const [name, bytes] of regions) {
    end += bytes;
    if (offset < end) return name;
  }
  return regions.length ? regions.at(-1)[0] : "response";
}

const kindOf = (name) => name.startsWith("heading of") ? "heading" : name.startsWith("metadata of") ? "metadata" : name.startsWith("body of") ? "body" : "frame";

// Each line's region, by the offset of its first byte.
function lineRegions(lines, text) {
  const found = [];
  let offset = 0;
  for (const line of lines) {
    found.push(text.regions.length ? regionAt(text.regions, offset) : "");
    offset += byteLength(line) + 1;
  }
  return found;
}

const CONTEXT = 4;

function diffView(left, right) {
  const alike = left.text === right.text;
  const lines = [left.text.split("\n"), right.text.split("\n")];
  const names = [lineRegions(lines[0], left), lineRegions(lines[1], right)];
  const side = (which, row, parts) => {
    const at = which ? row.right : row.left;
    const place = which ? "right" : "left";
    if (at === null) return make("div", { class: `side ${place} absent` }, make("div", { class: "number" }), make("div", { class: "text" }));
    const region = names[which][at];
    const text = parts === null ? shown(lines[which][at])
      : parts.flatMap(([part, differs], index) => {
        const nodes = shown(part, { atEnd: index === parts.length - 1 });
        return differs ? [make("mark", {}, nodes)] : nodes;
      });
    return make("div", { class: `side ${place} ${kindOf(region)}`, title: region || null }, make("div", { class: "number" }, String(at + 1)), make("div", { class: "text" }, text));
  };
  const draw = (row) => {
    if (row.same) return make("div", { class: alike ? "pair alike" : "pair" }, side(0, row, null), alike ? null : side(1, row, null));
    const parts = row.left !== null && row.right !== null ? partsOf(lines[0][row.left], lines[1][row.right])
      : [row.left === null ? [] : [[lines[0][row.left], true]], row.right === null ? [] : [[lines[1][row.right], true]]];
    return make("div", { class: "pair differs", tabindex: "-1" }, side(0, row, parts[0]), side(1, row, parts[1]));
  };
  const rows = rowsOf(lines[0], lines[1]);
  const near = rows.map((row, at) => alike || rows.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((other) => !other.same));
  const view = make("div", { class: "diff" });
  for (let at = 0; at < rows.length; at++) {
    if (near[at]) { view.append(draw(rows[at])); continue; }
    const folded = [];
    while (at < rows.length && !near[at]) folded.push(rows[at++]);
    at--;
    if (folded.length < 4) { view.append(...folded.map(draw)); continue; }
    const button = make("button", { type: "button", class: "fold", onclick: () => button.replaceWith(...folded.map(draw)) }, `${folded.length} equal lines`);
    view.append(button);
  }
  return view;
}
