for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const header = button.parentElement, row = header.parentElement;
    const body = row.closest("table").tBodies[0], column = [...row.children].indexOf(header);
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of row.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (line) => {
      const cell = line.children[column];
      return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
    };
    const order = (a, b) => typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
    const missing = (v) => Number.isNaN(v) || v === "";
    const lines = [...body.rows].map((line) => [value(line), line]);
    lines.sort(([a], [b]) => missing(a) - missing(b) || (up ? order(a, b) : order(b, a)));
    body.append(...lines.map(([, line]) => line));
  });
}
