// A scenario's page: its world, each step, the texts of two columns side by side, and what each item cost.
const DEFAULT_BUDGET = 8000;

function showCase(at) {
  const row = rows[at];
  const data = read(`scenario-${at}`);
  const place = visible.indexOf(row);
  const neighbour = (offset, words) => {
    const other = visible[place + offset];
    return place < 0 || !other ? null : make("a", { href: `#s=${other.at}`, rel: offset > 0 ? "next" : "prev" }, words);
  };
  const page = $("case");
  page.replaceChildren(...[
    make("nav", { class: "back", "aria-label": "scenarios" }, make("a", { href: "#", id: "back" }, "all scenarios"), neighbour(-1, "the one before"), neighbour(1, "the next")),
    make("h2", { id: "case-title", tabindex: "-1" }, ...shown(row.title)),
    make("p", {}, make("code", {}, ...shown(row.path)), " ", row.tags.map((tag) => make("span", { class: "tag" }, ...shown(tag)))),
    data.why ? make("p", {}, "why: ", ...shown(data.why)) : null,
    data.report.length ? make("p", {}, "reported as ", ...shown(data.report.join(", "))) : null,
    verdictTable(data),
    repeatCommands(data),
    make("div", { class: "halves" }, world(data), make("section", { "aria-label": "steps" }, make("h3", {}, "Steps"), data.steps.map((step) => stepView(data, step)))),
  ].filter(Boolean));
}

function verdictTable(data) {
  const head = ["", "verdict", ...index.phases, "judged", ""].map((title) => make("th", { scope: "col" }, title));
  const body = data.cases.map((one, column) => one === null ? null : make("tr", {},
    make("th", { scope: "row" }, index.columns[column].title), make("td", {}, verdictBadge(one.verdict)),
    index.phases.map((phase) => make("td", { class: "time" }, seconds(one.times[phase] ?? null))),
    make("td", {}, String(one.checks)), make("td", { class: "what" }, ...shown([one.reason, ...one.known].filter(Boolean).join("; ")))));
  return make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body)));
}

function repeatCommands(data) {
  const commands = [...new Set(data.cases.filter(Boolean).map((one) => one.repeat))];
  return make("div", {}, make("h3", {}, "Run it again"), commands.map((command) => {
    const text = make("pre", { class: "repeat" }, command);
    const copy = async () => {
      getSelection().selectAllChildren(text);
      await navigator.clipboard?.writeText(command).then(() => { button.textContent = "copied"; }, () => {});
    };
    const button = make("button", { type: "button", onclick: copy }, "copy");
    return make("div", { class: "command" }, text, button);
  }));
}

function world(data) {
  const lines = data.text.replace(/\n$/, "").split("\n");
  const drawnLines = lines.map((line, at) => {
    const drawn = make("span", { class: "row", "data-line": String(at + 1), id: `line-${at + 1}` }, ...shown(line.replace(/\r$/, "")));
    // What does not fit goes on below the line's own beginning.
    drawn.style.setProperty("--hang", `${line.match(/^ *(?:- +)*/)[0].length + 2}ch`);
    return drawn;
  });
  return make("details", { class: "world", open: matchMedia("(min-width: 1250px)").matches }, make("summary", {}, "The scenario"), make("pre", { class: "yaml" }, drawnLines));
}

function stepView(data, step) {
  const failed = step.results.some((result) => result && result.failures.length);
  const count = step.results.reduce((sum, result) => sum + (result ? result.failures.length : 0), 0);
  const statuses = [...new Set(step.results.filter((result) => result && result.status !== null).map((result) => result.status))];
  const told = [step.verb, statuses.length ? `HTTP ${statuses.join(" and ")}` : "", step.differs ? "the answers differ" : "", count ? plural(count, "failure") : ""].filter(Boolean).join(", ");
  const view = make("details", { class: failed ? "step bad" : "step" }, make("summary", {}, make("strong", {}, ...shown(step.name)), " ", make("span", { class: "soft" }, told)));
  const fill = () => { if (view.open && view.childElementCount === 1) view.append(...stepParts(data, step)); };
  view.addEventListener("toggle", () => {
    fill();
    for (const row of document.querySelectorAll(".yaml .here")) row.classList.remove("here");
    if (view.open) $(`line-${step.line}`)?.classList.add("here");
  });
  view.open = failed || step.differs || data.steps.filter((one) => one.index >= 0).length === 1;
  fill();
  return view;
}

