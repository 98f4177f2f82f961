// A force layout: the same graph gives the same picture, and it stops. Nodes keep apart, folders keep together.

const ROUNDS = 260;

/** A small generator with a fixed seed. @returns {() => number} */
function generator() {
  let state = 0x2545f491;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

/** @typedef {{id: number, group: string, radius: number, x: number, y: number, dx: number, dy: number}} Point */

/**
 * Positions in a width × height field: nodes push each other apart, edges and folders pull, everything is drawn to the middle.
 * @param {{id: number, group: string, radius: number}[]} nodes
 * @param {{source: number, target: number, weight: number}[]} edges
 * @param {number} width @param {number} height
 * @returns {Map<number, {x: number, y: number}>}
 */
export function layOut(nodes, edges, width, height) {
  const random = generator();
  const ideal = Math.sqrt((width * height) / Math.max(nodes.length, 1)) * 0.82;
  const groups = [...new Set(nodes.map((node) => node.group))];
  /** @type {Point[]} */
  const points = nodes.map((node) => { // folders begin on a circle, their nodes around each one's place
    const angle = (groups.indexOf(node.group) / groups.length) * 2 * Math.PI;
    const far = groups.length > 1 ? Math.min(width, height) * 0.3 : 0;
    return { ...node, x: Math.cos(angle) * far * (width / height) + (random() - 0.5) * ideal * 2, y: Math.sin(angle) * far + (random() - 0.5) * ideal * 2, dx: 0, dy: 0 };
  });
  const byId = new Map(points.map((point) => [point.id, point]));
  const pulls = edges.flatMap((edge) => {
    const [a, b] = [byId.get(edge.source), byId.get(edge.target)];
    return a && b && a !== b ? [{ a, b, weight: Math.min(edge.weight, 1) }] : [];
  });
  for (let round = 0; round < ROUNDS; round++) {
    const heat = ideal * 0.35 * (1 - round / ROUNDS) ** 1.5;
    const centres = new Map([...Map.groupBy(points, (point) => point.group)].map(([group, own]) =>
      [group, { x: own.reduce((sum, one) => sum + one.x, 0) / own.length, y: own.reduce((sum, one) => sum + one.y, 0) / own.length }]));
    for (const point of points) {
      const centre = /** @type {{x: number, y: number}} */ (centres.get(point.group));
      point.dx = -point.x * 0.05 * (height / width) + (centre.x - point.x) * 0.14;
      point.dy = -point.y * 0.05 * (width / height) + (centre.y - point.y) * 0.14;
    }
    for (let i = 0; i < points.length; i++) {
      for (let j = i + 1; j < points.length; j++) {
        const [a, b] = [points[i], points[j]];
        const [x, y] = [a.x - b.x, a.y - b.y];
        const square = Math.max(x * x + y * y, 1);
        const push = ((ideal * ideal) / square) * (a.group === b.group ? 0.12 : 0.2);
        a.dx += x * push;
        a.dy += y * push;
        b.dx -= x * push;
        b.dy -= y * push;
      }
    }
    for (const { a, b, weight } of pulls) {
      const [x, y] = [a.x - b.x, a.y - b.y];
      const pull = (Math.hypot(x, y) / ideal) * (0.04 + 0.08 * weight);
      a.dx -= x * pull;
      a.dy -= y * pull;
      b.dx += x * pull;
      b.dy += y * pull;
    }
    for (const point of points) {
      const length = Math.hypot(point.dx, point.dy) || 1;
      const step = Math.min(length, heat);
      point.x += (point.dx / length) * step;
      point.y += (point.dy / length) * step;
    }
  }
  return separate(fit(points, width, height));
}

/** Scale the picture so that it fills the field, with room for labels. @param {Point[]} points @param {number} width @param {number} height */
function fit(points, width, height) {
  const [xs, ys] = [points.map((point) => point.x), points.map((point) => point.y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scaleX = (width - 2 * Math.min(90, width * 0.16)) / Math.max(right - left, 1);
  const scaleY = (height - 2 * 50) / Math.max(bottom - top, 1);
  const least = Math.min(scaleX, scaleY, 2);
  return points.map((point) => ({ ...point,
    x: width / 2 + (point.x - (left + right) / 2) * Math.min(scaleX, 1.5 * least),
    y: height / 2 + (point.y - (top + bottom) / 2) * Math.min(scaleY, 1.5 * least) }));
}

/** Push circles that touch apart. @param {Point[]} points */
function separate(points) {
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < points.length; i++) {
      for (let j = i + 1; j < points.length; j++) {
        const [a, b] = [points[i], points[j]];
        const [x, y] = [a.x - b.x || 0.01, a.y - b.y || 0.01];
        const [far, least] = [Math.hypot(x, y), a.radius + b.radius + 8];
        if (far >= least) continue;
        const by = (least - far) / 2 / far;
        a.x += x * by;
        a.y += y * by;
        b.x -= x * by;
        b.y -= y * by;
      }
    }
  }
  return new Map(points.map(({ id, x, y }) => [id, { x, y }]));
}

/** @typedef {{x: number, y: number, width: number, height: number}} Rect */

/** @param {Rect} a @param {Rect} b */
const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/**
 * Where each label stands, if it stands free: the first in the list choose first; one that finds no room is left out.
 * @param {{id: number | string, x: number, y: number, radius: number, width: number}[]} labels @param {Rect[]} taken
 * @param {number} width @param {number} height
 * @returns {Map<number | string, {x: number, y: number}>} the left end of the base line
 */
export function placeLabels(labels, taken, width, height) {
  const placed = new Map();
  const used = [...taken];
  for (const { id, x, y, radius, width: wide } of labels) {
    const tall = 15;
    const spots = [[x - wide / 2, y + radius + 3], [x - wide / 2, y - radius - tall - 3], [x + radius + 5, y - tall / 2], [x - radius - 5 - wide, y - tall / 2]];
    const free = spots.map(([left, top]) => ({ x: left, y: top, width: wide, height: tall }))
      .find((rect) => rect.x > 2 && rect.y > 2 && rect.x + wide < width - 2 && rect.y + tall < height - 2 && !used.some((other) => overlap(rect, other)));
    if (!free) continue;
    used.push(free);
    placed.set(id, { x: free.x, y: free.y + 12 });
  }
  return placed;
}

/** The corners of the smallest convex shape around points, in order. @param {{x: number, y: number}[]} points */
export function hullOf(points) {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  /** @param {{x: number, y: number}[]} from */
  const half = (from) => {
    /** @type {{x: number, y: number}[]} */
    const chain = [];
    for (const point of from) {
      while (chain.length > 1) {
        const [a, b] = chain.slice(-2);
        if ((b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) > 0) break;
        chain.pop();
      }
      chain.push(point);
    }
    return chain.slice(0, -1);
  };
  return points.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}
