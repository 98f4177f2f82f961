// Ask the server as someone types: at once when nothing is under way, else the newest question when the pace allows.

export const PACE_MS = 60;

/**
 * A plain debounce makes even the last letter wait. This asks on the first, then at most once in PACE_MS; an answer
 * that a newer question has overtaken is dropped and its request aborted.
 * @template Q, A
 * @param {(question: Q, signal: AbortSignal) => Promise<A>} ask
 * @param {(question: Q, answer: A) => void} onAnswer
 * @param {(question: Q, error: unknown) => void} onError
 */
export function makeAsker(ask, onAnswer, onError) {
  let last = -Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {AbortController | null} */
  let flight = null;

  /** @param {Q} question */
  async function fire(question) {
    timer = undefined;
    last = performance.now();
    flight?.abort();
    const mine = (flight = new AbortController());
    try {
      const answer = await ask(question, mine.signal);
      if (flight === mine) onAnswer(question, answer);
    } catch (error) {
      if (flight === mine && !mine.signal.aborted) onError(question, error);
    }
  }

  return {
    /** @param {Q} question */
    ask(question) {
      clearTimeout(timer);
      const wait = last + PACE_MS - performance.now();
      if (wait <= 0) fire(question);
      else timer = setTimeout(fire, wait, question);
    },
    stop() {
      clearTimeout(timer);
      flight?.abort();
      flight = null;
    },
  };
}