function stepParts(data, step) {
  return [
    step.results.flatMap((result, column) => (result?.failures ?? []).map((failure) => failureView(failure, index.columns[column].title))),
    step.results.map((result, column) => result?.as_predicted ? make("p", {}, `The contract: the oracle predicts what came on ${index.columns[column].title}.`) : null),
    requestView(step),
    step.results.some((result) => result && result.text !== null) ? answersView(data, step) : null,
    step.results.map((result, column) => offeredView(result, index.columns[column].title)),
  ].flat().filter(Boolean);
}

const linesShown = (text) => text.split("\n").flatMap((line, at) => at ? ["\n", ...shown(line)] : shown(line));

function failureView(failure, title) {
  return make("div", { class: "failure" }, make("div", {}, make("strong", {}, ...shown(failure.kind)), " in ", ...shown(failure.region), ` on ${title}`),
    make("dl", {}, ["", "expected", "got"].filter((name) => name || failure.told).flatMap((name) => [make("dt", {}, name), make("dd", {}, ...valueShown(failure, name))])));
}

// A blank begins a word: one that ended it would be shown as one at a line's end.
const wordsOf = (value) => value.split(/(?=\s)|(?<=[,[\]])(?!\s)/u);

// The words that the other value has not in this place are marked, unless that are all of them.
function valueShown(failure, name) {
  if (!name) return linesShown(failure.told);
  const words = wordsOf(failure[name]);
  const alike = new Set(common(words, wordsOf(failure[name === "got" ? "expected" : "got"]), MOST_CHARACTERS).map(([at]) => at));
  if (!alike.size) return linesShown(failure[name]);
  return words.flatMap((word, at) => alike.has(at) ? linesShown(word) : [make("mark", {}, ...linesShown(word))]);
}

function requestView(step) {
  const request = step.results.find((result) => result && result.request !== null)?.request;
  if (request === undefined) return null;
  return make("details", {}, make("summary", {}, "The request as it went out"), make("pre", {}, ...linesShown(request)));
}

function offeredView(result, title) {
  if (!result || !result.candidates) return null;
  const told = Object.entries(result.candidates).map(([family, offered]) => `${family}: ${offered.join(", ")}`).join("; ");
  return make("p", { class: "soft" }, `recall on ${title} offered `, ...shown(told));
}

// Everything that can stand on a side: each column's answer, and each prediction that dissents.
function choices(data, step) {
  const found = [];
  step.results.forEach((result, column) => {
    if (!result || result.text === null) return;
    const title = index.columns[column].title;
    found.push({ title, text: data.texts[result.text], around: result.around, seconds: result.seconds, bad: result.failures.length > 0 });
    if (result.predicted !== null) found.push({ title: `predicted for ${title}`, text: data.texts[result.predicted], around: "", seconds: null, bad: false, predicted: true });
  });
  return found;
}

