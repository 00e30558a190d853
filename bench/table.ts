/** Rows of cells as aligned lines; the first row is the heads. Columns of numbers are aligned to the right. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  const isNumeric = widths.map((_, column) =>
    rows.slice(1).every((row) => /^[\d.,\s%×±<>≤≥-]*(ms|s)?$/.test(row[column] ?? "")),
  );
  const line = (row: readonly string[]) =>
    widths
      .map((width, column) => {
        const cell = row[column] ?? "";
        return isNumeric[column] ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  const [heads = [], ...body] = rows;
  return [line(heads), widths.map((width) => "─".repeat(width)).join("  "), ...body.map(line)].join(
    "\n",
  );
}
