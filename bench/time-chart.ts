/** Values over time as SVG text: panels below each other on one axis of time. */
import { COLOURS, line, n, text } from "./charts.ts";

const WIDTH = 720;
const LEFT = 64;
const RIGHT = 24;
const HEAD = 40;
const PANEL = 180;
const PANEL_TOP = 34;
const INNER = PANEL - PANEL_TOP - 16;
const INNER_WIDTH = WIDTH - LEFT - RIGHT;
const MARKS = 6;

export interface TimeLine {
  readonly label: string;
  /** Seconds from the beginning, and the value there. */
  readonly points: readonly (readonly [atSeconds: number, value: number])[];
}

export interface Panel {
  readonly name: string;
  readonly lines: readonly TimeLine[];
}

export function timeChart(title: string, panels: readonly Panel[]): string {
  const all = panels.flatMap(({ lines }) => lines.flatMap(({ points }) => points));
  const endSeconds = Math.max(1, ...all.map(([at]) => at));
  const height = HEAD + panels.length * PANEL + 24;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="${LEFT}" y="22" font-size="15">${title}</text>`,
    ...panels.map((panel, i) => drawPanel(panel, HEAD + i * PANEL, endSeconds)),
    ...Array.from({ length: MARKS + 1 }, (_, i) => {
      const at = (endSeconds * i) / MARKS;
      return text(LEFT + (at / endSeconds) * INNER_WIDTH, height - 8, clock(at));
    }),
  ];
  return `${parts.join("\n")}\n</svg>\n`;
}

function drawPanel({ name, lines }: Panel, top: number, endSeconds: number): string {
  const floor = top + PANEL_TOP + INNER;
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value));
  const max = Math.max(1, ...values.filter(Number.isFinite));
  const x = (at: number) => LEFT + (at / endSeconds) * INNER_WIDTH;
  const y = (value: number) => floor - (value / max) * INNER;
  const grid = [0, 0.5, 1].map(
    (share) =>
      line(LEFT, y(max * share), WIDTH - RIGHT, y(max * share)) +
      text(LEFT - 6, y(max * share) + 4, (max * share).toFixed(0), "end"),
  );
  const drawn = lines.map(({ label, points }, i) => {
    const colour = COLOURS[i % COLOURS.length];
    const path = points
      .filter(([, value]) => Number.isFinite(value))
      .map(([at, value]) => `${n(x(at))},${n(y(value))}`);
    return `<polyline points="${path.join(" ")}" fill="none" stroke="${colour}" stroke-width="1.5"/><text x="${LEFT + 150 + i * 110}" y="${top + 22}" fill="${colour}">${label}</text>`;
  });
  return [text(LEFT, top + 22, name, "start"), ...grid, ...drawn].join("\n");
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
