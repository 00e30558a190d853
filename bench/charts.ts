/** Charts as SVG text, without a library: bars, and shares of calls by lag. */

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 64;
const RIGHT = 24;
const TOP = 48;
const BOTTOM = 56;
const INNER_WIDTH = WIDTH - LEFT - RIGHT;
const INNER_HEIGHT = HEIGHT - TOP - BOTTOM;
const FLOOR = TOP + INNER_HEIGHT;
export const COLOURS = ["#b3261e", "#d98200", "#1b6ec2", "#5f6b76"];
/** Points of a line: enough for its shape. */
const POINTS = 200;

interface Bars {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly { readonly label: string; readonly value: number }[];
}

export function barChart({ title, unit, bars }: Bars): string {
  const max = Math.max(1, ...bars.map(({ value }) => value));
  const step = INNER_WIDTH / Math.max(1, bars.length);
  const drawn = bars.map(({ label, value }, i) => {
    const height = (value / max) * INNER_HEIGHT;
    const [x, middle] = [LEFT + i * step + step * 0.2, LEFT + (i + 0.5) * step];
    const rect = `<rect x="${n(x)}" y="${n(FLOOR - height)}" width="${n(step * 0.6)}" height="${n(height)}" fill="${i === 0 ? COLOURS[3] : COLOURS[2]}"/>`;
    return (
      rect + text(middle, FLOOR - height - 6, value.toFixed(0)) + text(middle, FLOOR + 18, label)
    );
  });
  return picture(title, [...drawn, text(LEFT, TOP - 10, unit, "start")]);
}

interface Lags {
  readonly title: string;
  readonly lines: readonly { readonly label: string; readonly lagsMs: readonly number[] }[];
}

/** For each line, the share of calls that had left by a lag. The axis of lags is logarithmic, from 1 ms. */
export function lagChart({ title, lines }: Lags): string {
  const maxMs = Math.max(
    10,
    ...lines.map(({ lagsMs }) => lagsMs.reduce((a, b) => Math.max(a, b), 0)),
  );
  const decades = Math.ceil(Math.log10(maxMs));
  const x = (lagMs: number) => LEFT + (Math.log10(Math.max(1, lagMs)) / decades) * INNER_WIDTH;
  const y = (share: number) => FLOOR - share * INNER_HEIGHT;
  const marks = Array.from({ length: decades + 1 }, (_, i) => {
    const at = x(10 ** i);
    return (
      line(at, TOP, at, FLOOR) +
      text(at, FLOOR + 18, i < 3 ? `${10 ** i} ms` : `${10 ** (i - 3)} s`)
    );
  });
  const shares = [0, 0.5, 0.99].map(
    (share) =>
      line(LEFT, y(share), WIDTH - RIGHT, y(share)) +
      text(LEFT - 6, y(share) + 4, `${share * 100} %`, "end"),
  );
  const drawn = lines.map(({ label, lagsMs }, i) => {
    const sorted = lagsMs.toSorted((a, b) => a - b);
    const points = Array.from({ length: sorted.length === 0 ? 0 : POINTS + 1 }, (_, k) => {
      const share = k / POINTS;
      return `${n(x(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0))},${n(y(share))}`;
    });
    const colour = COLOURS[i % COLOURS.length];
    const legend = `<text x="${LEFT + 12}" y="${TOP + 18 + i * 18}" fill="${colour}">${label} (${sorted.length})</text>`;
    return `<polyline points="${points.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>${legend}`;
  });
  return picture(title, [...marks, ...shares, ...drawn]);
}

function picture(title: string, parts: readonly string[]): string {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`;
  const back = `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`;
  const name = `<text x="${LEFT}" y="22" font-size="15">${title}</text>`;
  return `${[head, back, name, line(LEFT, FLOOR, WIDTH - RIGHT, FLOOR), ...parts].join("\n")}\n</svg>\n`;
}

export function line(x1: number, y1: number, x2: number, y2: number): string {
  return `<line x1="${n(x1)}" y1="${n(y1)}" x2="${n(x2)}" y2="${n(y2)}" stroke="#d5d9dd"/>`;
}

export function text(x: number, y: number, content: string, anchor = "middle"): string {
  return `<text x="${n(x)}" y="${n(y)}" text-anchor="${anchor}" fill="#333">${content}</text>`;
}

export function n(value: number): string {
  return value.toFixed(1);
}
