/** What a world has between a team and a place, found by both. */

import type { World } from '../world/plan.ts';

/** Undefined where there is nothing. */
export type Between = (team: number, place: number) => number | undefined;

export const between = ({ left, right, what, length }: World['grants']): Between => {
  const key = (team: number, place: number): number => team * 2 ** 20 + place;
  const found = new Map<number, number>();
  for (let index = 0; index < length; index++)
    found.set(key(left[index] as number, right[index] as number), what[index] as number);
  return (team, place) => found.get(key(team, place));
};
