// The matrix scenario x target x backend, its filters, and the address that keeps them.
const index = read("index");
const rows = index.scenarios.map((scenario, at) => ({ ...scenario, at, row: null }));
const GRAVITY = ["failed", "engine fault", "missing", "known", "not run", "passed"];
const worst = (row) => Math.min(...row.verdicts.map((verdict) => verdict === null ? GRAVITY.length : GRAVITY.indexOf(verdict)));
let visible = [];
let current = -1;

function setUpFilters() {
  const add = (id, values) => values.forEach((value) => $(id).append(make("option", { value }, value)));
  add("chapter", [...new Set(rows.map((row) => row.chapter))].sort());
  add("tag", [...new Set(rows.flatMap((row) => row.tags))].sort());
  for (const verdict of GRAVITY.filter((one) => rows.some((row) => row.verdicts.includes(one)))) {
    const count = rows.filter((row) => row.verdicts.includes(verdict)).length;
    $("verdicts").append(make("label", { class: "check" }, make("input", { type: "checkbox", name: "verdict", value: verdict }), ` ${verdict} (${count})`));
  }
  $("filters").addEventListener("input", keepFilters);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", () => setTimeout(keepFilters));
  const head = make("tr", {}, make("th", { scope: "col" }, "scenario"), make("th", { scope: "col" }, "chapter"));
  for (const column of index.columns) head.append(make("th", { scope: "col" }, column.title));
  head.append(make("th", { scope: "col" }, "what"));
  document.querySelector("#matrix thead").append(head);
}

const chosenVerdicts = () => [...document.querySelectorAll("[name=verdict]:checked")].map((box) => box.value);

function keepFilters() {
  const kept = new URLSearchParams();
  for (const id of ["chapter", "tag", "words", "order"]) if ($(id).value) kept.set(id, $(id).value);
  for (const verdict of chosenVerdicts()) kept.append("verdict", verdict);
  if ($("differing").checked) kept.set("differing", "1");
  lastFilters = String(kept);
  history.replaceState(null, "", `#${lastFilters}`);
  drawMatrix();
}

function takeFilters(kept) {
  for (const id of ["chapter", "tag", "words", "order"]) $(id).value = kept.get(id) ?? "";
  for (const box of document.querySelectorAll("[name=verdict]")) box.checked = kept.getAll("verdict").includes(box.value);
  $("differing").checked = kept.has("differing");
  lastFilters = String(kept);
  drawMatrix();
}

function fits(row, verdicts, words) {
  const text = `${row.path} ${row.title}`.toLowerCase();
  return (!$("chapter").value || row.chapter === $("chapter").value)
    && (!$("tag").value || row.tags.includes($("tag").value))
    && (!verdicts.length || row.verdicts.some((verdict) => verdicts.includes(verdict)))
    && (!$("differing").checked || row.differs)
    && words.every((word) => text.includes(word));
}

function drawn(row) {
  if (row.row === null) {
    const link = make("a", { href: `#s=${row.at}` }, ...shown(row.title));
    row.row = make("tr", { "data-at": String(row.at) },
      make("td", { class: "title" }, link, make("div", { class: "path" }, ...shown(row.path))),
      make("td", {}, ...shown(row.chapter)),
      row.verdicts.map((verdict) => make("td", {}, verdictBadge(verdict))),
      make("td", { class: "what" }, ...shown(row.what)));
  }
  return row.row;
}

function drawMatrix() {
  const verdicts = chosenVerdicts();
  const words = $("words").value.toLowerCase().split(/\s+/).filter(Boolean);
  visible = rows.filter((row) => fits(row, verdicts, words));
  if ($("order").value === "") visible.sort((one, other) => worst(one) - worst(other) || one.at - other.at);
  if ($("order").value === "slowest") visible.sort((one, other) => other.seconds - one.seconds || one.at - other.at);
  document.querySelector("#matrix tbody").replaceChildren(...visible.map(drawn));
  $("count").textContent = `${visible.length} of ${plural(rows.length, "scenario")}`;
  mark(-1);
}

function mark(place) {
  for (const row of document.querySelectorAll("#matrix tr[aria-current]")) row.removeAttribute("aria-current");
  current = place;
  if (place < 0 || place >= visible.length) return;
  const row = drawn(visible[place]);
  row.setAttribute("aria-current", "true");
  row.querySelector("a").focus();
  row.scrollIntoView({ block: "nearest" });
}
