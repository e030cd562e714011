// What is shown follows from the address; keys and links only change it.
let lastFilters = "";
let opened = null;

function route() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const at = asked.has("s") ? Number(asked.get("s")) : NaN;
  const isCase = Number.isInteger(at) && at >= 0 && at < rows.length;
  $("overview").hidden = isCase;
  $("case").hidden = !isCase;
  if (isCase) {
    if (visible.length === 0) takeFilters(new URLSearchParams(lastFilters));
    showCase(at);
    scrollTo(0, 0);
    $("case-title").focus({ preventScroll: true });
  } else {
    if (location.hash.length < 2 && lastFilters) history.replaceState(null, "", `#${lastFilters}`);
    takeFilters(new URLSearchParams(location.hash.slice(1)));
    if (opened !== null) mark(visible.findIndex((row) => row.at === opened));
  }
  opened = isCase ? at : null;
}

function step(offset) {
  if (opened === null) {
    mark(Math.max(0, Math.min(visible.length - 1, current + offset)));
    return;
  }
  const next = visible[visible.findIndex((row) => row.at === opened) + offset];
  if (next) location.hash = `s=${next.at}`;
}

function toDifference(offset) {
  const found = [...document.querySelectorAll("#case .pair.differs")].filter((row) => row.offsetParent !== null);
  if (!found.length) return;
  const now = found.findIndex((row) => row.classList.contains("current"));
  const next = found[(now + offset + found.length + (now < 0 && offset < 0 ? 1 : 0)) % found.length];
  if (now >= 0) found[now].classList.remove("current");
  next.classList.add("current");
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "center" });
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n: () => toDifference(1),
  p: () => toDifference(-1),
  "?": () => $("help").showModal(),
  "/": () => { if (opened !== null) location.hash = ""; setTimeout(() => $("words").focus()); },
  Escape: () => { if (opened !== null) location.hash = ""; },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  if (event.target.matches("input[type=search], select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});
$("help-button").addEventListener("click", () => $("help").showModal());
addEventListener("hashchange", route);
setUpFilters();
route();
document.documentElement.dataset.ready = "yes";