function answersView(data, step) {
  const found = choices(data, step);
  const bad = found.findIndex((choice) => choice.bad);
  const right = bad > 0 ? bad : Math.min(1, found.length - 1);
  const predicted = found.findIndex((choice) => choice.predicted);
  // Where one answer alone stands, or all are alike and wrong, it stands against its prediction.
  const others = found.filter((choice) => !choice.predicted);
  const alike = others.every((choice) => choice.text === others[0].text);
  let sides = alike && predicted >= 0 ? [predicted, bad < 0 ? 0 : bad] : [0, right];
  if (found[sides[1]].predicted && others.length > 1) sides = [0, found.indexOf(others[1])];
  const view = make("div", {});
  const draw = () => {
    const [one, other] = sides.map((side) => found[side]);
    const same = one.text.text === other.text.text;
    const at = firstDifference(one.text.text, other.text.text);
    const told = found.length === 1 ? "" : same ? "the texts are alike, byte for byte"
      : `the first difference is at byte ${at}, ${regionAt(one.text.regions.length ? one.text.regions : other.text.regions, at)}`;
    const select = (side) => make("select", { "aria-label": side ? "right" : "left", onchange: (event) => { sides[side] = Number(event.target.value); draw(); } },
      found.map((choice, number) => make("option", { value: String(number), selected: number === sides[side] }, choice.title)));
    const times = found.filter((choice) => choice.seconds !== null).map((choice) => `${choice.title} ${seconds(choice.seconds)}`).join(", ");
    view.replaceChildren(
      make("div", { class: "sides" }, found.length > 1 ? [select(0), "against", select(1)] : null, make("span", { class: "told" }, told), make("span", { class: "soft" }, times)),
      diffView(one.text, other.text),
      ...around(one, other),
      ...(alikeIn(one, other) ? [[one, ""]] : [[one, one.title], [other, other.title]]).map(([choice, title]) => costs(step, choice, title)).filter(Boolean));
  };
  draw();
  return view;
}

const alikeIn = (one, other) => JSON.stringify(one.text.regions) === JSON.stringify(other.text.regions);

function around(one, other) {
  if (!one.around && !other.around) return [];
  const whole = (choice) => ({ text: choice.around, regions: [] });
  if (one.predicted || other.predicted || one.around === other.around) {
    return [make("details", {}, make("summary", {}, "The rest of the answer"), make("pre", {}, ...shown(one.around || other.around)))];
  }
  return [make("h3", {}, "The rest of the answer"), diffView(whole(one), whole(other))];
}

// The bytes of each item, by the names of the regions: [name, heading, metadata, body].
function itemCosts(regions) {
  const items = new Map();
  let frame = 0;
  for (const [name, bytes] of regions) {
    const kind = kindOf(name);
    if (kind === "frame") { frame += bytes; continue; }
    const item = name.replace(/^(heading|metadata|body) of /, "").replace(/^"(.*)"$/, "$1");
    if (!items.has(item)) items.set(item, { heading: 0, metadata: 0, body: 0 });
    items.get(item)[kind] += bytes;
  }
  return { frame, items: [...items] };
}

function budgetOf(step) {
  try {
    const asked = JSON.parse(step.results.find((result) => result && result.request !== null).request).max_bytes;
    return Number.isInteger(asked) ? asked : DEFAULT_BUDGET;
  } catch {
    return DEFAULT_BUDGET;
  }
}

function costs(step, choice, title) {
  const regions = choice.text.regions;
  if (!regions.length) return null;
  const budget = budgetOf(step);
  const used = regions.reduce((sum, [, bytes]) => sum + bytes, 0);
  const { frame, items } = itemCosts(regions);
  const whole = Math.max(budget, used);
  const bar = make("div", { class: "bar", role: "img", "aria-label": `${used} of ${budget} bytes` }, regions.map(([name, bytes]) => {
    const part = make("span", { class: kindOf(name), title: `${name}: ${bytes} bytes` });
    part.style.width = `${(bytes / whole) * 100}%`;
    return part;
  }));
  const cells = (values) => values.map((value) => make("td", {}, String(value)));
  const table = make("table", { class: "costs" },
    make("thead", {}, make("tr", {}, ["", "heading", "metadata", "body", "bytes"].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, items.map(([name, item]) => make("tr", {}, make("th", { scope: "row" }, ...shown(name)), cells([item.heading, item.metadata, item.body, item.heading + item.metadata + item.body]))),
      make("tr", {}, make("th", { scope: "row" }, "frame"), cells(["", "", "", frame])),
      make("tr", {}, make("th", { scope: "row" }, used > budget ? "over the budget" : "left of the budget"), cells(["", "", "", Math.abs(budget - used)]))));
  const legend = ["frame", "heading", "metadata", "body"].flatMap((kind) => [make("span", { class: `swatch ${kind}` }), kind]);
  return make("div", { class: "budget" }, make("h3", {}, `${used} of ${budget} bytes${title ? `, ${title}` : ""}`), bar, make("p", { class: "soft" }, ...legend), make("details", {}, make("summary", {}, "What each item cost"), table));
}
