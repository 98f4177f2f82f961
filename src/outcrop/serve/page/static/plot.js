// Runs over time as lines, drawn by hand.

import { h, svg } from "./dom.js";

const [WIDTH, HEIGHT] = [640, 200];
const [LEFT, RIGHT, TOP, BOTTOM] = [34, 12, 10, 22];

/**
 * @param {any[]} runs oldest first
 * @param {readonly (readonly [string, string])[]} measures name and words
 */
export function drawPlot(runs, measures) {
  const x = (/** @type {number} */ at) => LEFT + (runs.length === 1 ? (WIDTH - LEFT - RIGHT) / 2 : (at * (WIDTH - LEFT - RIGHT)) / (runs.length - 1));
  const y = (/** @type {number} */ value) => HEIGHT - BOTTOM - value * (HEIGHT - TOP - BOTTOM);
  const last = runs[runs.length - 1];
  const words = measures.map(([name, word]) => `${word} ${last[name].toFixed(3)}`).join(", ");
  return h("figure", { class: "plot" },
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Latest of ${runs.length}: ${words}` },
      [0, 0.25, 0.5, 0.75, 1].map((tick) => [
        svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }),
        svg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, tick.toFixed(2))]),
      measures.map(([name], at) => [
        svg("polyline", { class: `series series-${at}`, points: runs.map((run, place) => `${x(place)},${y(run[name])}`).join(" ") }),
        runs.map((run, place) => svg("circle", { class: `dot series-${at}`, cx: x(place), cy: y(run[name]), r: 3 }))]),
      svg("text", { x: LEFT, y: HEIGHT - 6 }, "older"), svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, "newer")),
    h("figcaption", { class: "row" }, measures.map(([, word], at) => h("span", { class: `key series-${at}` }, word))));
}
