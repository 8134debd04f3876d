/** What many measurements of one thing come to. */

/** Between the two nearest where it falls between two. */
export const quantile = (values: ArrayLike<number>, share: number): number => {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return Number.NaN;
  const place = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(place)] as number, sorted[Math.ceil(place)] as number];
  return below + (above - below) * (place - Math.floor(place));
};

export const median = (values: ArrayLike<number>): number => quantile(values, 0.5);

export type Figure = { readonly median: number; readonly low: number; readonly high: number; readonly isWide: boolean };

/** The middle half of the rounds spans more than this share of the median: too wide to trust. */
export const widest = 0.25;

/** Median and quartiles; what could not be measured counts for nothing. */
export const figureOf = (values: readonly number[]): Figure => {
  const known = values.filter(value => !Number.isNaN(value));
  const [low, middle, high] = [quantile(known, 0.25), median(known), quantile(known, 0.75)];
  return { median: middle, low, high, isWide: high - low > widest * middle };
};

/** Round by round, so that what the machine did besides in a round falls on both. */
export const ratioOf = (values: readonly number[], floor: readonly number[]): Figure =>
  figureOf(values.map((value, round) => value / (floor[round] ?? Number.NaN)));
