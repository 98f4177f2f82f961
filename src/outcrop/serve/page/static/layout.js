// A force layout: the same graph gives the same picture, and it stops.

const ROUNDS = 260;

/** A small generator with a fixed seed. @returns {() => number} */
function generator() {
  let state = 0x2545f491;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

/**
 * Positions in a width × height field: nodes push each other apart, edges pull, everything is drawn to the middle.
 * @param {{id: number, rank: number}[]} nodes
 * @param {{source: number, target: number, weight: number}[]} edges
 * @param {number} width @param {number} height
 * @returns {Map<number, {x: number, y: number}>}
 */
export function layOut(nodes, edges, width, height) {
  const random = generator();
  const ideal = Math.sqrt((width * height) / Math.max(nodes.length, 1)) * 0.82;
  const points = nodes.map((node, at) => {
    const angle = at * 2.399963; // the golden angle spreads the start evenly
    const radius = Math.sqrt(at / nodes.length) * Math.min(width, height) * 0.42;
    return { id: node.id, x: Math.cos(angle) * radius + random(), y: Math.sin(angle) * radius + random(), dx: 0, dy: 0 };
  });
  const byId = new Map(points.map((point) => [point.id, point]));
  const pulls = edges.map((edge) => ({ a: byId.get(edge.source), b: byId.get(edge.target), weight: Math.min(edge.weight, 1) }))
    .filter((pull) => pull.a && pull.b && pull.a !== pull.b);
  for (let round = 0; round < ROUNDS; round++) {
    const heat = ideal * 0.35 * (1 - round / ROUNDS) ** 1.5;
    for (const point of points) {
      point.dx = -point.x * 0.06 * (height / width);
      point.dy = -point.y * 0.06 * (width / height);
    }
    for (let i = 0; i < points.length; i++) {
      for (let j = i + 1; j < points.length; j++) {
        const [a, b] = [points[i], points[j]];
        const [x, y] = [a.x - b.x, a.y - b.y];
        const square = Math.max(x * x + y * y, 1);
        const push = (ideal * ideal) / square;
        a.dx += x * push * 0.12;
        a.dy += y * push * 0.12;
        b.dx -= x * push * 0.12;
        b.dy -= y * push * 0.12;
      }
    }
    for (const { a, b, weight } of pulls) {
      if (!a || !b) continue;
      const [x, y] = [a.x - b.x, a.y - b.y];
      const pull = (Math.hypot(x, y) / ideal) * (0.05 + 0.1 * weight);
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
  return fit(points, width, height);
}

/**
 * Scale the picture so that it fills the field, with room for labels; a small one stays small, in the middle.
 * @param {{id: number, x: number, y: number}[]} points @param {number} width @param {number} height
 */
function fit(points, width, height) {
  const [xs, ys] = [points.map((point) => point.x), points.map((point) => point.y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const [marginX, marginY] = [80, 40];
  const scaleX = (width - 2 * marginX) / Math.max(right - left, 1);
  const scaleY = (height - 2 * marginY) / Math.max(bottom - top, 1);
  const least = Math.min(scaleX, scaleY, 2);
  return new Map(points.map((point) => [point.id, {
    x: width / 2 + (point.x - (left + right) / 2) * Math.min(scaleX, 1.5 * least),
    y: height / 2 + (point.y - (top + bottom) / 2) * Math.min(scaleY, 1.5 * least) }]));
}
